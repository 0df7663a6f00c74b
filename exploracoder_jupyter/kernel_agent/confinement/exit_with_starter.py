"""Ends this process when the process that started it is gone.

Standard input is a socket that nobody writes to; its end of file shows that the starter is gone for whatever reason.
Afterwards standard input is empty, as code in a kernel expects. (A parent-death signal alone leaves a gap: the starter
may die before the signal is requested.)

As a program, `... confinement.exit_with_starter MODULE ...` runs another program of this package, which nothing else
would end if its starter is killed.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import sys
import threading


def watch_starter() -> None:
    """Lead a process group, and start watching in a thread; returns at once.

    Because of the group, an interrupt of a kernel reaches the commands that it has started.
    """
    with contextlib.suppress(OSError, AttributeError):
        os.setpgid(0, 0)
    starter_socket = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    threading.Thread(target=_exit_with_starter, args=(starter_socket,), daemon=True, name="lifeline").start()


def _exit_with_starter(starter_socket: int) -> None:
    while os.read(starter_socket, 1):
        pass
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    watch_starter()
    module = sys.argv.pop(1)
    runpy.run_module(f"exploracoder_jupyter.kernel_agent.{module}", run_name="__main__", alter_sys=True)
