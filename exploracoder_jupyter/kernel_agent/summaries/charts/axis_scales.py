"""Scales of Matplotlib axes: how values along them are formatted, and where they lie.

Limits are not read by `get_xlim`, which would set them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
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


def limits(axes: Any, name: str) -> tuple[float, float]:
    """Return both ends of an axis (`x` or `y`), the left or bottom one first; infinite where nothing is shown."""
    position = "xy".index(name)
    if _limits_are_current(axes, name):
        low, high = axes._viewLim.get_points()[:, position].tolist()
        return low, high
    low, high = axes.dataLim.get_points()[:, position].tolist()
    axis = getattr(axes, f"{name}axis")
    return (high, low) if axis.get_inverted() else (low, high)


def _limits_are_current(axes: Any, name: str) -> bool:
    siblings = getattr(axes, f"get_shared_{name}_axes")().get_siblings(axes)
    return hasattr(axes, "_viewLim") and not any(getattr(other, "_stale_viewlims", {}).get(name) for other in siblings)


def position_converter(axes: Any) -> Callable[[Any], Any] | None:
    """Return a function that maps rows of x and y into a square of 100 x 100 with y downwards; None for empty axes."""
    np = sys.modules["numpy"]
    bounds = np.array([limits(axes, "x"), limits(axes, "y")], dtype=float).T
    low, high = _scaled(axes, bounds)
    if not np.isfinite([low, high]).all():
        return None
    margin = 0.0 if _limits_are_current(axes, "x") else 0.05
    width = np.where(high == low, 1.0, high - low)

    def convert(points: Any) -> Any:
        converted = ((_scaled(axes, points) - low) / width * (1 - 2 * margin) + margin) * 100
        converted[:, 1] = 100 - converted[:, 1]
        return converted

    return convert


def _scaled(axes: Any, points: Any) -> Any:
    np = sys.modules["numpy"]
    with np.errstate(all="ignore"):
        columns = [
            axes.xaxis.get_transform().transform(points[:, 0]),
            axes.yaxis.get_transform().transform(points[:, 1]),
        ]
    return np.array(columns, dtype=float).T
