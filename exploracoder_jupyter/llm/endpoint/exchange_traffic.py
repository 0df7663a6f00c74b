"""Measures what an exchange with an endpoint sends and receives, and reports long silence.

Error messages contain these measurements.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Self

import anyio

Report = Callable[[str], None]
"""Receives a sentence about what is being waited for, without the full stop."""

_FIRST_REPORT = 15.0
"""Seconds of silence before the first report; the interval then doubles."""


@dataclass(slots=True)
class Traffic:
    """One exchange: a request with its retries, and the response."""

    deadline: float
    """The time by which the exchange ends, retries included."""
    began: float = field(default_factory=anyio.current_time)
    requests: int = 0
    """Number of requests sent."""
    answered: bool = False
    """Whether a response to the last request began."""
    received: int = 0
    """Bytes of that response's body."""
    last_activity: float = field(default_factory=anyio.current_time)
    """When the last request was sent, or the last data of its response received."""
    sleeping: bool = False
    """Whether the exchange waits before the next request."""

    def start_request(self) -> None:
        """Record that a request is sent."""
        self.requests += 1
        self.answered, self.received, self.last_activity = False, 0, anyio.current_time()

    def add_received(self, size: int) -> None:
        """Record that `size` bytes of the body were received."""
        self.received += size
        self.last_activity = anyio.current_time()

    @property
    def time_left(self) -> float:
        """Seconds until the deadline."""
        return max(self.deadline - anyio.current_time(), 0.0)

    @property
    def seconds(self) -> float:
        """Seconds since the exchange began."""
        return anyio.current_time() - self.began

    @property
    def silence(self) -> float:
        """Seconds since something was sent or received."""
        return anyio.current_time() - self.last_activity


CURRENT_TRAFFIC: ContextVar[Traffic] = ContextVar("traffic")
"""The exchange of the current task."""


class SilenceReporter:
    """Context manager that reports when the endpoint has sent nothing for a while."""

    def __init__(self, traffic: Traffic, url: str, *, timeout: float, report: Report) -> None:
        self._traffic = traffic
        self._url = url
        self._timeout = timeout
        self._report = report
        self._next = self._first = min(_FIRST_REPORT, timeout / 2)
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._wait(self._first)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()

    def _wait(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._check)

    def _check(self) -> None:
        silent = self._traffic.silence
        if silent < self._first:
            self._next = self._first
        elif silent >= self._next and not self._traffic.sleeping:
            until = f"waiting until {format_seconds(self._timeout)}"
            self._report(f"{self._url} has sent nothing for {format_seconds(silent)}; {until}")
            self._next *= 2
        self._wait(max(self._next - silent, 0.05))


def format_seconds(seconds: float) -> str:
    """Format a duration for a message: whole seconds, or one decimal below ten."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f}".removesuffix(".0") + " s"
