"""Steers an active run: stops it, and passes it the controls of a front end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import anyio

from exploracoder_jupyter.protocol.run_controls import Control


class RunSteering:
    """Controls an active run.

    Except for `bind` and `next`, all methods may be called from any thread or signal handler. Controls sent before the
    run accepts them are queued; those sent after its end are ignored.
    """

    def __init__(self) -> None:
        self._stopped = False
        self._queue: deque[Control] = deque()
        self._bound: tuple[asyncio.AbstractEventLoop, asyncio.Event, anyio.CancelScope] | None = None

    def stop(self) -> None:
        """End the run now, and keep the results so far."""
        self._stopped = True
        if self._bound:
            loop, _, scope = self._bound
            call_soon(loop, scope.cancel)

    def send(self, control: Control) -> None:
        """Queue a control for the run."""
        self._queue.append(control)
        if self._bound:
            loop, arrived, _ = self._bound
            call_soon(loop, arrived.set)

    def bind(self, scope: anyio.CancelScope) -> None:
        """Make `stop` cancel this scope. Must be called in the run's event loop, before `next`."""
        self._bound = (asyncio.get_running_loop(), asyncio.Event(), scope)
        if self._stopped:
            scope.cancel()

    async def next(self) -> Control:
        """Wait for the next control; see the port `Steering`. Must be called in the run's event loop."""
        assert self._bound
        _, arrived, _ = self._bound
        while not self._queue:
            arrived.clear()
            await arrived.wait()
        return self._queue.popleft()


def call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Call back in the loop, from any thread; not at all if the loop is closed."""
    with suppress(RuntimeError):  # the run has just ended, and its event loop is closed
        loop.call_soon_threadsafe(callback)
