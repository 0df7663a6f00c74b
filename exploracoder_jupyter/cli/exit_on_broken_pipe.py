"""Ends a search when the process that started it is gone, e.g. the kernel.

Standard error is then a pipe without a reader, which `poll` reports.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR = 2
_POLL_MS = 500
_GRACE = 3.0
"""Seconds for a clean exit after the interrupt, before this process exits at once."""


@contextmanager
def interrupt_on_broken_pipe() -> Iterator[None]:
    """Interrupt this process when standard error loses its reader.

    Does nothing if standard error is not a pipe, has no reader from the beginning, or if the system has no `poll`.
    """
    if not _has_reader():
        yield
        return
    over = threading.Event()
    threading.Thread(target=_watch, args=(over,), daemon=True, name="broken-pipe-watchdog").start()
    try:
        yield
    finally:
        over.set()


def _watch(over: threading.Event) -> None:
    while not over.is_set():
        if _loses_reader(_POLL_MS):
            os.kill(os.getpid(), signal.SIGINT)
            if not over.wait(_GRACE):
                os._exit(128 + signal.SIGINT)


def _has_reader() -> bool:
    try:
        return hasattr(select, "poll") and stat.S_ISFIFO(os.fstat(_STDERR).st_mode) and not _loses_reader(0)
    except OSError:  # it is closed
        return False


def _loses_reader(milliseconds: int) -> bool:
    poll = select.poll()
    poll.register(_STDERR, 0)
    return bool(poll.poll(milliseconds))
