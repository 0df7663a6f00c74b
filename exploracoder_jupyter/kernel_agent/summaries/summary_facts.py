"""What describers say and are given.

A describer is handed a value and a `Look`, and yields `Fact`s, the most telling first: the caller takes as many as fit
and says what was cut, so a describer works lazily, a fact at a time. It must not change the value: an iterator stays
unread, a lazy frame uncollected, a tensor on its device. It may raise; what it has said until then counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Fact(NamedTuple):
    """One line on a value."""

    text: str
    shows: bool = False
    """Whether it holds anything of the data itself (a value, a key, a sample, a statistic): left out where only the
    schema is shared. Names of columns, fields and attributes, types, shapes, sizes and counts are no data."""
    schema: str | None = None
    """What is said in its place where only the schema is shared, if it `shows`: `id: int64` for `id: int64, 1 to 9`.
    None: it is left out there."""


@dataclass(frozen=True, slots=True)
class Look:
    """How closely a value is looked at, and how values within it are told."""

    short: Callable[[Any], str]
    """A value within this one in a few words, `letters` at most. Safe: it never raises, and runs no code of the value's
    class where that is not known."""
    until: float = field(default_factory=lambda: time.monotonic() + 0.4)
    """On the clock of `time.monotonic`: stop before what would take long after that."""
    rows: int = 3
    """Rows, items or lines of a sample."""
    columns: int = 40
    """Columns, fields or attributes that are listed."""
    letters: int = 40
    """Characters of one cell of a sample."""
    sample: int = 20_000
    """Elements of large data that statistics are taken from, evenly spread, which is then said."""

    @property
    def late(self) -> bool:
        """Whether the time is used up."""
        return time.monotonic() >= self.until


Describe = Callable[[Any, Look], Iterator[Fact]]
"""The first fact follows the type's name on its line: `3 rows x 2 columns, 180 bytes`."""

Measure = Callable[[Any], str]
"""Shape or size in a few words without data, within microseconds: `3 x 2`. That it differs tells that the value was
changed. It runs nothing but the library's own attributes. What follows a `#` is compared and never shown, so that for a
value that keeps its shape a checksum of its content can be added: `3 x 2 #8a41`."""


def for_people(measure: str) -> str:
    """The part of a measure that is shown."""
    return measure.partition("#")[0].strip()


Brief = Callable[[Any, Look], str]
"""All that a small value holds in a few words: `[1, 2] of int64`; empty if it is not small."""

BRIEF = 8
"""Elements of a value within a value up to which they are told, not their number."""


@dataclass(frozen=True, slots=True)
class Family:
    """The describers of related types, by top-level package and class name: `pandas.DataFrame`, `builtins.list`."""

    kinds: Mapping[str, Describe]
    measures: Mapping[str, Measure] = field(default_factory=dict)
    here: bool = False
    """Whether they must run in the kernel's own process, for its library hangs in a fork of it. They then have to be
    quick, and harmless: nothing ends them."""
    most: int = 600
    """Characters of the summary of one value."""
    sure: Callable[[Any], bool] = field(default=lambda _value: False)
    """Whether a value of the library's own type holds nothing that is not the library's or the interpreter's: then no
    code of others runs when it is described, and no process is forked for it."""
    briefs: Mapping[str, Brief] = field(default_factory=dict)
    """What is told of values within values, where they are small."""


def size(count: float) -> str:
    """Bytes for people: `180 bytes`, `1.2 kB`, `3.4 GB`."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} bytes" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def cut(text: str, most: int) -> str:
    """The text on one line, or its beginning and how many characters are missing."""
    line = " ".join(text[: 4 * most].split())
    missing = len(text) - most
    return line if len(line) <= most and missing <= 0 else f"{line[:most]}...[+{max(missing, 1):,} characters]"


def listed(names: list[str], most: int) -> str:
    """The names with commas, or the first ones and how many are missing."""
    more = f", ... {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
