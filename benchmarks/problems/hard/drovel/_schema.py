from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from drovel._errors import BadSchema, Unfit

_FIELD = re.compile(r"\s*(?P<name>[\w-]+)\s*:\s*(?P<many>\[)?(?P<kind>int|number|text|flag|any)\]?(?P<maybe>\?)?\s*")

_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
    "flag": lambda value: isinstance(value, bool),
    "any": lambda value: value is not None,
}


@dataclass(frozen=True)
class Field:
    name: str
    kind: str
    many: bool
    maybe: bool

    def fits(self, value: Any) -> bool:
        if not self.many:
            return _KINDS[self.kind](value)
        return isinstance(value, list | tuple) and all(map(_KINDS[self.kind], value))


def read_schema(text: str) -> list[Field]:
    fields = []
    for part in text.split(","):
        match = _FIELD.fullmatch(part)
        if match is None:
            raise BadSchema(
                f"Cannot read {part.strip()!r}. Write fields as name:kind with int, number, text, flag or any, "
                "in square brackets if there are many, with ? if it may be absent: 'id:int, tags:[text]?'."
            )
        fields.append(Field(match["name"], match["kind"], bool(match["many"]), bool(match["maybe"])))
    return fields


def fitted(item: Any, fields: list[Field], *, extra: bool) -> dict[str, Any]:
    """The item's fields that the schema has, or all of them."""
    if not isinstance(item, Mapping):
        raise Unfit(f"The item is no mapping: {item!r}.")
    for field in fields:
        if item.get(field.name) is None and field.maybe:
            continue
        if field.name not in item or not field.fits(item[field.name]):
            raise Unfit(f"Field {field.name!r} of the item is {item.get(field.name)!r}, which is not {field.kind}.")
    names = {field.name for field in fields}
    return {name: value for name, value in item.items() if extra or name in names}
