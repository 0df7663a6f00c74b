from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drovel._errors import BadPath, Missing

_NONE = object()
_PATH = re.compile(r"(?P<steps>[^?|]+?)\s*(?:(?P<maybe>\?)|\|\s*(?P<default>.*))?")
_STEP = re.compile(r"\.?(?P<name>[\w-]+)|\[(?P<index>-?\d+|\*)\]")


class Path:
    """Where in an item something is found."""

    def __init__(self, text: str) -> None:
        match = _PATH.fullmatch(text.strip())
        if match is None:
            raise BadPath(f"Cannot read the path {text!r}.")
        self._text = text
        self._steps = _steps(match["steps"], text)
        self._maybe = match["maybe"] is not None
        self._default = _NONE if match["default"] is None else _literal(match["default"].strip())

    def values(self, item: Any) -> Iterator[Any]:
        for value in _followed(item, self._steps):
            if value is not _NONE:
                yield value
            elif self._default is not _NONE:
                yield self._default
            elif not self._maybe:
                raise Missing(f"The item has nothing at {self._text!r}. Write {self._text + '?'!r} to leave it out.")

    def one(self, item: Any) -> Any:
        found = list(self.values(item))
        if len(found) != 1:
            raise Missing(f"The path {self._text!r} leads to {len(found)} values, and one is needed.")
        return found[0]


def _steps(source: str, text: str) -> list[str | int]:
    if source == "@":
        return []
    steps: list[str | int] = []
    position = 0
    while position < len(source):
        match = _STEP.match(source, position)
        if match is None:
            raise BadPath(f"Cannot read {source[position:]!r} in the path {text!r}.")
        steps.append(match["name"] or (match["index"] if match["index"] == "*" else int(match["index"])))
        position = match.end()
    return steps


def _followed(item: Any, steps: list[str | int]) -> Iterator[Any]:
    if item is None:
        yield _NONE
    elif not steps:
        yield item
    elif steps[0] == "*":
        if isinstance(item, Sequence) and not isinstance(item, str):
            for each in item:
                yield from _followed(each, steps[1:])
        else:
            yield _NONE
    else:
        yield from _followed(_found(item, steps[0]), steps[1:])


def _found(item: Any, step: str | int) -> Any:
    """What one step leads to, or `None`."""
    if isinstance(step, int):
        inside = isinstance(item, Sequence) and -len(item) <= step < len(item)
        return item[step] if inside else None
    return item.get(step) if isinstance(item, Mapping) else getattr(item, step, None)


def _literal(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text.strip("'")
