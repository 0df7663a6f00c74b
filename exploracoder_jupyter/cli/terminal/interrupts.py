"""Ctrl-C and SIGTERM while a run is under way.

The first one asks the run to stop, which closes the trace; the second ends this process and everything it started.
The handler runs between two bytecodes of the main thread, so it also answers while the event loop is busy.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from exploracoder_jupyter.cli.terminal.standard_streams import note

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHOW_CURSOR = "\x1b[?25h"


class Interrupts:
    """Counts the signals of a run. Before `answer` is set, the first one raises KeyboardInterrupt."""

    def __init__(self, during: str) -> None:
        self._during = during
        self.answer: Callable[[], None] | None = None
        """What to do at the first signal, from within a signal handler."""
        self._count = 0

    @property
    def came(self) -> bool:
        """Whether a signal has come."""
        return self._count > 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The signal handler."""
        self._count += 1
        if self._count > 1:
            _die(number)
        if self.answer is None:
            raise KeyboardInterrupt
        note(f"Stopping; {self._during}. Once more ends the command at once.")
        self.answer()


@contextmanager
def interrupts(*, during: str = "the trace is being closed") -> Iterator[Interrupts]:
    """Take the two signals over, and give them back at the end; `during` is what goes on after the first one."""
    taken = Interrupts(during)
    before = {number: signal.signal(number, taken) for number in _SIGNALS}
    try:
        yield taken
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _die(number: int) -> None:
    """End now: the siblings, which are in sessions of their own, then this process."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        try:
            child.kill()
        except psutil.NoSuchProcess:
            continue
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
    os._exit(128 + number)
