"""How a trace is stored: its journal, packed records, and limits of size."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import lzma
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import (
    CandidateObserved,
    ModelCalled,
    Notice,
    Record,
    RunStarted,
    SolutionTested,
    SubtaskFinished,
    dump,
    load,
)
from exploracoder_jupyter.core.types import Observation, Output
from exploracoder_jupyter.trace.metadata import NAMESPACE, SCHEMA_VERSION

# Limits the size of outputs in a trace, so that it opens in seconds and code hosts accept the file.
#
# Code, statuses, errors and short values always stay. Large values are stored in the order in which they arrive
# until the limit is reached; solutions have a separate limit. Each output records which of its values were left
# out, and their sizes. A trace contains what is stored twice: in the records, and in the cells.

MAX_SUBTASKS: Final = 20_000_000
"""Limit for the large values of subtasks, in characters."""
MAX_SOLUTIONS: Final = 5_000_000
"""Limit for the large values of solutions, including those on generated inputs."""
LARGE: Final = 2_000
"""Minimum length of a large value, in characters."""
LEFT_OUT: Final = "left_out"
_END: Final = LARGE // 4
"""Characters that stay at either end of a shortened text."""


class SizeBudget:
    """Tracks how much more may be stored in a trace."""

    def __init__(self, most: int = MAX_SUBTASKS, most_of_solutions: int = MAX_SOLUTIONS) -> None:
        self._left = {"subtasks": most, "solutions": most_of_solutions}

    def fit(self, record: Record) -> Record:
        """Return the record without the large values that exceed the limit."""
        match record.event:
            case CandidateObserved() as event:
                group = "solutions" if event.candidate.startswith("s") else "subtasks"
                observation = self._fit_observation(event.observation, group)
                return replace(record, event=replace(event, observation=observation))
            case SolutionTested() as event:
                results = [
                    replace(one, observation=self._fit_observation(one.observation, "solutions"))
                    for one in event.results
                ]
                return replace(record, event=replace(event, results=tuple(results)))
        return record

    def _fit_observation(self, observation: Observation, group: str) -> Observation:
        return replace(observation, outputs=tuple(self._fit_output(output, group) for output in observation.outputs))

    def _fit_output(self, output: Output, group: str) -> Output:
        match output:
            case {"data": dict(data)}:
                by_size = sorted((_size_of(value), mime) for mime, value in data.items())
                omitted: dict[str, JsonValue] = {
                    mime: size for size, mime in by_size if not self._has_room(size, group)
                }
                if not omitted:
                    return output
                rest = {mime: value for mime, value in data.items() if mime not in omitted}
                plain = {"text/plain": _shorten(str(data["text/plain"]))} if "text/plain" in omitted else {}
                return {**output, "data": {**rest, **plain}, NAMESPACE: {LEFT_OUT: omitted}}
            case {"text": str(text)} if not self._has_room(len(text), group):
                return {**output, "text": _shorten(text), NAMESPACE: {LEFT_OUT: {"text": len(text)}}}
        return output

    def _has_room(self, size: int, group: str) -> bool:
        if size < LARGE:
            return True
        fits = size <= self._left[group]
        self._left[group] -= size if fits else 0
        return fits


def omitted_values(output: Mapping[str, Any]) -> dict[str, int]:
    """Return which values of a recorded output were left out, with their sizes; `text` for that of a stream."""
    match output.get(NAMESPACE):
        case {"left_out": dict(omitted)}:
            return {str(name): size for name, size in omitted.items() if isinstance(size, int)}
    return {}


def count_omitted(records: Iterable[Record]) -> tuple[int, int]:
    """Return how many values were left out of the outputs in these records, and their total size."""
    seen: list[Observation] = []
    for event in (record.event for record in records):
        if isinstance(event, CandidateObserved):
            seen.append(event.observation)
        elif isinstance(event, SolutionTested):
            seen += [result.observation for result in event.results]
    sizes = [size for one in seen for output in one.outputs for size in omitted_values(output).values()]
    return len(sizes), sum(sizes)


def trim_like_record(recorded: Observation, again: Observation) -> Observation:
    """Remove from a re-execution's outputs what was left out of its record, so that both can be compared."""
    if not any(map(omitted_values, recorded.outputs)):
        return again
    streams = {one.get("name") for one in recorded.outputs if "text" in omitted_values(one)}
    displays = iter([one for one in recorded.outputs if "data" in one])
    outputs = [
        _trim_display(one, next(displays, one)) if "data" in one else one
        for one in again.outputs
        if "data" in one or one.get("name") not in streams
    ]
    shortened = (one for one in recorded.outputs if "text" in one and one.get("name") in streams)
    return replace(again, outputs=(*outputs, *shortened))


