"""Stores the long texts and lists of a trace's records once each, compressed together.

The same documentation, code and outputs occur in prompt after prompt. Therefore a digest replaces each long value in
the records. The table of these values is divided into pieces (lines of texts, objects of lists), each stored once.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final

LONG: Final = 120
"""Minimum length of the JSON of a value that is stored by its digest, in characters."""
MAX_DECOMPRESSED: Final = 300_000_000
"""Maximum total size of all decompressed values, in characters: a trace may come from an untrusted source."""
_PREFIX: Final = "blake2b:"
_END_OF_PIECE: Final = re.compile(r"(?<=\\n)|(?<=\},)")
"""In the JSON of a value: after a line of a text, and after an object of a list."""


def extract_content(records: Iterable[Mapping[str, Any]]) -> str:
    """Replace the long values in raw records by their digests, in place.

    Returns:
        The table of these values, compressed, for `inline_content`; empty if there are none.
    """
    values: dict[str, list[int]] = {}
    pieces: dict[str, int] = {}
    for holder, name in _places(records):
        text = json.dumps(holder[name], ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        if len(text) >= LONG or text.startswith(f'"{_PREFIX}'):
            holder[name] = _digest(text)
            values[holder[name]] = [pieces.setdefault(piece, len(pieces)) for piece in _END_OF_PIECE.split(text)]
    table = {"pieces": [*pieces], "values": [*values.values()]}
    return compress_text(json.dumps(table, ensure_ascii=False, separators=(",", ":"))) if values else ""


def inline_content(metadata: dict[str, Any]) -> None:
    """Restore the long values in the records of a trace's metadata, in place, and remove their table.

    Values that the table does not contain are removed, and so are those beyond `MAX_DECOMPRESSED`.
    """
    records, packed = metadata.get("records"), metadata.pop("content", None)
    if packed is None or not isinstance(records, list):
        return
    texts, remaining = _read_table(packed), MAX_DECOMPRESSED
    for holder, name in [*_places(records)]:
        if isinstance(value := holder[name], str) and value.startswith(_PREFIX):
            text = texts.get(value, "")
            remaining -= len(text)
            holder.pop(name)
            with suppress(ValueError, RecursionError):  # also where the table has no such value
                holder.update({name: json.loads(text)} if remaining >= 0 else {})


def compress_text(text: str) -> str:
    """Return the text compressed, as base64."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode()


def decompress_text(packed: object, limit: int) -> tuple[str, int]:
    """Return a text that was compressed, and how many bytes were decompressed.

    Raises:
        ValueError: it is damaged, or longer than `limit` bytes.
    """
    decompressor, content = zlib.decompressobj(), b""
    try:
        content = decompressor.decompress(base64.b64decode(str(packed), validate=True), max(limit, 1))
    except (binascii.Error, zlib.error) as error:
        raise ValueError("The compressed text is damaged.") from error
    if not decompressor.eof:
        raise ValueError("The compressed text is truncated or too long.")
    return content.decode(), len(content)


def _read_table(packed: object) -> dict[str, str]:
    """Return the JSON of each value by its digest; empty if the table is damaged."""
    try:
        table: Any = json.loads(decompress_text(packed, MAX_DECOMPRESSED)[0])
        pieces, remaining, texts = table["pieces"], MAX_DECOMPRESSED, []
        for places in table["values"]:
            remaining -= sum(len(pieces[place]) for place in places)
            if remaining < 0:
                break
            texts.append("".join(pieces[place] for place in places))
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}
    return {_digest(text): text for text in texts}


def _places(records: Iterable[Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the fields of each event and of the objects in them, except these objects themselves."""
    for record in records:
        event: Any = record.get("event") if isinstance(record, dict) else None
        for name in [*event] if isinstance(event, dict) else []:
            if isinstance(value := event[name], dict):
                yield from ((value, field) for field in [*value])
            else:
                yield event, name


def _digest(text: str) -> str:
    return _PREFIX + blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()
