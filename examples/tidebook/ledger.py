"""The gauges of a harbour, told in lines and rows."""

from __future__ import annotations

from collections.abc import Sequence

from tidebook.readings import Series


def lines(one: Series, width: int = 40) -> list[str]:
    """Draw the heights of a gauge as lines of text, one reading a line."""
    scale = width / max(one.highest(), 1e-9)
    return ["#" * max(0, round(height * scale)) for height in one.heights]


def table(gauges: Sequence[Series]) -> list[dict[str, float | str]]:
    """A row for each gauge: its name and its lowest, mean and highest water."""
    return [{"gauge": one.name, "lowest": one.lowest(), "mean": one.mean(), "highest": one.highest()} for one in gauges]


def by_name(gauges: Sequence[Series], name: str) -> Series:
    """The gauge of that name among several gauges."""
    return next(one for one in gauges if one.name == name)


def highest_gauge(gauges: Sequence[Series]) -> Series:
    """The gauge at whose staff the highest water was read."""
    return max(gauges, key=Series.highest)


def lowest_gauge(gauges: Sequence[Series]) -> Series:
    """The gauge at whose staff the lowest water was read."""
    return min(gauges, key=Series.lowest)
