"""Places the labels of points in a plot, so that they cover neither one another nor a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_CHARACTER: Final = 6.9
"""Mean width of a character of the labels, in pixels."""
_HEIGHT: Final = 13.0
_GAP: Final = 8.0
"""Distance of a label from the middle of its point."""


class Spot(NamedTuple):
    """A position in pixels, from the left and from the top."""

    x: float
    y: float


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: _Box) -> float:
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(wide, 0) * max(high, 0)


def place_labels(
    points: Sequence[Spot], labels: Sequence[str], lines: Sequence[tuple[Spot, Spot]], width: float, height: float
) -> list[Spot]:
    """Return the middle of each label: near its point, within the plot, with the least overlap that is found.

    Labels are placed in order, each at the first of several positions that covers least.

    Args:
        points: one for each label.
        labels: the texts.
        lines: horizontal and vertical lines that should not be covered either.
        width: of the plot.
        height: of the plot.
    """
    taken = [_box(point, _GAP, _GAP) for point in points] + [_line_box(*line) for line in lines]
    spots = []
    for point, label in zip(points, labels, strict=True):
        wide = len(label) * _CHARACTER
        others = tuple(taken)
        inside = [spot for spot in _candidates(point, wide) if _fits(_box(spot, wide, _HEIGHT), width, height)]
        best = min(inside or [point], key=lambda spot: sum(_box(spot, wide, _HEIGHT).overlap(box) for box in others))
        spots.append(best)
        taken.append(_box(best, wide, _HEIGHT))
    return spots


def _candidates(point: Spot, wide: float) -> Iterator[Spot]:
    beside, above = _GAP + wide / 2, _HEIGHT / 2 + 2
    for distance in (1.0, 2.0, 3.0):
        up = above * distance
        yield from (Spot(point.x + beside, point.y - up), Spot(point.x - beside, point.y - up))
        yield from (Spot(point.x + beside, point.y + up), Spot(point.x - beside, point.y + up))
        yield from (Spot(point.x + beside, point.y), Spot(point.x - beside, point.y))
        yield from (Spot(point.x, point.y - up), Spot(point.x, point.y + up))


def _box(middle: Spot, wide: float, high: float) -> _Box:
    return _Box(middle.x - wide / 2, middle.y - high / 2, middle.x + wide / 2, middle.y + high / 2)


def _line_box(start: Spot, end: Spot) -> _Box:
    left, right = sorted((start.x, end.x))
    top, bottom = sorted((start.y, end.y))
    return _Box(left - 1, top - 1, right + 1, bottom + 1)


def _fits(box: _Box, width: float, height: float) -> bool:
    return box.left >= 0 and box.top >= 0 and box.right <= width and box.bottom <= height
