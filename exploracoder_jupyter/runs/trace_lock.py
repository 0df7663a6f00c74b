"""Locks each trace with a lockfile beside it, so that only one run at a time writes it.

The operating system releases the lock when the process ends, however it ends, so the file of a killed run blocks no
other run. The file names the process that has the lock, and is removed at the end of the run. Where such locks are not
available, as on some file systems and on Windows, no run is refused.
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
from exploracoder_jupyter.core.file_lock import try_lock
from exploracoder_jupyter.core.process_id import ProcessId
from exploracoder_jupyter.trace.trace_paths import notebook_path

PATIENCE = 6.0
"""Seconds to wait for a run that was just stopped, e.g. because its kernel was restarted."""
_PAUSE = 0.1
_OPEN_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Of any lockfile: in a shared folder, somebody may put a link or a named pipe in its place."""
_MAX_BYTES = 10_000
"""Maximum number of bytes read from a lockfile."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The run that has the lock."""

    process: ProcessId
    since: float
    """When it took the lock, in seconds since the epoch."""

    def __str__(self) -> str:
        where = "" if self.process.here else f" on {self.process.machine}"
        return f"process {self.process.pid}{where}, since {datetime.fromtimestamp(self.since):%Y-%m-%d %H:%M:%S}"


_OWNER: TypeAdapter[Owner] = TypeAdapter(Owner)


class TraceLock:
    """The lock on a trace, a notebook that need not exist, acquired on creation within `PATIENCE` seconds.

    Raises:
        UsageError: another run has the lock.
    """

    def __init__(self, trace: Path) -> None:
        self._path = _lock_path(trace)
        self._file: int | None = None
        end = time.monotonic() + PATIENCE
        with suppress(OSError, ImportError):
            while not self._try_acquire():
                if time.monotonic() >= end:
                    raise _active_error(trace, remedy="Wait until it ends, stop it, or name another path with --out.")
                time.sleep(_PAUSE)

    def release(self) -> None:
        """Release the lock. Idempotent."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                self._path.unlink()  # before unlocking, so that the next run creates a new file
            os.close(file)

    def _try_acquire(self) -> bool:
        """Try to acquire the lock. The lock on a file that was removed after opening does not count."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o600)
        try:
            if not try_lock(file) or not os.path.samestat(os.fstat(file), self._path.stat()):
                return False
            with suppress(OSError):  # a full disk does not matter: the lock itself needs no space
                os.ftruncate(file, 0)
                os.write(file, _OWNER.dump_json(Owner(ProcessId.own(), time.time())))
            self._file, file = file, -1
            return True
        except FileNotFoundError:
            return False
        finally:
            if file >= 0:
                os.close(file)


def refuse_active(trace: Path) -> None:
    """Refuse a trace (a notebook or a journal) whose run is still active, after waiting for its end.

    Raises:
        UsageError: the run is still active.
    """
    end = time.monotonic() + PATIENCE
    while is_active(trace):
        if time.monotonic() >= end:
            raise _active_error(trace, remedy="Wait until it ends, or stop it.")
        time.sleep(_PAUSE)


def is_active(trace: Path) -> bool:
    """Whether the run of this trace (a notebook or a journal) is still active."""
    try:
        with open(_lock_path(trace), "rb", opener=_open_safely) as file:
            return not try_lock(file.fileno(), shared=True)
    except (OSError, ImportError):  # no lockfile, or locks are not supported
        return False


def _lock_path(trace: Path) -> Path:
    notebook = notebook_path(trace.resolve())
    return notebook.with_name(f".{notebook.stem}.lock")


def _open_safely(path: str, flags: int) -> int:
    return os.open(path, flags | _OPEN_FLAGS)


def _active_error(trace: Path, *, remedy: str) -> UsageError:
    owner = ""
    with suppress(OSError, ValueError, OverflowError, ValidationError):
        with open(_lock_path(trace), "rb", opener=_open_safely) as file:
            content = json.loads(file.read(_MAX_BYTES) or b"")
        owner = f" ({_OWNER.validate_python(content)})"
    return UsageError(f"The run of {trace.name} is still active{owner}.", remedy=remedy)
