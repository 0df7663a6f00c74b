"""The one way in which processes are forked here."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable

_fork: Callable[[], int] | None = getattr(os, "fork", None)


def forkable() -> bool:
    """Whether this system has forks."""
    return _fork is not None


def fork() -> int:
    """Fork this process: 0 in the child.

    Python 3.12 and later warn of threads that a fork does not carry: known. There is no way to keep them from it that
    leaves the process's filters alone: to restore them forgets which warnings were shown already.

    Raises:
        OSError: the system refused the fork, or knows none.
    """
    if _fork is None:
        raise OSError("this system has no fork")
    if sys.version_info >= (3, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return _fork()
    else:
        return _fork()
