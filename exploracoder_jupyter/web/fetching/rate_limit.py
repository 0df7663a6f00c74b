"""Politeness: one request a second to each host, some in a run, none to a host that has asked for rest."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import anyio

from exploracoder_jupyter.web.web_types import WebError

BETWEEN = 1.0
"""Seconds between two requests to a host."""
_MOST = 100
"""Requests in one run."""


class Pace:
    """Says when a host may be asked. `clock` gives seconds, `sleep` waits for some."""

    def __init__(
        self,
        most: int = _MOST,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._left = most
        self._clock = clock
        self._sleep = sleep
        self._next: dict[str, float] = {}
        self._resting: set[str] = set()

    async def turn(self, host: str) -> None:
        """Wait until the host may be asked, and count the request.

        Raises:
            WebError: the run has made its requests, or the host wants none for now.
        """
        if host in self._resting:
            raise WebError(f"{host} has asked for a rest.")
        if self._left <= 0:
            raise WebError("This run has made as many requests as one may.")
        self._left -= 1
        now = self._clock()
        at = max(now, self._next.get(host, now))
        self._next[host] = at + BETWEEN
        if at > now:
            await self._sleep(at - now)

    def rest(self, host: str) -> None:
        """Ask this host no more in this run."""
        self._resting.add(host)

    def after(self, host: str, seconds: float) -> None:
        """Ask this host no earlier than so many seconds from now."""
        self._next[host] = max(self._next.get(host, 0.0), self._clock() + seconds)
