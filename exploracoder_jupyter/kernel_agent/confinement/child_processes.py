"""Ties the processes that this one starts to it, so that they are found when it is interrupted or ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every orphaned descendant, so that a daemon stays in this process's tree (Linux)."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def lead_own_group() -> None:
    """Lead a process group, so that an interrupt of the kernel reaches the commands that it has started."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpgid(0, 0)
