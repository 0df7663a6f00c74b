"""Formats values along Matplotlib axes."""

from __future__ import annotations

import sys
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import FormatNumber, format_number

_MAX_LABELS = 2000


def axis_formatter(axis: Any, tolerance: float = 0.0) -> FormatNumber:
    """Return a formatter for values along an axis: dates, and category names for values within `tolerance` of them."""
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    kind = type(converter).__name__
    if "Period" in kind:
        return lambda value: str(sys.modules["pandas"].Period(ordinal=int(value), freq=axis.axes.freq))
    if "Date" in kind:
        return _format_date
    names = {position: name for name, position in getattr(axis.units, "_mapping", {}).items()} or _fixed_labels(axis)
    return lambda value: _format_category(names, value, tolerance)


def _format_category(names: dict[float, str], value: float, tolerance: float) -> str:
    if value in names or not (names and tolerance):
        return str(names.get(value, format_number(value)))
    position = min(names, key=lambda position: abs(position - value))
    return str(names[position]) if abs(position - value) <= tolerance else format_number(value)


def _fixed_labels(axis: Any) -> dict[float, str]:
    """Return the labels that the code has set at fixed positions of an axis."""
    locator, formatter = axis.get_major_locator(), axis.get_major_formatter()
    if type(locator).__name__ != "FixedLocator" or type(formatter).__name__ not in ("FuncFormatter", "FixedFormatter"):
        return {}
    positions = list(locator.locs)[:_MAX_LABELS]
    return {position: name for position, name in zip(positions, formatter.format_ticks(positions), strict=True) if name}


def _format_date(value: float) -> str:
    if not -7e5 < value < 2.9e6:
        return format_number(value)
    moment = sys.modules["matplotlib.dates"].num2date(value).replace(tzinfo=None)
    text: str = moment.isoformat(" ", "minutes" if not moment.second else "seconds")
    return text.removesuffix(" 00:00")


def in_data(artist: Any, axes: Any) -> tuple[bool, bool]:
    """Return whether x and y of an artist are in data coordinates rather than axes coordinates."""
    transform = artist.get_transform()
    contains_branch = getattr(transform, "contains_branch_separately", None)
    in_x, in_y = (contains_branch or transform.contains_branch_seperately)(axes.transData)  # old spelling
    return bool(in_x), bool(in_y)
