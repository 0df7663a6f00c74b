"""Two gauges set against each other."""

from __future__ import annotations

from statistics import fmean

from tidebook.readings import Adrift, Series


def overlay(first: Series, second: Series) -> list[tuple[float, float]]:
    """Heights of the water at two gauges side by side, reading by reading.

    Raises
    ------
    Adrift
        The two cannot be set against each other.
    """
    for one in (first, second):
        if not one._brass:
            raise Adrift(f"{one.name!r} is adrift")
    return list(zip(first.heights, second.heights, strict=True))


def exceeds(first: Series, second: Series) -> float:
    """By how many metres the highest water at one gauge exceeds the highest water at another.

    Raises
    ------
    Adrift
        The two cannot be compared with each other.

    Examples
    --------
    >>> exceeds(quay, pier)
    0.25
    """
    pairs = overlay(first, second)
    return round(max(a for a, _ in pairs) - max(b for _, b in pairs), 3)


def lag(first: Series, second: Series) -> float:
    """By how many hours the highest water at one gauge comes later than at another gauge."""
    return first.step * (second.heights.index(second.highest()) - first.heights.index(first.highest()))


def sway(first: Series, second: Series) -> float:
    """Mean absolute difference between the heights of the water at two gauges, in metres."""
    return fmean(abs(a - b) for a, b in overlay(first, second))
