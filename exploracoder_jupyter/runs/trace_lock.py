"""A lockfile beside each trace, so that only one run at a time writes it.

The operating system releases the lock when its process ends, however it ends: a file that a killed run left behind
blocks nobody. It says which process has the lock, and goes away with the run. Where there are no such locks, as on some
file systems and on Windows, no run is refused.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.process_id import Process
from exploracoder_jupyter.trace.trace_paths import notebook_path

PATIENCE = 6.0
"""Seconds that a run has which was asked for its end a moment ago, e.g. because its kernel was restarted."""
_PAUSE = 0.1
_MOST = 10_000
"""Bytes of a lockfile that are read."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The run that has the lock."""

    process: Process
    since: float
    """When it took the lock, in seconds since the epoch."""

    def __str__(self) -> str:
        where = "" if self.process.here else f" on {self.process.machine}"
        return f"process {self.process.pid}{where}, since {datetime.fromtimestamp(self.since):%Y-%m-%d %H:%M:%S}"


_OWNER: TypeAdapter[Owner] = TypeAdapter(Owner)


class Hold:
    """The lock on a trace, until it is released."""

    def __init__(self, trace: Path, *, patience: float | None = None) -> None:
        """Takes the lock, at once or within a moment.

        Args:
            trace: a notebook; it need not exist.
            patience: in seconds; `PATIENCE` where it is left out.

        Raises:
            UsageError: another run has the lock.
        """
        self._path = _lock_path(trace)
        self._file: int | None = None
        end = _end(patience)
        with suppress(OSError, ImportError):
            while not self._taken():
                if time.monotonic() >= end:
                    raise _going_on(trace, remedy="Wait for its end or stop it, or name another path with --out.")
                time.sleep(_PAUSE)

    def release(self) -> None:
        """Release the lock. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                self._path.unlink()  # before it is unlocked: who opens it next makes a new one
            os.close(file)

    def _taken(self) -> bool:
        """Whether the lock is ours now. A file that was removed after it was opened locks nothing."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | _EXTRA, 0o600)
        try:
            if not _locked(file) or not os.path.samestat(os.fstat(file), self._path.stat()):
                return False
            self._write(file)
            self._file, file = file, -1
            return True
        except FileNotFoundError:
            return False
        finally:
            if file >= 0:
                os.close(file)

    def _write(self, file: int) -> None:
        """Say whose lock it is. A full disk does not matter: the lock itself needs no room."""
        with suppress(OSError):
            os.ftruncate(file, 0)
            os.write(file, _OWNER.dump_json(Owner(Process.own(), time.time())))


def refuse_held(trace: Path, *, patience: float | None = None) -> None:
    """Refuse a trace whose run is still going on; wait a moment for its end.

    Args:
        trace: a notebook, or a journal.
        patience: in seconds; `PATIENCE` where it is left out.

    Raises:
        UsageError: it goes on.
    """
    end = _end(patience)
    while is_held(trace):
        if time.monotonic() >= end:
            raise _going_on(trace, remedy="Wait for its end, or stop it.")
        time.sleep(_PAUSE)


def is_held(trace: Path) -> bool:
    """Whether the run of this trace, a notebook or a journal, goes on."""
    try:
        with _lock_path(trace).open("rb") as file:
            return not _locked(file.fileno(), shared=True)
    except (OSError, ImportError):  # there is no lockfile, or there are no locks
        return False


_EXTRA = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


def _lock_path(trace: Path) -> Path:
    """The lockfile of a trace, the same by whatever path the trace is named."""
    notebook = notebook_path(trace.resolve())
    return notebook.with_name(f".{notebook.stem}.lock")


def _locked(file: int, *, shared: bool = False) -> bool:
    import fcntl  # not known to every system

    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _end(patience: float | None) -> float:
    return time.monotonic() + (PATIENCE if patience is None else patience)


def _going_on(trace: Path, *, remedy: str) -> UsageError:
    owner = ""
    with suppress(OSError, ValueError, OverflowError, ValidationError):
        content = json.loads(_lock_path(trace).read_bytes()[:_MOST])
        owner = f" ({_OWNER.validate_python(content)})"
    return UsageError(f"The run of {trace.name} is still going on{owner}.", remedy=remedy)
