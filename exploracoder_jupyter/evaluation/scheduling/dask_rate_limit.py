"""The rate limit of a cluster: the times are a Dask `Variable` under a `Lock`, concurrent requests a `Semaphore`.

Nothing has to be installed on the scheduler. Locks of workers that die are released by Dask when they time out
(`distributed.scheduler.locks.lease-timeout`, 30 s).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from exploracoder_jupyter.evaluation.scheduling.endpoint_rate_limit import Change, Limits, RateLimit, RequestTimes

if TYPE_CHECKING:
    from distributed import Client

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
