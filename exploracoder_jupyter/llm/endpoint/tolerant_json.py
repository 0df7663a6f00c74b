"""Reads JSON from a server that may send anything: a value of another type than expected counts as missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue


def as_object(value: JsonValue) -> Mapping[str, JsonValue]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> Sequence[JsonValue]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def as_text(value: JsonValue) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: JsonValue, maximum: int) -> int | None:
    """Return the value if it is an integer from 0 to `maximum`, else `None`."""
    return value if type(value) is int and 0 <= value <= maximum else None


def json_type(value: JsonValue) -> str:
    """Return the JSON name of the value's type, with an article."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
