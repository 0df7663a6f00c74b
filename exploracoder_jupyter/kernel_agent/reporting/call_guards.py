"""Guards around third-party code, which may hang, print or read standard input."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

_Result = TypeVar("_Result")
_Default = TypeVar("_Default")


def attempt(function: Callable[..., _Result], *arguments: Any, default: _Default) -> _Result | _Default:
    """Return the result of a function, or the default if it raises anything but an interrupt."""
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return default


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds, if the platform supports it. Blocks may be nested."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError("it took too long")

    previous = signal.signal(signal.SIGALRM, stop)
    started = time.monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - started), 0.01))


@contextmanager
def silence_standard_streams() -> Iterator[TextIO]:
    """Yield the real standard output; the library, including C code, writes to and reads from the null device."""
    sys.stdout.flush()
    null, saved = os.open(os.devnull, os.O_RDWR), [os.dup(0), os.dup(1)]
    for number in (0, 1):
        os.dup2(null, number)
    try:
        with open(saved[1], "w", encoding="utf-8", closefd=False) as stream:
            yield stream
    finally:
        sys.stdout.flush()
        for number, descriptor in enumerate(saved):
            os.dup2(descriptor, number)
            os.close(descriptor)
        os.close(null)
