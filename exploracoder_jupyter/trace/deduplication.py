"""What a large trace keeps once, so that it opens in a few seconds.

Outputs are in a trace twice: in the records as they came, and in the cells as they are shown. In a large trace a value
that a cell shows just as it came stands there alone, and the record names it by its digest; what is not shown as it
came is kept compressed. Nothing is lost by that, as long as nobody clears the outputs.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, TypeAlias, TypeGuard

from pydantic import JsonValue

from exploracoder_jupyter.trace.cell_metadata import NAMESPACE, Cell

MOST_TWICE: Final = 10_000_000
"""Bytes of JSON up to which a trace keeps everything twice."""
LARGE: Final = 2_000
"""Characters from which a value is large."""
_MOST_UNPACKED: Final = 300_000_000
"""Bytes that all compressed values may have together: nobody knows who has packed them."""

Place: TypeAlias = tuple[dict[str, Any], str]
"""An object and a field of it."""


def keep_once(records: Iterable[Mapping[str, Any]], cells: Iterable[Cell]) -> tuple[int, int]:
    """Take large values out of raw records; how many of them stand in the cells alone, and their characters."""
    shown = {_digest(value) for holder, name in _shown(cells) if _is_long(value := holder[name])}
    count = size = 0
    for holder, name in _recorded(records):
        if not is_large(value := holder[name]):
            continue
        if _is_long(value) and (digest := _digest(value)) in shown:
            holder[name] = {NAMESPACE: {"in_cell": digest}}
            count, size = count + 1, size + len(value)
        else:
            holder[name] = {NAMESPACE: _packed(value)}
    return count, size


def put_back(records: Iterable[Mapping[str, Any]], cells: object) -> None:
    """Put into raw records what was taken out of them; what cannot be found any more is left out."""
    places = [(holder, name) for holder, name in _recorded(records) if _mark(holder[name])]
    if not places:
        return
    texts = (_text(holder[name]) for holder, name in _shown(cells if isinstance(cells, list) else []))
    shown = {_digest(text): text for text in texts if _is_long(text)}
    room = _MOST_UNPACKED
    for holder, name in places:
        value, taken = _found(_mark(holder[name]), shown, room)
        room -= taken
        if value is None and name != "text":
            del holder[name]
        else:
            holder[name] = value or "[left out: the outputs of this trace have been cleared]\n"


def size_of(value: JsonValue) -> int:
    """Characters of a text, or of the JSON of another value."""
    return len(value if isinstance(value, str) else json.dumps(value))


def is_large(value: JsonValue) -> bool:
    """Whether a value is kept once."""
    return isinstance(value, str | list | dict) and size_of(value) >= LARGE


def _is_long(value: JsonValue) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) >= LARGE


def _values(outputs: Iterable[Any]) -> Iterator[Place]:
    """Where outputs have their values: of each MIME type, the text of a stream, the lines of an error."""
    for output in outputs:
        match output:
            case {"data": dict(data)}:
                yield from ((data, mime) for mime in [*data])
            case {"text": _}:
                yield output, "text"
            case {"traceback": _}:
                yield output, "traceback"


def _found(mark: Mapping[str, Any], shown: Mapping[str, str], room: int) -> tuple[JsonValue, int]:
    """What a mark stands for, and the bytes that were unpacked for it."""
    if "in_cell" in mark:
        return shown.get(str(mark["in_cell"])), 0
    try:
        packed = base64.b64decode(str(mark.get("json", mark.get("zlib"))), validate=True)
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(packed, max(room, 1))
        found: JsonValue = json.loads(content) if "json" in mark else content.decode()
    except (binascii.Error, zlib.error, ValueError, RecursionError):
        return None, 0
    return (found or None) if unpacking.eof else None, len(content)


def _packed(value: JsonValue) -> dict[str, JsonValue]:
    text = value if isinstance(value, str) else json.dumps(value)
    packed = base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode()
    return {"zlib" if isinstance(value, str) else "json": packed}


def _mark(value: object) -> dict[str, Any]:
    found = value.get(NAMESPACE) if isinstance(value, dict) and len(value) == 1 else None
    return found if isinstance(found, dict) else {}


def _recorded(records: Iterable[Mapping[str, Any]]) -> Iterator[Place]:
    """Where raw records have values of outputs."""
    for record in records:
        match record.get("event"):
            case {"kind": "candidate_observed", "observation": {"outputs": [*outputs]}}:
                yield from _values(outputs)
            case {"kind": "solution_tested", "results": [*results]}:
                for result in results:
                    match result:
                        case {"observation": {"outputs": [*outputs]}}:
                            yield from _values(outputs)


def _shown(cells: Iterable[Any]) -> Iterator[Place]:
    for cell in cells:
        match cell:
            case {"outputs": [*outputs]}:
                yield from _values(outputs)


def _text(value: JsonValue) -> JsonValue:
    """Notebooks store a long text as its lines."""
    return "".join(map(str, value)) if isinstance(value, list) else value


def _digest(value: str) -> str:
    return blake2b(value.encode("utf-8", "replace"), digest_size=16).hexdigest()
