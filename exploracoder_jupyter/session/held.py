"""Whether a run is still writing a trace: it holds a lock on its journal, which the system releases when it is killed.

Where there are no such locks, as on some file systems and on Windows, nobody is held up.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.notebook.paths import journal_path

PATIENCE = 6.0
"""Seconds that a run has which was asked for its end a moment ago, e.g. because its kernel was restarted."""
_PAUSE = 0.1


class Hold:
    """Holds the journal of a trace, if it is there, until it is released."""

    def __init__(self, trace: Path) -> None:
        self._file: int | None = None
        with suppress(OSError, ImportError):
            import fcntl  # not known to every system

            self._file = os.open(journal_path(trace), os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        """Let others have it. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def refuse_held(trace: Path, *, patience: float | None = None) -> None:
    """Let nobody go on from a run, or write over its trace, while it goes on itself; wait a moment for its end.

    Args:
        trace: a notebook, or a journal.
        patience: in seconds; `PATIENCE` where it is left out.

    Raises:
        UsageError: it goes on.
    """
    end = time.monotonic() + (PATIENCE if patience is None else patience)
    while is_held(trace):
        if time.monotonic() >= end:
            raise UsageError(f"The run of {trace.name} is still going on.", remedy="Wait for its end, or stop it.")
        time.sleep(_PAUSE)


def is_held(trace: Path) -> bool:
    """Whether the run of this trace, a notebook or a journal, goes on."""
    journal = trace if trace.suffix == ".jsonl" else journal_path(trace)
    try:
        import fcntl

        with journal.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (OSError, ImportError):  # there is no journal, or there are no locks
        return False
    return False
