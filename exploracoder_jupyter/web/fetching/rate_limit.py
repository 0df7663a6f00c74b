"""Rate limits: one request per second to each host, a limited number per run, none to a host that asked to stop."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio

from exploracoder_jupyter.web.web_types import WebError

MIN_INTERVAL = 1.0
"""Seconds between two requests to a host."""


class RateLimiter:
    """Waits before requests. `clock` returns seconds; `sleep` waits for a number of seconds."""

    def __init__(
        self,
        max_requests: int = 100,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._left = max_requests
        self._clock = clock
        self._sleep = sleep
        self._next: dict[str, float] = {}
        self._blocked: set[str] = set()

    async def wait(self, host: str) -> None:
        """Wait until a request to the host is allowed, and count it. Raises WebError if the run has used up its
        requests, or the host asked for fewer requests.
        """
        if host in self._blocked:
            raise WebError(f"{host} asked for fewer requests and is not contacted again in this run.")
        if self._left <= 0:
            raise WebError("This run has reached its limit of web requests.")
        self._left -= 1
        now = self._clock()
        at = max(now, self._next.get(host, now))
        self._next[host] = at + MIN_INTERVAL
        if at > now:
            await self._sleep(at - now)

    def block(self, host: str) -> None:
        """Block further requests to this host in this run."""
        self._blocked.add(host)

    def delay(self, host: str, seconds: float) -> None:
        """Delay the next request to this host by at least this many seconds from now."""
        self._next[host] = max(self._next.get(host, 0.0), self._clock() + seconds)
