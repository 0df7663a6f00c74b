"""Whether two texts or values are the same, apart from small differences of floating-point numbers."""

from __future__ import annotations

import math
import re
from typing import Final

from pydantic import JsonValue

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
