"""Ends a search that nobody hears any more: the kernel that started it, or whatever else reads what it says, is gone.

Standard error is then a pipe without a reader, of which the system tells whoever waits for it.
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
_LOOK_MS = 500
_PATIENCE = 3.0
"""Seconds to end as after an interrupt, which leaves nothing behind, before this process ends at once."""


@contextmanager
def while_heard() -> Iterator[None]:
    """Interrupt this process when standard error loses its reader.

    Nothing is done where it is no pipe, where it has no reader from the beginning, or where no system call can tell.
    """
    if not _is_heard():
        yield
        return
    over = threading.Event()
    threading.Thread(target=_watch, args=(over,), daemon=True, name="heard").start()
    try:
        yield
    finally:
        over.set()


def _watch(over: threading.Event) -> None:
    while not over.is_set():
        if _lost(_LOOK_MS):
            os.kill(os.getpid(), signal.SIGINT)
            if not over.wait(_PATIENCE):
                os._exit(128 + signal.SIGINT)


def _is_heard() -> bool:
    try:
        return hasattr(select, "poll") and stat.S_ISFIFO(os.fstat(_STDERR).st_mode) and not _lost(0)
    except OSError:  # it is closed
        return False


def _lost(milliseconds: int) -> bool:
    """Whether the pipe loses its reader within this time, or has none."""
    poll = select.poll()
    poll.register(_STDERR, 0)
    return bool(poll.poll(milliseconds))
