"""Forks this process without warnings about its threads."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

_fork: Callable[[], int] | None = getattr(os, "fork", None)
_IGNORE_ALL: list[Any] = [("ignore", None, Warning, None, 0)]


def can_fork() -> bool:
    """Return whether this system supports fork."""
    return _fork is not None


def fork() -> int:
    """Fork this process; returns 0 in the child.

    Python 3.12 and later, and some libraries, warn about threads that a fork does not carry: this is known. The list of
    filters is replaced as a whole, since any change announced to `warnings` makes it forget which warnings were shown.

    Raises:
        OSError: the system refused the fork, or does not support it.
    """
    if _fork is None:
        raise OSError("this system does not support fork")
    filters = warnings.filters
    warnings.filters = _IGNORE_ALL
    try:
        return _fork()
    finally:
        warnings.filters = filters