def _trim_display(output: Output, recorded: Output) -> Output:
    data, recorded_data, omitted = output.get("data"), recorded.get("data"), omitted_values(recorded)
    if not isinstance(data, dict) or not isinstance(recorded_data, dict):
        return output
    ends = {name: value for name, value in recorded_data.items() if name in omitted}
    return {**output, "data": {**{name: value for name, value in data.items() if name not in omitted}, **ends}}


def _size_of(value: JsonValue) -> int:
    return len(value if isinstance(value, str) else json.dumps(value))


def _shorten(text: str) -> str:
    return f"{text[:_END]}\n[... {len(text) - 2 * _END:,} characters left out ...]\n{text[-_END:]}"


# Packs the records of a run for its trace notebook, and reads them back.
#
# The records are lines of JSON, the same lines as in the journal. They are compressed together (LZMA in xz
# streams), because the same documentation, code and outputs occur in prompt after prompt, and stored as one base64
# string. A stream holds about a megabyte of lines, so that a growing run compresses only its last lines again each
# time it is written.
#
# A trace may come from anyone: unpacking is bounded in memory, and anything damaged is refused in one sentence.

Raw: TypeAlias = dict[str, JsonValue]
"""A record as JSON, read from a file and not yet checked."""

MAX_UNPACKED: Final = 100_000_000
"""Maximum size of all unpacked lines, in bytes: a few kilobytes can unpack to gigabytes."""
MAX_RECORDS: Final = 200_000
"""Maximum number of records in a trace."""
_MAX_MEMORY: Final = 100_000_000
"""Maximum memory of the decompressor, in bytes: a stream may demand gigabytes. Ours need 9 MB."""
_STREAM: Final = 1_000_000
"""Minimum size of the lines that are compressed as one stream, in bytes, except the last stream."""
_PIECE: Final = 100_000
"""Number of bytes that are compressed or decompressed at once."""


