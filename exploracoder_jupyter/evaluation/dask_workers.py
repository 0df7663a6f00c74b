"""Runs units on a Dask cluster: `--scheduler tcp://...`.

A unit is a task whose key is its digest, so that submitting it twice runs it once. Dask runs the task of a dead worker
again, as often as the scheduler's `distributed.scheduler.allowed-failures` says. Results come back to this process,
which stores each one as it arrives; workers that can see the folder of the evaluation store them too, in case this
process or the scheduler is lost before that. A unit runs in an event loop of its own in a thread of the Dask worker,
and starts its siblings with `subprocess`, which workers with nannies (daemonic processes) may do.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from exploracoder_jupyter.core.errors import ExploraError, MissingRequirement, format_error
from exploracoder_jupyter.evaluation.records import ResultsWriter, read_manifest
from exploracoder_jupyter.evaluation.results import UnitResult
from exploracoder_jupyter.evaluation.scheduling import (
    Change,
    Limits,
    RateLimit,
    RequestTimes,
    UnitExecution,
    UnitQueue,
    execute_unit,
    fault_result,
)
from exploracoder_jupyter.evaluation.units import Unit

if TYPE_CHECKING:
    from distributed import Client


# The rate limit of a cluster: the times are a Dask `Variable` under a `Lock`, concurrent requests a `Semaphore`.
#
# Nothing has to be installed on the scheduler. Locks of workers that die are released by Dask when they time out
# (`distributed.scheduler.locks.lease-timeout`, 30 s).

_ACQUIRE_SECONDS = 1.0
"""Seconds after which waiting for the semaphore can be cancelled."""


def _names(evaluation: str) -> tuple[str, str, str]:
    return f"explora-times-{evaluation}", f"explora-lock-{evaluation}", f"explora-concurrent-{evaluation}"


async def create_shared_times(client: Client, evaluation: str) -> None:
    """Create the times on the scheduler; to be called once before units run."""
    from distributed import Variable

    await Variable(_names(evaluation)[0], client=client).set([*RequestTimes()])


class ClusterRateLimit(RateLimit):
    """The limit for all workers of a cluster. To be created in the thread of a task."""

    def __init__(self, evaluation: str, limits: Limits) -> None:
        from distributed import Lock, Semaphore, Variable, get_client

        super().__init__(limits)
        times, lock, concurrent = _names(evaluation)
        if limits.are_timed:
            self._lock, self._times = Lock(lock), Variable(times, client=get_client())
        self._semaphore = Semaphore(limits.concurrent, concurrent) if limits.concurrent is not None else None

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """See `RateLimit`."""
        if self._semaphore is None:
            yield
            return
        while not await anyio.to_thread.run_sync(self._semaphore.acquire, _ACQUIRE_SECONDS):
            pass
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._semaphore.release)

    def _update(self, change: Change) -> float:
        with self._lock:
            wait, times = change(time.time(), RequestTimes(*self._times.get(timeout=_ACQUIRE_SECONDS)))
            self._times.set([*times])
        return wait


Listen = Callable[[UnitResult], None]
_CONNECT_SECONDS = 10.0
_CLOSE_SECONDS = 5.0
_WINDOW: Final = 2_000
"""Number of units that the scheduler has at a time."""
_LOOK_SECONDS = 0.5
"""Seconds between two looks of a worker at whether its unit is still wanted."""


class SchedulerLost(ExploraError):
    """The connection to the scheduler was lost while units were left."""


@asynccontextmanager
async def connect(address: str) -> AsyncIterator[Client]:
    """Connect to the scheduler at this address; MissingRequirement if there is none, or Dask is not installed."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingRequirement(
            "--scheduler needs Dask, which is not installed.", remedy="pip install 'exploracoder-jupyter[bench]'"
        ) from None
    client = Client(address, asynchronous=True, timeout=_CONNECT_SECONDS, set_as_default=False)
    try:
        await client
    except (OSError, ValueError, TimeoutError) as error:
        raise MissingRequirement(
            f"The Dask scheduler {address!r} cannot be reached.",
            remedy="Start it, or correct the address, e.g. tcp://host:8786.",
        ) from error
    try:
        yield client
    finally:
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await client.close(timeout=_CLOSE_SECONDS)


async def run_on_cluster(queue: UnitQueue[Unit], execution: UnitExecution, *, client: Client, listen: Listen) -> None:
    """Run the units of the queue; cancelling it stops the units that are running on workers.

    SchedulerLost if the connection was lost, EndpointError if the endpoint fails again and again, MissingRequirement if
    workers cannot run units, for example because this package is not installed there.
    """
    with ResultsWriter(execution.folder) as writer:

        async def run_units() -> None:
            while unit := queue.take():
                result = await _run_unit(unit, execution, client)
                writer.append(result)
                queue.finish(result)
                listen(result)

        async with anyio.create_task_group() as group:
            for _ in range(min(_WINDOW, queue.left)):
                group.start_soon(run_units)


async def _run_unit(unit: Unit, execution: UnitExecution, client: Client) -> UnitResult:
    """Run a unit on the cluster; if several workers died of it, its result is a fault."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    future = client.submit(run_task, unit, execution, key=f"explora-{execution.evaluation}-{unit.digest}", pure=True)
    try:
        result: UnitResult = await future
        return result
    except KilledWorker:
        return fault_result(unit, execution.model, "Several workers died while they ran it")
    except (CancelledError, CommClosedError) as error:
        if asyncio.current_task().cancelling():  # type: ignore[union-attr]  # runs in a task
            raise
        raise SchedulerLost(
            "The connection to the Dask scheduler was lost; all results so far are stored.",
            remedy="Start the scheduler again, and continue with --resume.",
        ) from error
    except ExploraError:
        raise
    except Exception as error:
        raise MissingRequirement(
            f"The workers of the cluster cannot run units: {format_error(error)}.",
            remedy="Install the same version of exploracoder-jupyter and its plugins on all of them.",
        ) from error
    finally:
        future.release()


def run_task(unit: Unit, execution: UnitExecution) -> UnitResult:
    """Run a unit in this thread of a Dask worker, until it is done or no longer wanted."""
    return anyio.run(_run_wanted, unit, execution)


async def _run_wanted(unit: Unit, execution: UnitExecution) -> UnitResult:
    from distributed import get_worker

    worker, result = get_worker(), None
    key = worker.get_current_task()
    async with anyio.create_task_group() as group:

        async def cancel_if_unwanted() -> None:
            while (
                (task := worker.state.tasks.get(key)) and task.state == "executing" and worker.status.name == "running"
            ):
                await anyio.sleep(_LOOK_SECONDS)
            group.cancel_scope.cancel()

        group.start_soon(cancel_if_unwanted)
        result = await execute_unit(unit, execution, ClusterRateLimit(execution.evaluation, execution.limits))
        with _storing:
            if writer := _shared_writer(execution.folder, execution.evaluation):
                writer.append(result)
        group.cancel_scope.cancel()
    if result is None:
        raise RuntimeError(f"The unit {unit.digest} was cancelled.")
    return result


_storing = threading.Lock()


@lru_cache(maxsize=4)
def _shared_writer(folder: Path, evaluation: str) -> ResultsWriter | None:
    """Return a writer if the folder of the evaluation is visible on this machine."""
    try:
        manifest = read_manifest(folder)
        return ResultsWriter(folder) if manifest and manifest.id == evaluation else None
    except (OSError, ExploraError):  # another machine's folder of the same name
        return None
