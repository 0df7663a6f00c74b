"""Describes ranges and curves of many numbers in a few words, and simplifies curves. Callers must have loaded NumPy."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterator
from typing import Any

FormatNumber = Callable[[float], str]
_MAX_POINTS_SHOWN = 6
_MAX_POINTS = 2000


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
    text = (
        f"{format_value(low)} to {format_value(high)}"
        if low < high
        else f"always {format_value(low)}"
        if len(finite_values) > 1
        else format_value(low)
    )
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


def simplify(points: Any, limit: int, tolerance: float = 0.5) -> Any:
    """Return the points (rows of x and y) that matter most to the curve's shape, in order (Ramer-Douglas-Peucker)."""
    if len(points) < 3:
        return points
    points = _extreme_points(points) if len(points) > _MAX_POINTS else points
    indices, candidates = {0, len(points) - 1}, [*_farthest_point(points, 0, len(points) - 1)]
    while candidates and len(indices) < limit:
        distance, start, middle, end = heapq.heappop(candidates)
        if -distance < tolerance:
            break
        indices.add(middle)
        for segment in (*_farthest_point(points, start, middle), *_farthest_point(points, middle, end)):
            heapq.heappush(candidates, segment)
    return points[sorted(indices)]


def _farthest_point(points: Any, start: int, end: int) -> Iterator[tuple[float, int, int, int]]:
    """Find the point between two others that is farthest from the straight line through them."""
    np = sys.modules["numpy"]
    if end - start < 2:
        return
    base, direction, inner = points[start], points[end] - points[start], points[start + 1 : end]
    length = float(np.hypot(*direction))
    offset = inner - base
    distances = (
        np.abs(offset[:, 0] * direction[1] - offset[:, 1] * direction[0]) / length if length else np.hypot(*offset.T)
    )
    middle = int(distances.argmax())
    yield -float(distances[middle]), start, start + 1 + middle, end


def _extreme_points(points: Any) -> Any:
    """Return the lowest and the highest point of each of many equal segments."""
    np = sys.modules["numpy"]
    segments = np.array_split(np.arange(len(points)), _MAX_POINTS // 4)
    indices = {0, len(points) - 1}
    for segment in segments:
        heights = points[segment, 1]
        indices |= {int(segment[heights.argmin()]), int(segment[heights.argmax()])}
    return points[sorted(indices)]
