"""Describes ranges and curves of many numbers in a few words. Callers must have loaded NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

FormatNumber = Callable[[float], str]
_MAX_POINTS_SHOWN = 6


def format_number(value: float) -> str:
    """Format a number in few digits: `2000`, `0.1235`, `1e+09`."""
    return f"{value:.0f}" if value == round(value, 0) and abs(value) < 1e6 else f"{value:.4g}"


def to_floats(values: Any) -> Any:
    """Convert to a flat NumPy array of floats, with NaN where a value is missing or not a number.

    Raises: the exception of NumPy for values that are not an array of numbers.
    """
    np = sys.modules["numpy"]
    array = np.ma.asanyarray(values)
    if array.dtype.kind not in "biuf":
        array = array.astype(float)
    return np.ma.filled(array.astype(float, copy=False), np.nan).reshape(-1)


def thin(values: Any, limit: int) -> Any:
    """Return every n-th row of an array, so that at most `limit` remain."""
    return values[:: max(1, -(-len(values) // limit))]


def finite(values: Any) -> Any:
    """Return the numbers that are neither NaN nor infinite."""
    return values[sys.modules["numpy"].isfinite(values)]


def describe_range(values: Any, format_value: FormatNumber = format_number) -> str:
    """Describe the range of an array of floats: `1 to 9`, `always 3`, `1 to 9, 2 not finite`."""
    finite_values = finite(values)
    if not len(finite_values):
        return "no finite values" if len(values) else "no values"
    low, high = float(finite_values.min()), float(finite_values.max())
    if low < high:
        text = f"{format_value(low)} to {format_value(high)}"
    else:
        text = f"{'always ' if len(finite_values) > 1 else ''}{format_value(low)}"
    return text + (f", {len(values) - len(finite_values):,} not finite" if len(finite_values) < len(values) else "")


def describe_curve(
    xs: Any, ys: Any, format_x: FormatNumber = format_number, format_y: FormatNumber = format_number
) -> str:
    """Describe the ranges of points and the trend of y along x: `x 0 to 9; y 1 to 5, rising`. Few points are listed."""
    if 0 < len(xs) <= _MAX_POINTS_SHOWN:
        return f"x {', '.join(map(format_x, xs.tolist()))}; y {', '.join(map(format_y, ys.tolist()))}"
    trend = _describe_trend(xs, ys, format_x, format_y)
    return f"x {describe_range(xs, format_x)}; y {describe_range(ys, format_y)}{trend}"


def _describe_trend(xs: Any, ys: Any, format_x: FormatNumber, format_y: FormatNumber) -> str:
    np = sys.modules["numpy"]
    is_known = np.isfinite(xs) & np.isfinite(ys)
    xs, ys = xs[is_known], ys[is_known]
    if len(xs) < 2 or ys.min() == ys.max():
        return ""
    if (xs[1:] < xs[:-1]).any():
        return ", x goes back and forth"
    if (ys[1:] >= ys[:-1]).all() or (ys[1:] <= ys[:-1]).all():
        return ", rising" if ys[-1] > ys[0] else ", falling"
    top, bottom = format_x(float(xs[ys.argmax()])), format_x(float(xs[ys.argmin()]))
    first_last = f"first {format_y(float(ys[0]))}, last {format_y(float(ys[-1]))}"
    return f" ({first_last}, highest at x = {top}, lowest at x = {bottom})"
