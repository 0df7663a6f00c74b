"""The options of a summary: how long it may take, and how much of a value it shows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """How closely a value is examined, and how nested values are formatted."""

    short: Callable[[Any], str]
    """Formats a nested value in a few words. Safe: it never raises, and runs no code of an unknown class."""
    deadline: float = field(default_factory=lambda: time.monotonic() + 0.4)
    """On the clock of `time.monotonic`: skip anything that would take much longer than this."""
    rows: int = 3
    """Rows, items or lines in a sample."""
    columns: int = 40
    """Columns, fields or attributes to list."""
    cell_width: int = 40
    """Characters in one cell of a sample."""
    sample: int = 20_000
    """Elements of large data from which statistics are computed, evenly spread; the summary notes this."""

    @property
    def out_of_time(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.deadline
