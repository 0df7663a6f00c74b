"""Forks this process without warnings about its threads, and without calls of the user's handler of SIGCHLD."""

from __future__ import annotations

import contextlib
import os
import signal
import warnings
from collections.abc import Callable, Iterator
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

    Raises OSError if the system refused the fork, or does not support it.
    """
    if _fork is None:
        raise OSError("this system does not support fork")
    filters = warnings.filters
    warnings.filters = _IGNORE_ALL
    try:
        return _fork()
    finally:
        warnings.filters = filters


@contextlib.contextmanager
def suspend_sigchld_handler() -> Iterator[None]:
    """Suspend the handler of SIGCHLD. If a child of the user's has ended meanwhile, the handler is called at the end.

    Blocking the signal would not suffice, as another thread would receive it. Only the main thread can set handlers; in
    other threads, and if the handler was not set from Python, nothing changes.
    """
    handler = signal.getsignal(signal.SIGCHLD)
    try:
        if callable(handler):
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    except ValueError:
        handler = None
    try:
        yield
    finally:
        if callable(handler):
            signal.signal(signal.SIGCHLD, handler)
            with contextlib.suppress(ChildProcessError):
                if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                    signal.raise_signal(signal.SIGCHLD)
