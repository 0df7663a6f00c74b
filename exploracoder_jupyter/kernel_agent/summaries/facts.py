"""The vocabulary of describers, and how they write numbers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

# The options of a summary: how long it may take, and how much of a value it shows.


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


# The vocabulary of describers: what they receive and what they yield.
#
# A describer receives a value and a `SummaryOptions` and yields `Fact`s, the most informative first. The caller
# takes as many as fit and notes that others were cut, so a describer works lazily, one fact at a time. It must not
# change the value: an iterator stays unread, a lazy frame uncollected, a tensor on its device. It may raise; the
# facts yielded until then are used.


class Fact(NamedTuple):
    """One line about a value."""

    text: str
    shows: bool = False
    """Whether the text contains any of the data itself (a value, a key, a sample, a statistic); such text is omitted
    where only the schema is shared. Names of columns, fields and attributes, types, shapes, sizes and counts are not
    data."""
    schema: str | None = None
    """Replaces the text where only the schema is shared, if `shows` is true: `id: int64` for `id: int64, 1 to 9`. None:
    the fact is omitted there."""


Describe = Callable[[Any, SummaryOptions], Iterator[Fact]]
"""The first fact follows the type's name on its line: `3 rows x 2 columns, 180 bytes`."""

Measure = Callable[[Any], str]
"""Returns the shape or size in a few words, without data and within microseconds: `3 x 2`. A different result means
that the value was changed. It reads only the library's own attributes. What follows a `#` is compared but never shown,
so a checksum of the content can detect changes that keep the shape: `3 x 2 #8a41`."""


def visible_measure(measure: str) -> str:
    """Return the part of a measure that is shown."""
    return measure.partition("#")[0].strip()


Brief = Callable[[Any, SummaryOptions], str]
"""Returns the whole content of a small value in a few words: `[1, 2] of int64`; empty if it is not small."""

BRIEF_LIMIT = 8
"""Up to this many elements, a nested value is shown by its elements rather than by their number."""


@dataclass(frozen=True, slots=True)
class TypeFamily:
    """The describers of related types, by top-level package and class name: `pandas.DataFrame`, `builtins.list`."""

    describers: Mapping[str, Describe]
    measures: Mapping[str, Measure] = field(default_factory=dict)
    in_process: bool = False
    """Whether the describers must run in the kernel's own process because the library hangs in a fork of it. They must
    then be fast and harmless, since nothing can stop them."""
    max_length: int = 600
    """Maximum characters in the summary of one value."""
    is_inert: Callable[[Any], bool] = field(default=lambda _value: False)
    """Whether a value of the library's own type holds only objects of the library or the interpreter. Describing it
    then runs no foreign code and needs no forked process."""
    briefs: Mapping[str, Brief] = field(default_factory=dict)
    """Formatters for small values nested in other values."""


def format_size(count: float) -> str:
    """Format a number of bytes: `180 bytes`, `1.2 kB`, `3.4 GB`."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} bytes" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def truncate(text: str, limit: int) -> str:
    """Return the text on one line, truncated with a note of how many characters are missing."""
    line = " ".join(text[: 4 * limit].split())
    missing = len(text) - limit
    return line if len(line) <= limit and missing <= 0 else f"{line[:limit]}...[+{max(missing, 1):,} characters]"


def format_list(names: list[str], limit: int) -> str:
    """Join the names with commas, or the first ones with a note of how many are missing."""
    more = f", ... {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


# Chooses the sample from which the statistics of large data are computed, and words that it is one.

_MAX_SAMPLE_BYTES: Final = 10_000_000
"""Maximum bytes of a sample: taking one may copy it, so fewer of long values are taken."""
_GOLDEN: Final = 0.6180339887498949


def sample_positions(count: int, limit: int) -> list[int] | None:
    """Return positions of a sample, spread evenly but without a period that the data could share; None: take all."""
    if count <= limit:
        return None
    return [int((position + position * _GOLDEN % 1) * count / limit) for position in range(limit)]


def sample_size(item_bytes: float, limit: float = float("inf")) -> int:
    """Return how many values of `item_bytes` each a sample has: `limit`, or fewer where they are large."""
    return max(int(min(limit, _MAX_SAMPLE_BYTES / max(item_bytes, 1))), 1)


def sample_note(taken: int, count: int) -> str:
    """Return a note of how many values were sampled, or an empty string if all were."""
    return f"; sampled {taken:,} of {count:,}" if taken < count else ""


# Formats statistics, shares, ranges and numbers of missing values.


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
