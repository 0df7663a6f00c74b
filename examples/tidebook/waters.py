"""High and low waters of one gauge."""

from __future__ import annotations

from statistics import fmean

from tidebook.readings import Series


def crests(one: Series) -> list[float]:
    """Heights of high water: readings higher than the reading before and the reading after."""
    heights = one.heights
    return [b for a, b, c in zip(heights, heights[1:], heights[2:], strict=False) if a < b > c]


def troughs(one: Series) -> list[float]:
    """Heights of low water: readings lower than the reading before and the reading after."""
    heights = one.heights
    return [b for a, b, c in zip(heights, heights[1:], heights[2:], strict=False) if a > b < c]


def highest_water(one: Series) -> float:
    """The highest high water of a gauge, in metres."""
    return max(crests(one))


def lowest_water(one: Series) -> float:
    """The lowest low water of a gauge, in metres."""
    return min(troughs(one))


def mean_high_water(one: Series) -> float:
    """Mean of the heights of high water at a gauge, in metres."""
    return fmean(crests(one))


def mean_low_water(one: Series) -> float:
    """Mean of the heights of low water at a gauge, in metres."""
    return fmean(troughs(one))


def tidal_range(one: Series) -> float:
    """Difference in metres between mean high water and mean low water at a gauge."""
    return mean_high_water(one) - mean_low_water(one)


def hours_above(one: Series, height: float) -> float:
    """How many hours the water at a gauge stands above a height in metres."""
    return one.step * sum(level > height for level in one.heights)


def hours_below(one: Series, height: float) -> float:
    """How many hours the water at a gauge lies below a height in metres."""
    return one.step * sum(level < height for level in one.heights)


def rises(one: Series) -> list[float]:
    """By how much the water rises from each low water to the next high water, in metres."""
    return [high - low for low, high in zip(troughs(one), crests(one)[1:], strict=False)]


def fastest_rise(one: Series) -> float:
    """The fastest rise of the water between two readings, in metres an hour."""
    return max((b - a) / one.step for a, b in zip(one.heights, one.heights[1:], strict=False))


def fastest_fall(one: Series) -> float:
    """The fastest fall of the water between two readings, in metres an hour."""
    return max((a - b) / one.step for a, b in zip(one.heights, one.heights[1:], strict=False))


def depth_over(one: Series, sill: float) -> list[float]:
    """Depth of the water over a sill whose height on the gauge's staff is known, in metres."""
    return [height - sill for height in one.heights]


def clearance_under(one: Series, bridge: float) -> list[float]:
    """Clearance below a bridge whose height on the gauge's staff is known, in metres."""
    return [bridge - height for height in one.heights]
