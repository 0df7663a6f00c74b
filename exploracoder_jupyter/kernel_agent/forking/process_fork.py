"""The one way in which processes are forked here."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

_fork: Callable[[], int] | None = getattr(os, "fork", None)
_IGNORE_ALL: list[Any] = [("ignore", None, Warning, None, 0)]


def forkable() -> bool:
    """Whether this system has forks."""
    return _fork is not None


def fork() -> int:
    """Fork this process: 0 in the child.

    Python 3.12 and later, and some libraries, warn of threads that a fork does not carry: known. The list of filters is
    exchanged as a whole: whatever tells `warnings` of a change makes it forget which warnings were shown already.

    Raises:
        OSError: the system refused the fork, or knows none.
    """
    if _fork is None:
        raise OSError("this system has no fork")
    filters = warnings.filters
    warnings.filters = _IGNORE_ALL
    try:
        return _fork()
    finally:
        warnings.filters = filters
