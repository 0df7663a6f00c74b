"""Handles Ctrl-C and SIGTERM during a run.

The first signal asks the run to stop, which closes the trace; the second kills this process and everything it started.
The handler runs between two bytecodes of the main thread, so it works even while the event loop is busy.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from exploracoder_jupyter.cli.display.standard_streams import print_note

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h"


class InterruptHandler:
    """Signal handler of a run. Until `on_interrupt` is set, the first signal raises KeyboardInterrupt."""

    def __init__(self, during: str) -> None:
        self._during = during
        self.on_interrupt: Callable[[], object] | None = None
        """Called at the first signal, within the signal handler."""
        self.count = 0
        """How many signals have been received."""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        self.count += 1
        if self.count > 1:
            _kill_all(number)
        if self.on_interrupt is None:
            raise KeyboardInterrupt
        print_note(f"Stopping: {self._during}. Interrupt again to quit immediately.")
        self.on_interrupt()


@contextmanager
def handle_interrupts(*, during: str = "closing the trace") -> Iterator[InterruptHandler]:
    """Install a handler for both signals, and restore the previous handlers at the end.

    `during` names what happens after the first signal, for the message.
    """
    handler = InterruptHandler(during)
    previous_handlers = {number: signal.signal(number, handler) for number in _SIGNALS}
    try:
        yield handler
    finally:
        for number, previous in previous_handlers.items():
            signal.signal(number, previous)


def run_cancellable(main: Callable[[], Awaitable[T]], signals: InterruptHandler) -> T | None:
    """Run this in an event loop; the first signal cancels it, and then there is no result."""
    import anyio

    async def cancellable() -> T | None:
        with anyio.CancelScope() as scope:
            loop = asyncio.get_running_loop()
            signals.on_interrupt = lambda: loop.call_soon_threadsafe(scope.cancel)
            return await main()
        return None

    try:
        return anyio.run(cancellable)
    finally:
        signals.on_interrupt = None  # the loop is closed


def _kill_all(number: int) -> None:
    """Kill the siblings, which are in separate sessions, then this process."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    os._exit(128 + number)
