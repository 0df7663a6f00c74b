"""What a large trace keeps once, so that it opens in a few seconds.

Outputs are in a trace twice: in the records as they came, and in the cells as they are shown. In a large trace a value
that a cell shows just as it came stands there alone, and the record names it by its digest; what is not shown as it
came is kept compressed. Nothing is lost by that, as long as nobody clears the outputs.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Final, TypeAlias, TypeGuard

from pydantic import JsonValue

from exploracoder_jupyter.notebook.schema import NAMESPACE, Cell

MOST_TWICE: Final = 10_000_000
"""Bytes of JSON up to which a trace keeps everything twice."""
_LARGE: Final = 2_000
"""Characters from which a value is kept once."""
_MOST: Final = 100_000_000
"""Bytes that a compressed value may have: nobody knows who has packed it."""

Place: TypeAlias = tuple[dict[str, Any], str]
"""An object and a field of it."""


def keep_once(records: Iterable[Mapping[str, Any]], cells: Iterable[Cell]) -> tuple[int, int]:
    """Take large values out of raw records; how many of them stand in the cells alone, and their characters."""
    shown = {_digest(value) for holder, name in _shown(cells) if _is_large(value := holder[name])}
    count = size = 0
    for holder, name in _recorded(records):
        if not _is_large(value := holder[name]):
            continue
        if (digest := _digest(value)) in shown:
            holder[name] = {NAMESPACE: {"in_cell": digest}}
            count, size = count + 1, size + len(value)
        else:
            holder[name] = {NAMESPACE: {"zlib": base64.b64encode(zlib.compress(value.encode(), 9)).decode()}}
    return count, size


def put_back(records: Iterable[Mapping[str, Any]], cells: object) -> None:
    """Put into raw records what was taken out of them; what cannot be found any more is left out."""
    places = [(holder, name) for holder, name in _recorded(records) if _mark(holder[name])]
    if not places:
        return
    texts = (_text(holder[name]) for holder, name in _shown(cells if isinstance(cells, list) else []))
    shown = {_digest(text): text for text in texts if _is_large(text)}
    for holder, name in places:
        value = _found(_mark(holder[name]), shown)
        if value is None and name != "text":
            del holder[name]
        else:
            holder[name] = value or "[left out: the outputs of this trace have been cleared]\n"


def _found(mark: dict[str, Any], shown: Mapping[str, str]) -> str | None:
    if "in_cell" in mark:
        return shown.get(str(mark["in_cell"]))
    try:
        packed = base64.b64decode(str(mark.get("zlib")), validate=True)
        return zlib.decompressobj().decompress(packed, _MOST).decode() or None
    except (binascii.Error, zlib.error, ValueError):
        return None


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


def _values(outputs: Iterable[Any]) -> Iterator[Place]:
    """Where outputs have their values: of each MIME type, and the text of a stream."""
    for output in outputs:
        match output:
            case {"data": dict(data)}:
                yield from ((data, mime) for mime in [*data])
            case {"text": _}:
                yield output, "text"


def _is_large(value: JsonValue) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) >= _LARGE


def _text(value: JsonValue) -> JsonValue:
    """Notebooks store a long text as its lines."""
    return "".join(map(str, value)) if isinstance(value, list) else value


def _digest(value: str) -> str:
    return blake2b(value.encode("utf-8", "replace"), digest_size=16).hexdigest()
