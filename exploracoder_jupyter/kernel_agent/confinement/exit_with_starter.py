"""Ends this process when the process that started it is gone.

Standard input is a socket that nobody writes to; its end of file shows that the starter is gone for whatever reason.
Afterwards standard input is empty, as code in a kernel expects. (A parent-death signal alone leaves a gap: the starter
may die before the signal is requested.)
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading


def watch_starter() -> None:
    """Start watching in a thread; returns at once."""
    starter_socket = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    threading.Thread(target=_exit_with_starter, args=(starter_socket,), daemon=True, name="lifeline").start()


def _exit_with_starter(starter_socket: int) -> None:
    while os.read(starter_socket, 1):
        pass
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)  # this process leads its group: see `child_processes.lead_own_group`
    os._exit(1)
