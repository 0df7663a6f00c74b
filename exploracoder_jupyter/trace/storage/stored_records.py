"""Packs the records of a run for its trace notebook, and reads them back.

The records are lines of JSON, the same lines as in the journal. They are compressed together (LZMA in xz streams),
because the same documentation, code and outputs occur in prompt after prompt, and stored as one base64 string. A stream
holds about a megabyte of lines, so that a growing run compresses only its last lines again each time it is written.

A trace may come from anyone: unpacking is bounded in memory, and anything damaged is refused in one sentence.
"""

from __future__ import annotations

import base64
import io
import json
import lzma
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import ModelCalled, Notice, Record, RunStarted, dump, load
from exploracoder_jupyter.trace.metadata_namespace import SCHEMA_VERSION

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
