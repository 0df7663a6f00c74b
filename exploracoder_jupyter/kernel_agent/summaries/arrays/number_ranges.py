"""Ranges and courses of many numbers in a few words, and curves of few points. NumPy is there where these are asked."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterator
from typing import Any

Tell = Callable[[float], str]
_FEW = 6
_DENSE = 2000


def number(value: float) -> str:
    """A number in few digits: `2000`, `0.1235`, `1e+09`."""
    return f"{value:.0f}" if value == round(value, 0) and abs(value) < 1e6 else f"{value:.4g}"


def floats(values: Any) -> Any:
    """A flat NumPy array of floats, NaN where a value is missing or is no number.

    Raises: whatever NumPy does on what is no array of numbers.
    """
    np = sys.modules["numpy"]
    array = np.ma.asanyarray(values)
    if array.dtype.kind not in "biuf":
        array = array.astype(float)
    return np.ma.filled(array.astype(float, copy=False), np.nan).reshape(-1)


def thin(values: Any, most: int) -> Any:
    """Every n-th row of an array, so that at most so many are left."""
    return values[:: max(1, -(-len(values) // most))]


def finite(values: Any) -> Any:
    """The numbers that are neither NaN nor infinite."""
    return values[sys.modules["numpy"].isfinite(values)]


def span(values: Any, tell: Tell = number) -> str:
    """The range of an array of floats: `1 to 9`, `always 3`, `1 to 9, 2 not finite`."""
    known = finite(values)
    if not len(known):
        return "no finite values" if len(values) else "no values"
    low, high = float(known.min()), float(known.max())
    words = f"{tell(low)} to {tell(high)}" if low < high else f"always {tell(low)}" if len(known) > 1 else tell(low)
    return words + (f", {len(values) - len(known):,} not finite" if len(known) < len(values) else "")


def course(xs: Any, ys: Any, tell_x: Tell = number, tell_y: Tell = number) -> str:
    """Range of the points, and how y goes along x: `x 0 to 9; y 1 to 5, rising`. All of them, where they are few."""
    if 0 < len(xs) <= _FEW:
        return f"x {', '.join(map(tell_x, xs.tolist()))}; y {', '.join(map(tell_y, ys.tolist()))}"
    way = _way(xs, ys, tell_x, tell_y)
    return f"x {span(xs, tell_x)}; y {span(ys, tell_y)}{way}"


def _way(xs: Any, ys: Any, tell_x: Tell, tell_y: Tell) -> str:
    np = sys.modules["numpy"]
    good = np.isfinite(xs) & np.isfinite(ys)
    xs, ys = xs[good], ys[good]
    if len(xs) < 2 or ys.min() == ys.max():
        return ""
    if (xs[1:] < xs[:-1]).any():
        return ", x goes back and forth"
    if (ys[1:] >= ys[:-1]).all() or (ys[1:] <= ys[:-1]).all():
        return ", rising" if ys[-1] > ys[0] else ", falling"
    top, bottom = tell_x(float(xs[ys.argmax()])), tell_x(float(xs[ys.argmin()]))
    ends = f"first {tell_y(float(ys[0]))}, last {tell_y(float(ys[-1]))}"
    return f" ({ends}, highest at x = {top}, lowest at x = {bottom})"


def reduced(points: Any, most: int, tolerance: float = 0.5) -> Any:
    """The points (rows of x and y) that matter most to the shape of the curve, in order (Ramer, Douglas, Peucker)."""
    if len(points) < 3:
        return points
    points = _extremes(points) if len(points) > _DENSE else points
    kept, found = {0, len(points) - 1}, [*_farthest(points, 0, len(points) - 1)]
    while found and len(kept) < most:
        far, start, middle, end = heapq.heappop(found)
        if -far < tolerance:
            break
        kept.add(middle)
        for piece in (*_farthest(points, start, middle), *_farthest(points, middle, end)):
            heapq.heappush(found, piece)
    return points[sorted(kept)]


def _farthest(points: Any, start: int, end: int) -> Iterator[tuple[float, int, int, int]]:
    """The point between two others that is farthest from the straight line through them."""
    np = sys.modules["numpy"]
    if end - start < 2:
        return
    base, way, between = points[start], points[end] - points[start], points[start + 1 : end]
    length = float(np.hypot(*way))
    offset = between - base
    apart = np.abs(offset[:, 0] * way[1] - offset[:, 1] * way[0]) / length if length else np.hypot(*offset.T)
    middle = int(apart.argmax())
    yield -float(apart[middle]), start, start + 1 + middle, end


def _extremes(points: Any) -> Any:
    """The lowest and the highest point of each of many equal pieces."""
    np = sys.modules["numpy"]
    pieces = np.array_split(np.arange(len(points)), _DENSE // 4)
    kept = {0, len(points) - 1}
    for piece in pieces:
        heights = points[piece, 1]
        kept |= {int(piece[heights.argmin()]), int(piece[heights.argmax()])}
    return points[sorted(kept)]
