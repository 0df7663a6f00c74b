"""Series of water heights, and what is done to one before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from statistics import fmean, pstdev


class Adrift(ValueError):
    """Two series cannot be set against each other yet."""


@dataclass(frozen=True)
class Series:
    """Heights of the water at one gauge, in metres as they were read off its staff, at equal steps of time."""

    name: str
    heights: tuple[float, ...]
    step: float = 1.0
    _brass: bool = field(default=False, repr=False)

    def highest(self) -> float:
        """Highest height of the water in the series, in metres."""
        return max(self.heights)

    def lowest(self) -> float:
        """Lowest height of the water in the series, in metres."""
        return min(self.heights)

    def mean(self) -> float:
        """Mean height of the water, in metres."""
        return fmean(self.heights)

    def spread(self) -> float:
        """Standard deviation of the heights, in metres."""
        return pstdev(self.heights)

    def hours(self) -> float:
        """How many hours the series lasts."""
        return self.step * len(self.heights)

    def between(self, start: float, end: float) -> Series:
        """The part of the series between two hours from its beginning."""
        first, last = round(start / self.step), round(end / self.step)
        return replace(self, heights=self.heights[first:last])


def series(name: str, heights: Iterable[float], step: float = 1.0) -> Series:
    """Make the series of a gauge from heights of the water read at its staff.

    Parameters
    ----------
    name : str
        Name of the gauge.
    heights : iterable of float
        Heights in metres, as read at the staff.
    step : float
        Hours between two readings.

    Examples
    --------
    >>> pier = series("pier", [1.0, 2.0, 1.5])
    >>> pier.highest()
    2.0
    """
    return Series(name, tuple(map(float, heights)), step)


def _like(one: Series, change: Callable[[float], float]) -> Series:
    return replace(one, heights=tuple(change(height) for height in one.heights))


def from_feet(one: Series) -> Series:
    """Convert the heights of a gauge's staff from feet to metres."""
    return _like(one, lambda height: height * 0.3048)


def from_fathoms(one: Series) -> Series:
    """Convert the heights of a gauge's staff from fathoms to metres."""
    return _like(one, lambda height: height * 1.8288)


def from_centimetres(one: Series) -> Series:
    """Convert heights that were read at the staff in centimetres to metres."""
    return _like(one, lambda height: height / 100)


def despike(one: Series, limit: float = 1.0) -> Series:
    """Replace heights that exceed both neighbours by more than a limit in metres."""
    kept = list(one.heights)
    for at in range(1, len(kept) - 1):
        if min(kept[at] - kept[at - 1], kept[at] - kept[at + 1]) > limit:
            kept[at] = (kept[at - 1] + kept[at + 1]) / 2
    return replace(one, heights=tuple(kept))


def smooth(one: Series, width: int = 3) -> Series:
    """Running mean of the heights of the water over a number of readings."""
    heights, half = one.heights, width // 2
    return replace(one, heights=tuple(fmean(heights[max(0, at - half) : at + half + 1]) for at in range(len(heights))))


def clip(one: Series, lower: float, upper: float) -> Series:
    """Limit the heights of the water to the length of the staff: none below lower, none above upper."""
    return _like(one, lambda height: min(max(height, lower), upper))


def thin(one: Series, every: int) -> Series:
    """Keep every n-th reading of a gauge."""
    return replace(one, heights=one.heights[::every], step=one.step * every)


def splice(first: Series, second: Series) -> Series:
    """Join two series of the same gauge, one after the other in time."""
    return replace(first, heights=first.heights + second.heights)


def drop_first(one: Series, count: int) -> Series:
    """Leave out the first readings of a gauge."""
    return replace(one, heights=one.heights[count:])


def drop_last(one: Series, count: int) -> Series:
    """Leave out the last readings of a gauge."""
    return replace(one, heights=one.heights[: len(one.heights) - count])