class PackedRecords:
    """The records of a run, packed as its trace stores them; each stream is compressed once when it is full."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._packed = b""
        self._lines = bytearray()
        for record in records:
            self.append(record)

    def append(self, record: Record) -> None:
        """Add a record."""
        self._lines += f"{dump(record)}\n".encode()
        if len(self._lines) >= _STREAM:
            self._packed += lzma.compress(self._lines)
            self._lines.clear()

    def text(self) -> str:
        """Return all records, packed, for `unpack_records`."""
        last = lzma.compress(self._lines) if self._lines else b""
        return base64.b64encode(self._packed + last).decode()


def unpack_records(packed: object) -> Iterator[Raw]:
    """Yield the records that were packed, as JSON.

    Raises:
        UsageError: they are damaged, too many, or too large to unpack.
    """
    count = 0
    try:
        for count, line in enumerate(_lines(base64.b64decode(str(packed), validate=True)), 1):
            if count > MAX_RECORDS:
                raise ValueError(f"more than {MAX_RECORDS:,}")
            raw = json.loads(line)
            if not isinstance(raw, dict):
                raise ValueError("one of them is not a JSON object")
            yield raw
    except (ValueError, lzma.LZMAError, RecursionError) as error:  # includes errors of base64 and JSON
        raise UsageError(
            f"The records in this trace are damaged (after the first {count}: {error}).",
            remedy="Use a backup copy if you have one, or explore again.",
        ) from error


def read_records(notebook: object) -> list[Record]:
    """Read the records of a trace; empty if the notebook has none. Events that are not known are skipped.

    Raises:
        UsageError: the records are damaged.
    """
    metadata = run_metadata(notebook)
    packed = metadata.get("records")
    return [] if packed is None else parse_records(unpack_records(packed), version_of(metadata))


def parse_records(raw: Iterable[Raw], version: int) -> list[Record]:
    """Parse raw records of this version.

    Unreadable records are skipped. For a version newer than this package, a notice is added, after the start of the run
    or before all records if the start is missing.
    """
    records: list[Record] = []
    for one in raw:
        with suppress(ValueError, RecursionError):  # of an unknown kind
            records.append(load(json.dumps(one, allow_nan=False)))
    if records and (sentence := newer_version_message(version)):
        index = next((place for place, record in enumerate(records, 1) if isinstance(record.event, RunStarted)), 0)
        first = records[max(index - 1, 0)]
        records.insert(index, Record(first.seq, first.at, Notice(sentence, "warning")))
    return records


def without_prompts(record: Record) -> Record:
    """Remove prompts from a record. The model's own earlier messages stay: they distinguish exchanges."""
    event = record.event
    if not isinstance(event, ModelCalled):
        return record
    messages = tuple(message for message in event.exchange.messages if message.role == "assistant")
    return replace(record, event=replace(event, exchange=replace(event.exchange, messages=messages)))


def run_metadata(notebook: object) -> dict[str, Any]:
    """Return a notebook's metadata about its run; empty if it is not a trace."""
    match notebook:
        case {"metadata": {"exploracoder_jupyter": dict(metadata)}}:
            return metadata
    return {}


def version_of(facts: object) -> int:
    """Return the format's version in a trace's metadata or a journal's first line; 1 if it has none."""
    version = facts.get("schema_version") if isinstance(facts, dict) else None
    return version if isinstance(version, int) and version > 0 else 1


def newer_version_message(version: int) -> str:
    """Describe that a trace is of a later version; empty if the version is supported."""
    if version <= SCHEMA_VERSION:
        return ""
    return (
        f"This trace was written by another version of exploracoder_jupyter (trace format {version}; this version "
        f"reads format {SCHEMA_VERSION}). Events that it does not know are skipped."
    )


def _lines(content: bytes) -> Iterator[bytes]:
    parts: list[bytes] = []
    for piece in _decompress(content):
        first, *others = piece.split(b"\n")
        parts.append(first)
        for other in others:
            yield b"".join(parts)
            parts = [other]
    if rest := b"".join(parts):
        yield rest


def _decompress(content: bytes) -> Iterator[bytes]:
    """Yield what these xz streams contain, in pieces. Raises LZMAError, or ValueError if they contain too much."""
    file, remaining = io.BytesIO(content), MAX_UNPACKED
    pending = file.read(_PIECE)
    while pending:
        stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_MEMORY)
        while not stream.eof:
            if stream.needs_input and not (pending := pending or file.read(_PIECE)):
                raise ValueError("the end is missing")
            piece, pending = stream.decompress(pending, _PIECE), b""
            remaining -= len(piece)
            if remaining < 0:
                raise ValueError(f"more than {MAX_UNPACKED / 1e6:.0f} MB")
            yield piece
        pending = stream.unused_data or file.read(_PIECE)


# Writes and reads the journal: every record of a run as one line of JSON, written at once.
#
# The journal survives a crash, so it is written before anything is rendered. Write errors never interrupt the run:
# on a full disk the problem is stored, a partly written line is removed, and later records are attempted again. The
# first line contains the version of the format. Reading skips damaged lines and events that this version does not
# know.

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
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
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
