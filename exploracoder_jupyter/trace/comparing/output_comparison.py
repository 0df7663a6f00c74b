"""The parts of an execution's output (texts, pictures, JSON trees) in comparable form, and how two of them differ."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import zip_longest
from typing import Final, TypeAlias

from pydantic import JsonValue

from exploracoder_jupyter.trace.cells.escaped_text import clip
from exploracoder_jupyter.trace.comparing import image_comparison
from exploracoder_jupyter.trace.comparing.text_normalization import normalize

TOLERANCE: Final = 1e-6
"""Relative tolerance for floating-point numbers."""
MAX_SHOWN: Final = 80
"""Length to which texts are clipped in descriptions of differences."""

_CONTEXT: Final = 20
"""Characters shown before the first difference."""
_FLOAT = re.compile(r"[-+]?(?<!\d)(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_SPACES = re.compile(r"(?<=\S)[ \t]+")
_TAG = re.compile(r"<[^<>]*>")
_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"})
_MARKUP: Final = frozenset({"text/html", "image/svg+xml", "application/xml", "text/xml"})
_WIDGET_MIME: Final = "application/vnd.jupyter.widget-"


@dataclass(frozen=True, slots=True)
class Text:
    """A normalized text."""

    text: str
    unordered: bool = False
    """Whether several threads or processes wrote it, so that its order does not matter."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in base64."""

    content: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A JSON value with normalized texts."""

    value: JsonValue


Part: TypeAlias = Text | Picture | Tree


def part_of(mime: str, value: JsonValue, day: date) -> Part:
    """Convert an output of this MIME type, made on this day, to comparable form."""
    if mime.startswith(_WIDGET_MIME):
        return Text(mime)  # its content is an id that is random each time
    if mime in _PICTURES and isinstance(value, str):
        return Picture(value.strip())
    if isinstance(value, dict) or mime.endswith("json"):
        return Tree(map_strings(value, partial(normalize, day=day)))
    text = join_lines(value)
    if mime in _MARKUP:  # each tag on a separate line, so that the text between tags can be compared
        text = "\n".join(filter(str.strip, _TAG.sub(lambda found: f"\n{found[0]}\n", text).split("\n")))
    return Text(normalize(text, day=day))


def describe_part_difference(old: Part, new: Part, tolerance: float) -> str:
    """Describe the first line or place that differs: old, then new. Empty if both are the same."""
    match old, new:
        case Text(), Text():
            return _describe_text_difference(old, new, tolerance)
        case Picture(), Picture():
            return image_comparison.describe_difference(old.content, new.content)
        case Tree(), Tree():
            return _describe_tree_difference(old.value, new.value, tolerance, "")
    return "another kind of output"


def structure_of(part: Part) -> object:
    """Return the structure of a part without values.

    Of a text these are the words, without white space, which depends on the widths and signs of the numbers.
    """
    match part:
        case Text(text):
            return "".join(_NUMBER.sub("#", text).split())
        case Tree(value):
            return _shape(value)
    return "picture"


def join_lines(value: JsonValue) -> str:
    """Join a text that a notebook may store as a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


def map_strings(value: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """Apply a function to every string in a JSON value, except keys."""
    if isinstance(value, dict):
        return {key: map_strings(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [map_strings(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def texts_match(one: str, other: str, tolerance: float) -> bool:
    """Whether two normalized texts are the same.

    Floating-point numbers may differ within the relative tolerance, and so may the widths of columns, which depend on
    their digits. All else must be equal.
    """
    if one == other:
        return True
    if _SPACES.sub(" ", _FLOAT.sub("#", one)) != _SPACES.sub(" ", _FLOAT.sub("#", other)):
        return False
    pairs = zip(_FLOAT.findall(one), _FLOAT.findall(other), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=tolerance) for a, b in pairs)


def _describe_text_difference(old: Text, new: Text, tolerance: float) -> str:
    if texts_match(old.text, new.text, tolerance) or (
        old.unordered and _match_unordered(old.text, new.text, tolerance)
    ):
        return ""
    pairs = zip_longest(old.text.split("\n"), new.text.split("\n"), fillvalue="")
    return next((_show_change(one, two) for one, two in pairs if not texts_match(one, two, tolerance)), "")


def _match_unordered(one: str, other: str, tolerance: float) -> bool:
    """Whether two texts have the same lines in another order, or the same numbers and other characters in any order.

    If interleaved output has joined numbers, their digits are compared instead.
    """
    lines = ["\n".join(sorted(filter(str.strip, text.split("\n")))) for text in (one, other)]
    if texts_match(lines[0], lines[1], tolerance):
        return True
    numbers = [sorted(_NUMBER.findall(text)) for text in (one, other)]
    if len(numbers[0]) != len(numbers[1]):
        numbers = [sorted("".join(found)) for found in numbers]
    rest = [sorted("".join(_NUMBER.sub("", text).split())) for text in (one, other)]
    return numbers[0] == numbers[1] and rest[0] == rest[1]


def _show_change(old: str, new: str) -> str:
    first = next((place for place, (one, two) in enumerate(zip_longest(old, new)) if one != two), 0)
    start = first - _CONTEXT if first > MAX_SHOWN // 2 else 0
    return " -> ".join(f"{'…' if start else ''}{clip(text[start:], MAX_SHOWN)}" or "nothing" for text in (old, new))


def _describe_tree_difference(old: JsonValue, new: JsonValue, tolerance: float, at: str) -> str:
    parts: list[tuple[JsonValue, JsonValue, str]] = []
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        parts = [(old[key], new[key], f"{at}.{key}") for key in old]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        parts = [(a, b, f"{at}[{n}]") for n, (a, b) in enumerate(zip(old, new, strict=True))]
    elif not _leaves_match(old, new, tolerance):
        return f"{at.lstrip('.')}: {_show_change(str(old), str(new))}"
    return next((why for a, b, place in parts if (why := _describe_tree_difference(a, b, tolerance, place))), "")


def _leaves_match(old: JsonValue, new: JsonValue, tolerance: float) -> bool:
    """Whether two values without parts are the same; numbers may differ within the relative tolerance."""
    if isinstance(old, str) and isinstance(new, str):
        return texts_match(old, new, tolerance)
    if _is_number(old) and _is_number(new):  # a saved notebook has 1 for 1.0
        integers = isinstance(old, int) and isinstance(new, int)
        return old == new or (not integers and math.isclose(float(str(old)), float(str(new)), rel_tol=tolerance))
    return type(old) is type(new) and old == new


def _shape(value: JsonValue) -> object:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return "number" if _is_number(value) else type(value).__name__


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
