"""Deduplicates the outputs of a large trace, so that it opens in a few seconds.

A trace contains each output twice: in the records as it arrived, and in the cells as it is shown. In a large trace, a
value that a cell shows unchanged is stored only there, and the record refers to it by its digest; any other large value
is compressed in the record. Nothing is lost unless someone clears the outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, TypeAlias, TypeGuard

from pydantic import JsonValue

from exploracoder_jupyter.trace.metadata_namespace import NAMESPACE, Cell
from exploracoder_jupyter.trace.storage.shared_content import MAX_DECOMPRESSED, compress_text, decompress_text

MAX_DUPLICATED: Final = 10_000_000
"""Size of the JSON in bytes up to which a trace stores everything twice."""
LARGE: Final = 2_000
"""Minimum length of a large value, in characters."""

Place: TypeAlias = tuple[dict[str, Any], str]
"""An object and the name of one of its fields."""


def deduplicate(records: Iterable[Mapping[str, Any]], cells: Iterable[Cell]) -> tuple[int, int]:
    """Remove large values from raw records, in place.

    Returns:
        How many values are now stored only in the cells, and their total size in characters.
    """
    shown = {_digest(value) for holder, name in _shown_values(cells) if _is_long(value := holder[name])}
    count = size = 0
    for holder, name in _recorded_values(records):
        value = holder[name]
        if not isinstance(value, str | list | dict) or size_of(value) < LARGE:
            continue
        if _is_long(value) and (digest := _digest(value)) in shown:
            holder[name] = {NAMESPACE: {"in_cell": digest}}
            count, size = count + 1, size + len(value)
        else:
            text = value if isinstance(value, str) else json.dumps(value)
            kind = "zlib" if isinstance(value, str) else "json"
            holder[name] = {NAMESPACE: {kind: compress_text(text)}}
    return count, size


def restore_values(records: Iterable[Mapping[str, Any]], cells: object) -> None:
    """Restore removed values in raw records, in place; values that are no longer available are dropped."""
    places = [(holder, name) for holder, name in _recorded_values(records) if _reference(holder[name])]
    if not places:
        return
    texts = [holder[name] for holder, name in _shown_values(cells if isinstance(cells, list) else [])]
    joined = ("".join(map(str, text)) if isinstance(text, list) else text for text in texts)
    shown = {_digest(text): text for text in joined if _is_long(text)}
    remaining = MAX_DECOMPRESSED
    for holder, name in places:
        value, size = _resolve(_reference(holder[name]), shown, remaining)
        remaining -= size
        if value is None and name != "text":
            del holder[name]
        else:
            holder[name] = value or "[left out: the outputs of this trace have been cleared]\n"


def size_of(value: JsonValue) -> int:
    """Return the length of a text, or of the JSON of another value, in characters."""
    return len(value if isinstance(value, str) else json.dumps(value))


def _is_long(value: JsonValue) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) >= LARGE


def _output_values(outputs: Iterable[Any]) -> Iterator[Place]:
    """Yield the places of the values in outputs: each MIME type, the text of a stream, the traceback of an error."""
    for output in outputs:
        match output:
            case {"data": dict(data)}:
                yield from ((data, mime) for mime in [*data])
            case {"text": _}:
                yield output, "text"
            case {"traceback": _}:
                yield output, "traceback"


def _resolve(mark: Mapping[str, Any], shown: Mapping[str, str], limit: int) -> tuple[JsonValue, int]:
    if "in_cell" in mark:
        return shown.get(str(mark["in_cell"])), 0
    try:
        content, size = decompress_text(mark.get("json", mark.get("zlib")), limit)
        found: JsonValue = json.loads(content) if "json" in mark else content
    except (ValueError, RecursionError):
        return None, 0
    return found or None, size


def _reference(value: object) -> dict[str, Any]:
    found = value.get(NAMESPACE) if isinstance(value, dict) and len(value) == 1 else None
    return found if isinstance(found, dict) else {}


def _recorded_values(records: Iterable[Mapping[str, Any]]) -> Iterator[Place]:
    for record in records:
        match record.get("event"):
            case {"kind": "candidate_observed", "observation": {"outputs": [*outputs]}}:
                yield from _output_values(outputs)
            case {"kind": "solution_tested", "results": [*results]}:
                for result in results:
                    match result:
                        case {"observation": {"outputs": [*outputs]}}:
                            yield from _output_values(outputs)


def _shown_values(cells: Iterable[Any]) -> Iterator[Place]:
    for cell in cells:
        match cell:
            case {"outputs": [*outputs]}:
                yield from _output_values(outputs)


def _digest(value: str) -> str:
    return blake2b(value.encode("utf-8", "replace"), digest_size=16).hexdigest()
