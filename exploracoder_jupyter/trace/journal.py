"""The journal: every record of a run as one line of JSON, written at once.

It is what survives a crash, so it is written before anything is rendered, and writing it never raises into the run: on
a full disk the problem is remembered, a torn line is taken back, and later records are tried again. The first line says
the version of the form. Reading passes over torn lines and over events that this version does not know.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.events import Record, SubtaskFinished, dump
from exploracoder_jupyter.trace.cell_metadata import SCHEMA_VERSION
from exploracoder_jupyter.trace.migration import version_of
from exploracoder_jupyter.trace.stored_records import read_raw

_HEAD = json.dumps({"schema_version": SCHEMA_VERSION}).encode() + b"\n"


class Journal:
    """An open journal file, readable by its owner only.

    Records are handed to the system at once and forced to the disk once a second, at the end of each subtask, and on
    closing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None
        """Why the journal is not complete, if it is not."""
        self.whole = 0
        """How many records it has, from the first on, before one is missing."""
        self._synced = time.monotonic()
        self._file: int | None = None
        self._identity: os.stat_result | None = None
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
            self._identity = os.fstat(self._file)
        except OSError as error:
            self._remember(error)

    def append(self, record: Record) -> None:
        """Write one record. Never raises; see `problem`."""
        if self._file is None:
            return
        try:
            self._write(self._file, (dump(record) + "\n").encode())
            self.whole += not self.problem
            if isinstance(record.event, SubtaskFinished) or time.monotonic() - self._synced > 1:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except (OSError, ValueError) as error:
            self._remember(error)

    def close(self) -> None:
        """Force it to the disk and close it. Idempotent, never raises."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            os.fsync(file)
        except OSError as error:
            self._remember(error)
        with contextlib.suppress(OSError):
            os.close(file)

    def remove(self) -> None:
        """Close it and take the file away, unless another run has a journal of its own there by now."""
        self.close()
        with contextlib.suppress(OSError):
            if self._identity and os.path.samestat(self._identity, self.path.stat()):
                self.path.unlink()

    def _write(self, file: int, line: bytes) -> None:
        whole = os.fstat(file).st_size
        line = line if whole else _HEAD + line
        try:
            while line:
                line = line[os.write(file, line) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file, whole)
            raise

    def _remember(self, error: Exception) -> None:
        self.problem = f"The journal {self.path} is not complete: {getattr(error, 'strerror', None) or error}."


def read(path: Path) -> list[Record]:
    """The records of a journal, in order, as far as they can be read.

    Raises:
        OSError: the file cannot be read at all.
    """
    lines = [found for line in path.read_bytes().splitlines() if isinstance(found := _json(line), dict)]
    return read_raw(lines, version_of(lines[0] if lines else None))


def _json(line: bytes) -> JsonValue:
    try:
        found: JsonValue = json.loads(line)
    except (ValueError, RecursionError):  # torn, or nothing of ours
        return None
    return found
