"""Hosts keep states between calls, and end when idle, when crowded, and with the client."""

from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from exploracoder_jupyter.agent_tools import sibling_hosts
from exploracoder_jupyter.agent_tools.sibling_hosts import MAX_HOSTS, SiblingHosts
from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import KernelError, UsageError
from tests.patience import patience


class FakeSiblings:
    """Siblings that count themselves."""

    alive = 0

    async def root(self):
        return object()


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    @asynccontextmanager
    async def open_siblings(sandbox, *, workdir, live, variables):
        if sandbox.state == "live":
            raise KernelError("There is no live kernel.")
        FakeSiblings.alive += 1
        try:
            yield FakeSiblings()
        finally:
            FakeSiblings.alive -= 1

    FakeSiblings.alive = 0
    monkeypatch.setattr(sibling_hosts, "open_siblings", open_siblings)
    return FakeSiblings


@asynccontextmanager
async def hosts(**options):
    async with anyio.create_task_group() as tasks:
        yield SiblingHosts(tasks, **options)
        tasks.cancel_scope.cancel()


async def open_one(found, kernel="k", *references):
    async with found.fresh_host(kernel, Sandbox(), Path(), None) as host:
        for reference in references:
            host.states[f"{host.name}/{reference}"] = reference
        return host


async def ended(fakes, most):
    with anyio.fail_after(patience(10)):
        while fakes.alive > most:
            await anyio.sleep(0.01)


async def test_a_state_is_found_by_reference_or_newest_label():
    async with hosts() as found:
        first, second = await open_one(found, "k", "a"), await open_one(found, "k", "a")
        for reference, host in (("a", second), (f"{first.name}/a", first)):
            async with found.host_of("k", reference) as (one, state):
                assert (one, state) == (host, "a")
        for kernel, reference in (("other", "a"), ("k", "b"), ("k", "")):
            with pytest.raises(UsageError, match="no state"):
                async with found.host_of(kernel, reference):
                    pass


async def test_an_idle_host_ends_but_not_one_in_use(fakes):
    async with hosts(idle_seconds=0.05) as found:
        async with found.fresh_host("k", Sandbox(), Path(), None):
            await open_one(found)
            await ended(fakes, 1)
            await anyio.sleep(0.2)
            assert fakes.alive == 1
        await ended(fakes, 0)


async def test_the_oldest_hosts_make_room(fakes):
    async with hosts() as found:
        opened = [await open_one(found, "k", "a") for _ in range(MAX_HOSTS + 2)]
        await ended(fakes, MAX_HOSTS)
        with pytest.raises(UsageError):
            async with found.host_of("k", f"{opened[0].name}/a"):
                pass


async def test_everything_ends_with_the_client(fakes):
    async with hosts() as found:
        await open_one(found)
        assert fakes.alive == 1
    assert fakes.alive == 0


async def test_siblings_that_cannot_be_opened_end_nothing_else(fakes):
    async with hosts() as found:
        await open_one(found)
        with pytest.raises(KernelError, match="no live kernel"):
            async with found.fresh_host("k", Sandbox(state="live"), Path(), None):
                pass
        assert fakes.alive == 1
