"""The axes of Matplotlib's plots: how values along them are told, and where they lie.

Limits are not asked for by `get_xlim`, which would set them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.number_ranges import Tell, number

_MOST_NAMED = 2000


def axis_teller(axis: Any, near: float = 0.0) -> Tell:
    """How values along an axis are told: dates as dates, categories by name, also of what is so near to their place."""
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    kind = type(converter).__name__
    if "Period" in kind:
        return lambda value: str(sys.modules["pandas"].Period(ordinal=int(value), freq=axis.axes.freq))
    if "Date" in kind:
        return _date
    names = {place: name for name, place in getattr(axis.units, "_mapping", {}).items()} or _fixed(axis)
    return lambda value: _name(names, value, near)


def _name(names: dict[float, str], value: float, near: float) -> str:
    if value in names or not (names and near):
        return str(names.get(value, number(value)))
    place = min(names, key=lambda place: abs(place - value))
    return str(names[place]) if abs(place - value) <= near else number(value)


def _fixed(axis: Any) -> dict[float, str]:
    """Labels that the code has put at certain places of an axis."""
    locator, formatter = axis.get_major_locator(), axis.get_major_formatter()
    if type(locator).__name__ != "FixedLocator" or type(formatter).__name__ not in ("FuncFormatter", "FixedFormatter"):
        return {}
    places = list(locator.locs)[:_MOST_NAMED]
    return {place: name for place, name in zip(places, formatter.format_ticks(places), strict=True) if name}


def _date(value: float) -> str:
    if not -7e5 < value < 2.9e6:
        return number(value)
    moment = sys.modules["matplotlib.dates"].num2date(value).replace(tzinfo=None)
    text: str = moment.isoformat(" ", "minutes" if not moment.second else "seconds")
    return text.removesuffix(" 00:00")


def in_data(artist: Any, axes: Any) -> tuple[bool, bool]:
    """Whether x and y of an artist are in the coordinates of the data, not across the axes."""
    way = artist.get_transform()
    ask = getattr(way, "contains_branch_separately", None) or way.contains_branch_seperately  # the older spelling
    in_x, in_y = ask(axes.transData)
    return bool(in_x), bool(in_y)


def limits(axes: Any, name: str) -> tuple[float, float]:
    """Both ends of an axis (`x` or `y`), the first at the left or at the bottom; infinite where nothing is shown."""
    place = "xy".index(name)
    if _settled(axes, name):
        low, high = axes._viewLim.get_points()[:, place].tolist()
        return low, high
    low, high = axes.dataLim.get_points()[:, place].tolist()
    axis = getattr(axes, f"{name}axis")
    return (high, low) if axis.get_inverted() else (low, high)


def _settled(axes: Any, name: str) -> bool:
    group = getattr(axes, f"get_shared_{name}_axes")().get_siblings(axes)
    return hasattr(axes, "_viewLim") and not any(getattr(other, "_stale_viewlims", {}).get(name) for other in group)


def placer(axes: Any) -> Callable[[Any], Any] | None:
    """Turns rows of x and y into such in a square of 100 x 100 with y downwards; None if the axes show nothing yet."""
    np = sys.modules["numpy"]
    ends = np.array([limits(axes, "x"), limits(axes, "y")], dtype=float).T
    low, high = _scaled(axes, ends)
    if not np.isfinite([low, high]).all():
        return None
    margin = 0.0 if _settled(axes, "x") else 0.05
    width = np.where(high == low, 1.0, high - low)

    def place(points: Any) -> Any:
        at = ((_scaled(axes, points) - low) / width * (1 - 2 * margin) + margin) * 100
        at[:, 1] = 100 - at[:, 1]
        return at

    return place


def _scaled(axes: Any, points: Any) -> Any:
    np = sys.modules["numpy"]
    with np.errstate(all="ignore"):
        columns = [
            axes.xaxis.get_transform().transform(points[:, 0]),
            axes.yaxis.get_transform().transform(points[:, 1]),
        ]
    return np.array(columns, dtype=float).T
