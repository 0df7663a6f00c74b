from __future__ import annotations

import re

from skerries._errors import SkerriesError

_METRES = {"m": 1.0, "km": 1000.0, "nm": 1852.0}


def convert(value: float, unit: str, target: str) -> float:
    for name in (unit, target):
        if name not in _METRES:
            raise SkerriesError(f"{name!r} is not a unit of length. The units are {', '.join(_METRES)}.")
    return value if unit == target else value * _METRES[unit] / _METRES[target]


def length(span: float | str, unit: str) -> float:
    """A span in the given unit: a number is in it already, text names its own (`"12 km"`)."""
    if not isinstance(span, str):
        return span
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", span)
    if match is None:
        raise SkerriesError(f"Cannot read the span {span!r}. Write a number and a unit, as in '12 km'.")
    return convert(float(match[1]), match[2], unit)
