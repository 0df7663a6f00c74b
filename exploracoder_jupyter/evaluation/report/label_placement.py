"""Places the labels of points in a plot, so that they cover neither one another nor a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_CHARACTER: Final = 6.9
"""Mean width of a character of the labels, in pixels."""
_HEIGHT: Final = 13.0
_GAP: Final = 8.0
"""Distance of a label from the middle of its point."""


class Box(NamedTuple):
    """A rectangle in pixels: its middle, from the left and from the top, and its size."""

    x: float
    y: float
    wide: float = _GAP
    high: float = _GAP

    def overlap(self, other: Box) -> float:
        """Return the area that both cover."""
        wide = min(self.x + self.wide / 2, other.x + other.wide / 2) - max(
            self.x - self.wide / 2, other.x - other.wide / 2
        )
        high = min(self.y + self.high / 2, other.y + other.high / 2) - max(
            self.y - self.high / 2, other.y - other.high / 2
        )
        return max(wide, 0) * max(high, 0)


def place_labels(points: Sequence[Box], labels: Sequence[str], width: float, height: float) -> list[Box]:
    """Place the label of each point near it in a plot of this size, in order, each where it covers least of points and
    of the labels before it.
    """
    placed = list[Box]()
    for point, label in zip(points, labels, strict=True):
        inside = [
            box
            for box in _candidates(point, len(label) * _CHARACTER)
            if box.wide / 2 <= box.x <= width - box.wide / 2 and box.high / 2 <= box.y <= height - box.high / 2
        ]
        placed.append(min(inside or [point], key=lambda box: sum(map(box.overlap, [*points, *placed]))))
    return placed


def _candidates(point: Box, wide: float) -> Iterator[Box]:
    aside, above = _GAP + wide / 2, _HEIGHT / 2 + 2
    for distance in (1.0, 2.0, 3.0):
        up = above * distance
        for x, y in (
            (aside, -up),
            (-aside, -up),
            (aside, up),
            (-aside, up),
            (aside, 0),
            (-aside, 0),
            (0, -up),
            (0, up),
        ):
            yield Box(point.x + x, point.y + y, wide, _HEIGHT)
