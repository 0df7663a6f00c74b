"""Ties the processes that this one starts to it, so that they are found when it is ended."""

from __future__ import annotations

import contextlib
import ctypes
import sys

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of every orphaned descendant, so that a daemon stays in this process's tree (Linux)."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
