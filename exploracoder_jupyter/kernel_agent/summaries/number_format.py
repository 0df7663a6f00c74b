"""Formats statistics, shares, ranges and numbers of missing values."""

from __future__ import annotations

from typing import Any


def percentage(part: int, total: int) -> str:
    """Format a share in percent: `1.2 %`, `60 %`."""
    percent = 100 * part / total
    if part < total and percent > 99:
        return "over 99 %"
    if 0 < percent < 0.01:
        return "under 0.01 %"
    return f"{percent:.2g} %" if part < total else "100 %"


def missing_note(count: int, total: int, *, exact: bool = True, word: str = "missing") -> tuple[str, ...]:
    """Format the number of missing values, or their approximate share where only a sample was counted."""
    if not count:
        return ()
    if count == total:
        return (f"all {word}" if exact else f"all {word} in the sample",)
    return (f"{count:,} {word} ({percentage(count, total)})" if exact else f"about {percentage(count, total)} {word}",)


def format_statistic(value: Any) -> str:
    """Format a statistic with as many digits as are useful."""
    if isinstance(value, float) and 1e6 <= abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.6g}" if isinstance(value, float | complex) else str(value)


def format_exact(value: float | complex) -> str:
    """Format a number taken from the data, with enough digits that different numbers rarely look the same."""
    return f"{value:.15g}" if isinstance(value, float) and 1e11 <= abs(value) < 1e15 else f"{value:.12g}"


def format_number_range(low: Any, high: Any) -> str:
    """Format a range of numbers, with more digits if both ends would otherwise look the same."""
    ends = format_statistic(low), format_statistic(high)
    return format_range(str(low), str(high)) if ends[0] == ends[1] and low != high else format_range(*ends)


def format_range(low: str, high: str) -> str:
    """Format a range of values."""
    return f"all {low}" if low == high else f"{low} to {high}"
