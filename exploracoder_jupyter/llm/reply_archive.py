"""A folder of recorded model replies, by which an evaluation can be run again without a model.

Each process appends to a JSON-lines file of its own, one line per request with all its replies, written at once. A line
that a killed process left incomplete is skipped. `ReplyArchive.pack` merges all files into a compressed one, which
further files may accompany. Replies are grouped by unit, so that a process reads only what it needs.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Final
from uuid import uuid4

from pydantic import JsonValue, TypeAdapter, ValidationError

from exploracoder_jupyter.core.atomic_write import write_atomic
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Message
from exploracoder_jupyter.pipeline.ports import Reply

_PACKED: Final = "replies.zip"
_SUFFIX: Final = ".jsonl"


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request and its replies, without secrets."""

    unit: str
    key: str
    """Digest of what determines the replies."""
    model: str
    step: str
    subject: str
    ordinal: int
    """Number of the same request within the unit, from 0."""
    messages: tuple[Message, ...]
    """The prompt, without what varies from run to run."""
    parameters: dict[str, JsonValue]
    """Sampling, schema and tools."""
    replies: tuple[Reply, ...]


_RECORD: Final = TypeAdapter(RecordedRequest)


class ReplyArchive:
    """The recorded replies in a folder. It is created with the first reply.

    Args:
        folder: where the files are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: Path | None = None
        self._models: dict[str, None] = {}
        self._places: dict[str, list[tuple[Path, int, int]]] | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models whose replies are recorded. Raises UsageError if the folder cannot be read."""
        self._scan()
        return tuple(self._models)

    def unit(self, name: str) -> dict[str, RecordedRequest]:
        """Return the requests of a unit by their keys, as recorded when the archive was first read. Raises UsageError
        if the folder cannot be read.
        """
        found: dict[str, RecordedRequest] = {}
        for path, start, length in self._scan().get(name, []):
            with path.open("rb") as file:
                file.seek(start)
                for record in _records(file.read(length)):
                    found.setdefault(record.key, record)
        packed = self.folder / _PACKED
        if packed.exists():
            with zipfile.ZipFile(packed) as archive:
                if _entry(name) in archive.namelist():
                    for record in _records(archive.read(_entry(name))):
                        found.setdefault(record.key, record)
        return found

    def add(self, record: RecordedRequest) -> None:
        """Append a request to the file of this process. Raises UsageError if the file cannot be written."""
        line = _RECORD.dump_json(record) + b"\n"
        try:
            if self._file is None:
                self.folder.mkdir(parents=True, exist_ok=True)
                self._file = self.folder / f"{uuid4().hex}{_SUFFIX}"
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "wb", buffering=0) as file:
                if file.write(line) != len(line):  # a full disk: the rest of the line would become part of the next
                    self._file = None
                    raise OSError("only a part was written")
        except OSError as error:
            raise UsageError(
                f"Replies cannot be recorded in {self.folder}: {error.strerror or error}.",
                remedy="Name a folder with free space that can be written.",
            ) from error

    def pack(self) -> Path:
        """Merge all files into one that is compressed, and return its path. No process may be recording. Raises
        UsageError if the folder cannot be read or written.
        """
        files = list(self._files())
        units = {record.unit: None for path in files for _, _, record in _lines(path)} | dict.fromkeys(self._packed())
        content = BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            fresh = ReplyArchive(self.folder)
            for unit in sorted(units):
                lines = b"".join(_RECORD.dump_json(record) + b"\n" for record in fresh.unit(unit).values())
                archive.writestr(zipfile.ZipInfo(_entry(unit)), lines, zipfile.ZIP_DEFLATED)
        packed = self.folder / _PACKED
        write_atomic(packed, content.getvalue(), mode=0o600)
        for path in files:
            path.unlink()
        self._places = self._file = None
        return packed

    def _scan(self) -> dict[str, list[tuple[Path, int, int]]]:
        if self._places is None:
            self._places = {}
            for path in self._files():
                for start, length, record in _lines(path):
                    self._places.setdefault(record.unit, []).append((path, start, length))
                    self._models[record.model] = None
            self._packed()
        return self._places

    def _files(self) -> Iterator[Path]:
        try:
            yield from sorted(path for path in self.folder.iterdir() if path.suffix == _SUFFIX)
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(
                f"The recorded replies in {self.folder} cannot be read: {error.strerror}.", remedy="Name their folder."
            ) from None

    def _packed(self) -> Iterator[str]:
        """Return the units of the packed file, and note its models."""
        packed = self.folder / _PACKED
        if not packed.exists():
            return iter(())
        try:
            with zipfile.ZipFile(packed) as archive:
                records = [record for name in archive.namelist() for record in _records(archive.read(name))]
        except (OSError, zipfile.BadZipFile):
            raise UsageError(f"{packed} is damaged.", remedy="Restore it, or record the replies again.") from None
        self._models.update((record.model, None) for record in records)
        return iter(dict.fromkeys(record.unit for record in records))


def _lines(path: Path) -> Iterator[tuple[int, int, RecordedRequest]]:
    start = 0
    with path.open("rb") as file:
        for line in file:
            for record in _records(line):
                yield start, len(line), record
            start += len(line)


def _records(lines: bytes) -> Iterator[RecordedRequest]:
    for line in lines.split(b"\n"):
        try:
            if line:
                yield _RECORD.validate_json(line)
        except ValidationError:  # an incomplete line of a process that was killed
            continue


def _entry(unit: str) -> str:
    return hashlib.sha256(unit.encode("utf-8", "replace")).hexdigest() + _SUFFIX
