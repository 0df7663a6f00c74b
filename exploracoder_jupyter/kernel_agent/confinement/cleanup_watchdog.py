"""Cleans up after a kernel on a machine where nobody of ours watches: `python -c SOURCE KERNEL FOLDER MARK LEADS`.

Runs from its source, before anything else of ours is there: a folder is made only when somebody waits to remove it.

Waits, as a child of the kernel in a session of its own, until the kernel is gone, however it went. Then ends the
processes that its cells have left behind (Linux: those that carry the mark in their environment or, where the kernel
led its session, belong to that session), and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time

MARK = "EXPLORACODER_SIBLING"
"""Environment variable that tells the processes of one sibling from all others."""

_LOOK_SECONDS = 0.3
_ROUNDS = 3
_PAUSE_SECONDS = 0.1


def watch(kernel: int, folder: str, mark: str, *, leads: bool) -> None:
    """Wait for the end of the kernel, whose child this process is, and clean up."""
    while os.getppid() == kernel:
        time.sleep(_LOOK_SECONDS)
    for _ in range(_ROUNDS):  # what forks while it is looked for is found in the next round
        for process in left_behind(f"{MARK}={mark}", kernel if leads else 0):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


def left_behind(mark: str, session: int) -> list[int]:
    """Processes that have the mark in their environment or are of this session (0: of none), this one apart."""
    if not os.path.isdir("/proc/self"):
        return []
    candidates = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    return [process for process in candidates if _belongs(process, mark.encode(), session)]


def _belongs(process: int, mark: bytes, session: int) -> bool:
    try:
        if session and os.getsid(process) == session:
            return True
        with open(f"/proc/{process}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:  # it is gone, or somebody else's
        return False


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2], sys.argv[3], leads=sys.argv[4] == "1")
