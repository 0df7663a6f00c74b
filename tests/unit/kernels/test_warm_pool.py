"""The pool keeps siblings warm, hands each out once, and forgets failures that nobody waits for."""

from contextlib import asynccontextmanager

import anyio
import pytest

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.kernels.siblings import WarmPool


class Made:
    def __init__(self):
        self.is_alive = True


class Workshop:
    """Makes siblings that only live or die; the first `failures` starts fail."""

    def __init__(self, failures=0):
        self.failures, self.made, self.disposed = failures, [], []

    async def start(self):
        await anyio.sleep(0)
        if self.failures:
            self.failures -= 1
            raise KernelError("no")
        self.made.append(Made())
        return self.made[-1]

    async def dispose(self, sibling):
        sibling.is_alive = False
        self.disposed.append(sibling)


async def settle():
    for _ in range(20):
        await anyio.sleep(0)


@asynccontextmanager
async def pool_of(workshop, **options):
    async with anyio.create_task_group() as tasks:
        pool = WarmPool(tasks, workshop.start, workshop.dispose, **options)
        pool.warm_up()
        await settle()
        yield pool
        await settle()
        await pool.close()


async def test_it_warms_up_refills_and_hands_out():
    workshop, taken = Workshop(), []
    async with pool_of(workshop, size=2) as pool:
        assert len(workshop.made) == 2

        async def take():
            taken.append(await pool.take())

        async with anyio.create_task_group() as takers:
            for _ in range(7):
                takers.start_soon(take)
        await settle()
        assert len(set(map(id, taken))) == 7
        assert len(workshop.made) >= 9
    assert len(workshop.disposed) == len(workshop.made) - 7


async def test_a_failed_start_raises_only_for_waiters():
    async with pool_of(workshop := Workshop(failures=2), size=2) as pool:
        assert workshop.failures == 0
        assert (await pool.take()).is_alive
    async with pool_of(Workshop(failures=9), size=1) as pool:
        with pytest.raises(KernelError):
            await pool.take()


async def test_one_that_died_is_not_handed_out():
    async with pool_of(workshop := Workshop(), size=1) as pool:
        workshop.made[0].is_alive = False
        assert (await pool.take()).is_alive
    assert workshop.made[0] in workshop.disposed


async def test_leftovers_are_ended_simultaneously():
    class Slow(Workshop):
        async def dispose(self, sibling):
            self.disposed.append(sibling)
            await anyio.sleep(0)
            assert len(self.disposed) == 3

    async with pool_of(workshop := Slow(), size=3):
        pass
    assert len(workshop.disposed) == 3


async def test_expected_ones_are_started_ahead_once():
    async with pool_of(workshop := Workshop()) as pool:
        pool.expect(3)
        await settle()
        assert len(workshop.made) == 3
        for _ in range(3):
            await pool.take()
        await settle()
        assert len(workshop.made) == 3
        pool.expect(2)
    assert workshop.disposed == workshop.made[3:]
    with pytest.raises(KernelError, match="no longer exists"):
        await pool.take()


async def test_one_started_during_closing_is_ended():
    async with anyio.create_task_group() as tasks:
        workshop = Workshop()
        pool = WarmPool(tasks, workshop.start, workshop.dispose, size=1)
        pool.warm_up()
        await pool.close()
    assert len(workshop.made) == len(workshop.disposed) == 1


async def test_a_failing_early_start_leaves_no_caller_waiting():
    workshop, fails = Workshop(), anyio.Event()

    async def start():
        await fails.wait()
        raise KernelError("no")

    workshop.start = start
    async with pool_of(workshop) as pool:
        pool.expect(1)
        await settle()
        fails.set()
        with anyio.fail_after(5), pytest.raises(KernelError):
            await pool.take()
