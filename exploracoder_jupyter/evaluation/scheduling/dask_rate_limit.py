"""The rate limit of a cluster: the times are a Dask `Variable` under a `Lock`, concurrent requests a `Semaphore`.

Nothing has to be installed on the scheduler. Locks of workers that die are released by Dask when they time out
(`distributed.scheduler.locks.lease-timeout`, 30 s).
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from exploracoder_jupyter.evaluation.scheduling.endpoint_rate_limit import Limits, RequestTimes

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


class ClusterRateLimit:
    """The limit for all workers of a cluster; see `rate_limit.RateLimit`. To be created in the thread of a task."""

    def __init__(self, evaluation: str, limits: Limits) -> None:
        from distributed import Lock, Semaphore, Variable, get_client

        times, lock, concurrent = _names(evaluation)
        self._limits = limits
        self._lock = Lock(lock) if limits.are_timed else None
        self._times = Variable(times, client=get_client()) if limits.are_timed else None
        self._semaphore = Semaphore(limits.concurrent, concurrent) if limits.concurrent is not None else None

    async def reserve(self, tokens: int) -> float:
        """Reserve a request; see `RateLimit`."""
        return await anyio.to_thread.run_sync(
            self._update, lambda now, times: _reserved(now, times, tokens, self._limits)
        )

    async def correct(self, tokens: int) -> None:
        """Correct a reservation; see `RateLimit`."""
        await anyio.to_thread.run_sync(self._update, lambda now, times: (0.0, times.correct(now, tokens, self._limits)))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Occupy one of the concurrent requests; see `RateLimit`."""
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

    def _update(self, change: Callable[[float, RequestTimes], tuple[float, RequestTimes]]) -> float:
        if self._lock is None or self._times is None:
            return 0.0
        with self._lock:
            wait, times = change(time.time(), RequestTimes(*self._times.get(timeout=_ACQUIRE_SECONDS)))
            self._times.set([*times])
        return wait


def _reserved(now: float, times: RequestTimes, tokens: int, limits: Limits) -> tuple[float, RequestTimes]:
    start, after = times.reserve(now, tokens, limits)
    return start - now, after
