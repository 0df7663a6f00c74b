"""The parts of an execution's output (texts, pictures, JSON trees) in comparable form."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Final, Protocol

from pydantic import JsonValue

from exploracoder_jupyter.trace.cells.escaped_text import clip
from exploracoder_jupyter.trace.comparing import image_comparison
from exploracoder_jupyter.trace.comparing.text_normalization import normalize

TOLERANCE: Final = 1e-6
"""Relative tolerance for floating-point numbers."""
_FLOAT = re.compile(r"[-+]?(?<!\d)(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?")
NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_SPACES = re.compile(r"(?<=\S)[ \t]+")


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


def match_unordered(one: str, other: str) -> bool:
    """Whether two texts have the same numbers and the same other characters, in any order.

    If interleaved output has joined numbers, their digits are compared instead.
    """
    numbers = [sorted(NUMBER.findall(text)) for text in (one, other)]
    if len(numbers[0]) != len(numbers[1]):
        numbers = [sorted("".join(found)) for found in numbers]
    rest = [sorted("".join(NUMBER.sub("", text).split())) for text in (one, other)]
    return numbers[0] == numbers[1] and rest[0] == rest[1]


def leaves_match(old: JsonValue, new: JsonValue, tolerance: float) -> bool:
    """Whether two values without parts are the same; numbers may differ within the relative tolerance."""
    if isinstance(old, str) and isinstance(new, str):
        return texts_match(old, new, tolerance)
    if is_number(old) and is_number(new):  # a saved notebook has 1 for 1.0
        integers = isinstance(old, int) and isinstance(new, int)
        return old == new or (not integers and math.isclose(float(str(old)), float(str(new)), rel_tol=tolerance))
    return type(old) is type(new) and old == new


def is_number(value: JsonValue) -> bool:
    """Whether the value is a number, which excludes truth values."""
    return isinstance(value, int | float) and not isinstance(value, bool)


MAX_SHOWN: Final = 80
"""Length to which texts are clipped in descriptions of differences."""

_CONTEXT: Final = 20
"""Characters shown before the first difference."""
_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"})
_MARKUP: Final = frozenset({"text/html", "image/svg+xml", "application/xml", "text/xml"})
_WIDGET_MIME: Final = "application/vnd.jupyter.widget-"
_TAG = re.compile(r"<[^<>]*>")


class Part(Protocol):
    """One part of an execution's output."""

    def describe_difference(self, other: Part, tolerance: float) -> str:
        """Describe how `other` differs: old, then new. Empty if both are the same."""
        ...

    def structure(self) -> object:
        """Return its structure without values."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """A normalized text."""

    text: str
    unordered: bool = False
    """Whether several threads or processes wrote it, so that its order does not matter."""

    def describe_difference(self, other: Part, tolerance: float) -> str:
        """Describe the first line that differs."""
        if not isinstance(other, Text):
            return "another kind of output"
        if texts_match(self.text, other.text, tolerance) or (self.unordered and self._mixed(other, tolerance)):
            return ""
        old, new = self.text.split("\n"), other.text.split("\n")
        length = max(len(old), len(new))
        pairs = zip(old + [""] * (length - len(old)), new + [""] * (length - len(new)), strict=True)
        return next((_show_change(one, two) for one, two in pairs if not texts_match(one, two, tolerance)), "")

    def structure(self) -> object:
        """Return the text without numbers and white space, which depends on the widths and signs of the numbers."""
        return "".join(NUMBER.sub("#", self.text).split())

    def _mixed(self, other: Text, tolerance: float) -> bool:
        """Whether both are the same in another order, of lines or of fragments of interleaved lines."""
        one, two = (sorted(filter(str.strip, text.split("\n"))) for text in (self.text, other.text))
        return texts_match("\n".join(one), "\n".join(two), tolerance) or match_unordered(self.text, other.text)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in base64."""

    content: str

    def describe_difference(self, other: Part, tolerance: float) -> str:
        """Describe how the pixels differ."""
        return (
            image_comparison.describe_difference(self.content, other.content)
            if isinstance(other, Picture)
            else "another kind of output"
        )

    def structure(self) -> object:
        """Return a constant, since pictures have no structure."""
        return "picture"


@dataclass(frozen=True, slots=True)
class Tree:
    """A JSON value with normalized texts."""

    value: JsonValue

    def describe_difference(self, other: Part, tolerance: float) -> str:
        """Describe the first place that differs."""
        if not isinstance(other, Tree):
            return "another kind of output"
        return _describe_difference(self.value, other.value, tolerance, "")

    def structure(self) -> object:
        """Return the keys and types, without values."""
        return _shape(self.value)


def part_of(mime: str, value: JsonValue, day: date) -> Part:
    """Convert an output of this MIME type, made on this day, to comparable form."""
    if mime.startswith(_WIDGET_MIME):
        return Text(mime)  # its content is an id that is random each time
    if mime in _PICTURES and isinstance(value, str):
        return Picture(value.strip())
    if isinstance(value, dict) or mime.endswith("json"):
        return Tree(map_strings(value, partial(normalize, day=day)))
    text = join_lines(value)
    return Text(normalize(_split_tags(text) if mime in _MARKUP else text, day=day))


def _split_tags(text: str) -> str:
    """Put each tag of the markup on a separate line, so that the text between tags can be compared."""
    return "\n".join(filter(str.strip, _TAG.sub(lambda found: f"\n{found[0]}\n", text).split("\n")))


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


def _show_change(old: str, new: str) -> str:
    pairs = enumerate(zip(old, new, strict=False))
    first = next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))
    start = first - _CONTEXT if first > MAX_SHOWN // 2 else 0
    return " -> ".join(f"{'…' if start else ''}{clip(text[start:], MAX_SHOWN)}" or "nothing" for text in (old, new))


def _describe_difference(old: JsonValue, new: JsonValue, tolerance: float, at: str) -> str:
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return next(
            (why for key in old if (why := _describe_difference(old[key], new[key], tolerance, f"{at}.{key}"))), ""
        )
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return next((why for n, (a, b) in pairs if (why := _describe_difference(a, b, tolerance, f"{at}[{n}]"))), "")
    return "" if leaves_match(old, new, tolerance) else f"{at.lstrip('.')}: {_show_change(str(old), str(new))}"


def _shape(value: JsonValue) -> object:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return "number" if is_number(value) else type(value).__name__
