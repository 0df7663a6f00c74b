"""Writes and reads the journal: every record of a run as one line of JSON, written at once.

The journal survives a crash, so it is written before anything is rendered. Write errors never interrupt the run: on a
full disk the problem is stored, a partly written line is removed, and later records are attempted again. The first line
contains the version of the format. Reading skips damaged lines and events that this version does not know.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.events import Record, SubtaskFinished, dump
from exploracoder_jupyter.trace.metadata_namespace import SCHEMA_VERSION
from exploracoder_jupyter.trace.storage.stored_records import parse_records, version_of

_HEAD = json.dumps({"schema_version": SCHEMA_VERSION}).encode() + b"\n"


class Journal:
    """An open journal file, readable by its owner only.

    Records are written at once, and synced to disk once a second, at the end of each subtask, and on closing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None
        """Why the journal is not complete, if it is not."""
        self.written = 0
        """Number of records written before the first failure."""
        self._synced = time.monotonic()
        self._file: int | None = None
        self._identity: os.stat_result | None = None
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
            self._identity = os.fstat(self._file)
        except OSError as error:
            self._set_problem(error)

    def append(self, record: Record) -> None:
        """Write one record. Never raises; see `problem`."""
        if self._file is None:
            return
        try:
            self._write(self._file, (dump(record) + "\n").encode())
            self.written += not self.problem
            if isinstance(record.event, SubtaskFinished) or time.monotonic() - self._synced > 1:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except (OSError, ValueError) as error:
            self._set_problem(error)

    def close(self) -> None:
        """Sync the file to disk and close it. Idempotent; never raises."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            os.fsync(file)
        except OSError as error:
            self._set_problem(error)
        with contextlib.suppress(OSError):
            os.close(file)

    def remove(self) -> None:
        """Close the file and delete it, unless another run has created its journal at this path since."""
        self.close()
        with contextlib.suppress(OSError):
            if self._identity and os.path.samestat(self._identity, self.path.stat()):
                self.path.unlink()

    def _write(self, file: int, line: bytes) -> None:
        size = os.fstat(file).st_size
        line = line if size else _HEAD + line
        try:
            while line:
                line = line[os.write(file, line) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(file, size)
            raise

    def _set_problem(self, error: Exception) -> None:
        self.problem = f"The journal {self.path} is not complete: {getattr(error, 'strerror', None) or error}."


def read(path: Path) -> list[Record]:
    """Read the records of a journal, in order, skipping damaged lines. OSError: the file cannot be read at all."""
    lines: list[dict[str, JsonValue]] = []
    for line in path.read_bytes().splitlines():
        with contextlib.suppress(ValueError, RecursionError):  # truncated, or not a journal
            if isinstance(found := json.loads(line), dict):
                lines.append(found)
    return parse_records(lines, version_of(lines[0] if lines else None))
