"""Keeps the user's handler of SIGCHLD from hearing of a child that is not the user's."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Hold the handler back. If a child of the user's has ended when this is over, the handler is called then.

    To block the signal would not do: another thread would take it. Only the main thread can set handlers; in any other,
    and where the handler is none of Python's, everything stays as it is.
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
            if _has_ended_child():
                signal.raise_signal(signal.SIGCHLD)


def _has_ended_child() -> bool:
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False
