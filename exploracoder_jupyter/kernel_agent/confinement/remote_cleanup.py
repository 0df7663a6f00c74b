"""Cleans up after a kernel on a remote machine without other supervision: `python -c SOURCE KERNEL FOLDER MARK LEADS`.

Runs from its source text, before anything else of this package is there, so that a folder is only created once there is
a process to remove it.

As a child of the kernel in a separate session, waits until the kernel is gone for whatever reason. Then ends the
processes that its cells have left behind (on Linux: those with the mark in their environment or, if the kernel led its
session, those in that session), and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time

MARK_VARIABLE = "EXPLORACODER_SIBLING"
"""Environment variable that distinguishes the processes of one sibling from all others."""

_CHECK_SECONDS = 0.3
_ROUNDS = 3
_PAUSE_SECONDS = 0.1


def watch(kernel: int, folder: str, mark: str, *, leads: bool) -> None:
    """Wait for the end of the kernel, which is this process's parent, then clean up."""
    while os.getppid() == kernel:
        time.sleep(_CHECK_SECONDS)
    for _ in range(_ROUNDS):  # processes that fork during a scan are found in the next round
        for process in remaining_processes(f"{MARK_VARIABLE}={mark}", kernel if leads else 0):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


def remaining_processes(mark: str, session: int) -> list[int]:
    """Return other processes that have the mark in their environment or belong to this session (0: no session)."""
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):  # it is gone, or belongs to another user
            if session and os.getsid(int(name)) == session:
                found.append(int(name))
                continue
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    found.append(int(name))
    return found


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2], sys.argv[3], leads=sys.argv[4] == "1")
