"""Ties this process to the one that started it.

Standard input is a socket that nobody writes to; its end shows that the starter is gone, however it went. Afterwards
standard input is empty, as code in a kernel expects. (A death signal alone leaves a gap: a starter that dies before the
signal is asked for.)
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading


def hold() -> None:
    """Begin to watch; returns at once."""
    line = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    threading.Thread(target=_end_with_starter, args=(line,), daemon=True, name="lifeline").start()


def _end_with_starter(line: int) -> None:
    while os.read(line, 1):
        pass
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)  # this process leads its group: see limits.lead_own_group
    os._exit(1)
