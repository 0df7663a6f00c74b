"""Prevents the user's SIGCHLD handler from being called for child processes that are not the user's."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def suspend_sigchld_handler() -> Iterator[None]:
    """Suspend the handler. If a child of the user's has ended meanwhile, the handler is called at the end.

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
            if _has_ended_child():
                signal.raise_signal(signal.SIGCHLD)


def _has_ended_child() -> bool:
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False
