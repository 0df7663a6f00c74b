"""Guards around code that is not ours: it may hang, print and read."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds, where the platform can. Blocks may be nested."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError("it took too long")

    before = signal.signal(signal.SIGALRM, stop)
    began = time.monotonic()
    outer, _ = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.01))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - began), 0.01))


@contextmanager
def silenced() -> Iterator[TextIO]:
    """The real standard output for us; the library's, C code included, goes nowhere, and it reads nothing."""
    sys.stdout.flush()
    ours, theirs = os.dup(1), os.open(os.devnull, os.O_RDWR)
    before_in = os.dup(0)
    os.dup2(theirs, 1)
    os.dup2(theirs, 0)
    try:
        with open(ours, "w", encoding="utf-8", closefd=False) as stream:
            yield stream
    finally:
        sys.stdout.flush()
        os.dup2(ours, 1)
        os.dup2(before_in, 0)
        for descriptor in (ours, theirs, before_in):
            os.close(descriptor)
