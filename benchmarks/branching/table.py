"""Medians with their ranges, printed, and written down as JSON lines."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Sequence


def row(what: str, values: Sequence[float], *, unit: str = "ms") -> float:
    """Print one line of a table; the median."""
    median = statistics.median(values)
    spread = f"{min(values):10.1f} {max(values):10.1f}   n={len(values)}" if len(values) > 1 else ""
    print(f"| {what:58} | {median:10.1f} | {spread:35} | {unit:4} |", flush=True)
    return median


def machine() -> str:
    """One line about where and under what load this runs."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, Linux {os.uname().release}, load {load}"
