"""The vocabulary of describers: what they receive and what they yield.

A describer receives a value and a `SummaryOptions` and yields `Fact`s, the most informative first. The caller takes as
many as fit and notes that others were cut, so a describer works lazily, one fact at a time. It must not change the
value: an iterator stays unread, a lazy frame uncollected, a tensor on its device. It may raise; the facts yielded until
then are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions


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
