"""Formats columns, their values and first rows for any table library."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.number_format import (
    format_exact,
    format_range,
    format_statistic,
    percentage,
)
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, format_list, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

WIDE_COLUMNS = 12
"""From this many columns on, a list of their names comes before the facts about each."""
ROW_LENGTH = 240
"""Characters of one row of a sample."""
PREFIX_LENGTH = 100
"""Characters by which long texts are distinguished."""
ROUNDING_THRESHOLD = 300
"""Total characters of the rows above which numbers are rounded, so that more rows fit."""
SMALL_TABLE_ROWS = 10
"""Up to this many rows, all are shown, and before the statistics."""
MAX_COMPARED_COLUMNS = 1_000
"""Above this many columns, a table's columns are not compared one by one to detect changes."""
LONG_VALUE_BYTES = 4_000
"""Bytes of a nested value from which on only its length is shown."""

ORDERED_TYPES = frozenset({int, float, Decimal, date, time, timedelta})

_TIMESTAMP = re.compile(r"(\d{4,}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?([+-]\d\d:\d\d)?")
_AMBIGUOUS_TEXTS = frozenset({"", "none", "null", "nat", "na", "n/a", "<na>", "true", "false"})
_name = type.__dict__["__name__"].__get__


class ColumnFacts(NamedTuple):
    """Facts about the values of a column."""

    counts: tuple[str, ...] = ()
    """Counts of missing values and of types: not data."""
    values: tuple[str, ...] = ()
    """Facts that contain data. Those in parentheses come right after the column's type."""

    def fact(self, name: str, kind: str, note: str = "") -> Fact:
        """Combine the facts into one line with the column's name and type; the schema omits the values."""
        adjacent = tuple(value for value in self.values if value.startswith("("))
        others = tuple(value for value in self.values if not value.startswith("("))
        schema = f"{name}: {', '.join((kind, *self.counts)) if kind else ', '.join(self.counts)}"
        text = ", ".join(filter(None, (" ".join((kind, *adjacent)), *self.counts, *others)))
        if not self.values:
            return Fact(schema + note)
        return Fact(f"{name}: {text}{note}", shows=True, schema=schema + note if kind or self.counts else None)


def format_timestamp(value: Any) -> str:
    """Format a timestamp without trailing zeros and without the time zone, which is shown with the type."""
    text = str(value)
    found = _TIMESTAMP.fullmatch(text)
    if not found:
        return text
    day, minutes, seconds, fraction = found.group(1), found.group(2), found.group(3) or "", found.group(4) or ""
    fraction = fraction.rstrip("0").rstrip(".")
    if fraction or seconds not in ("", ":00"):
        return f"{day} {minutes}{seconds}{fraction}"
    return day if minutes == "00:00" else f"{day} {minutes}"


def describe_texts(texts: Sequence[Any], options: SummaryOptions, *, exact: bool = True) -> tuple[str, ...]:
    """Describe how many distinct texts there are, and which are the most frequent."""
    counts = Counter(text[:PREFIX_LENGTH] for text in texts)
    at_least = "" if exact else "at least "
    if len(counts) == 1:
        return (f"all {_format_text(next(iter(counts)), options)}",)
    if len(counts) == len(texts):
        return (f"all distinct, as {', '.join(_format_text(text, options) for text in list(counts)[:3])}",)
    return (f"{at_least}{len(counts):,} distinct {most_frequent(counts, len(texts), options, exact=exact)}",)


def most_frequent(counts: Counter[Any], total: int, options: SummaryOptions, *, exact: bool = True) -> str:
    """Format the three most frequent values with their counts, or their shares if only a sample was counted."""
    descriptions = [
        f"{_format_text(text, options)} {f'{times:,}' if exact else percentage(times, total)}"
        for text, times in counts.most_common(3)
    ]
    return f"({', '.join(descriptions)})"


def _format_text(text: Any, options: SummaryOptions) -> str:
    return text_prefix(text, options) if type(text) is str else format_cell(text, options)


def text_prefix(text: str, options: SummaryOptions) -> str:
    """Format a text that may itself be only the beginning of a longer one, for one cell."""
    if len(text) <= options.cell_width:
        return quote_ambiguous(text)
    line = " ".join(text.split())
    return line if len(line) <= options.cell_width and len(text) < PREFIX_LENGTH else f"{line[: options.cell_width]}..."


def quote_ambiguous(text: str) -> str:
    """Return a short text unchanged, or quoted where it could be mistaken for another value or a missing one."""
    plain = text == " ".join(text.split()) and "|" not in text and text.lower() not in _AMBIGUOUS_TEXTS
    return text if plain and not _is_number(text) else repr(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def describe_objects(values: Sequence[Any], options: SummaryOptions, *, exact: bool = True) -> ColumnFacts:
    """Describe Python objects: their types, and the values if they are of a type that is safe to compare."""
    types = Counter(type(value) for value in values)
    (kind, _), *other_types = types.most_common()
    if other_types:
        names = [
            f"{_name(kind)} {f'{n:,}' if exact else percentage(n, len(values))}" for kind, n in types.most_common()
        ]
        return ColumnFacts((f"of {format_list(names, 5)}",))
    if kind in (str, bytes):
        return ColumnFacts(("texts" if kind is str else "bytes",), describe_texts(values, options, exact=exact))
    type_note = (f"each of {_name(kind)}",)
    return (
        ColumnFacts(type_note, (format_range(format_cell(min(values), options), format_cell(max(values), options)),))
        if kind in ORDERED_TYPES
        else ColumnFacts(type_note)
    )


def format_cell(value: Any, options: SummaryOptions) -> str:
    """Format a value of a table for one cell of a row."""
    kind = type(value)
    if kind is str:
        return quote_ambiguous(value) if len(value) <= options.cell_width else truncate(value, options.cell_width)
    if value is None or kind is bool or (kind is int and abs(value) < 1 << 64):
        return str(value)
    if kind in (float, complex):
        return format_exact(value)
    if kind.__module__.partition(".")[0] in ("datetime", "decimal", "numpy", "pandas"):
        return _format_library_value(value, options)
    return options.short(value)


def _format_library_value(value: Any, options: SummaryOptions) -> str:
    if type(value).__name__ in ("float16", "float32"):
        return format_exact(float(str(value)))
    plain = value.item() if hasattr(value, "item") and "time" not in type(value).__name__ else value
    if type(plain) in (str, bool, int, float, complex):
        return format_cell(plain, options)
    return (
        truncate(format_timestamp(plain), options.cell_width) if not hasattr(plain, "__len__") else options.short(plain)
    )


def format_label(name: Any, options: SummaryOptions) -> str:
    """Format the name of a column or a row; for multiple levels, each of them."""
    if type(name) is tuple:
        return f"({', '.join(format_label(part, options) for part in name[:5])})"
    return format_cell(name, options)


def row_facts(header: Iterable[str], rows: Iterable[Iterable[str]], *, total: int) -> Iterator[Fact]:
    """Yield the first rows of a table of `total` rows, or all of them, as compact text."""
    cells = [list(row) for row in rows]
    if sum(len(" | ".join(row)) for row in cells) > ROUNDING_THRESHOLD:
        cells = [*map(list, zip(*map(_round_column, zip(*cells, strict=True)), strict=True))]
    formatted = [" | ".join(row) for row in cells]
    if formatted:
        yield Fact("all rows:" if len(formatted) == total else "first rows:", shows=True)
        for row in (" | ".join(header), *formatted):
            yield Fact(f"  {truncate(row, ROW_LENGTH)}", shows=True)


def column_overview(columns: Sequence[tuple[str, str]], options: SummaryOptions) -> Iterator[Fact]:
    """List the names of many columns before the facts about each; grouped by type where not all are described."""
    if WIDE_COLUMNS < len(columns) <= options.columns:
        yield Fact(f"columns: {', '.join(name for name, _ in columns)}")
    elif len(columns) > options.columns:
        yield from _type_groups(columns, options)


def _type_groups(columns: Sequence[tuple[str, str]], options: SummaryOptions) -> Iterator[Fact]:
    grouped: dict[str, list[str]] = {}
    for name, kind in columns:
        grouped.setdefault(kind, []).append(name)
    for kind, names in sorted(grouped.items(), key=lambda group: -len(group[1]))[: options.columns]:
        yield Fact(f"{len(names):,} of {kind}: {format_list(names, options.columns)}")


def _round_column(column: Sequence[str]) -> Sequence[str]:
    """Round the numbers of a column, unless different values would then look the same."""
    shortened = [
        format_statistic(float(value)) if len(value) > 8 and "." in value and _is_number(value) else value
        for value in column
    ]
    return shortened if len({*shortened}) == len({*column}) else column


def first_values(values: Sequence[str], total: int) -> Fact:
    """Return the first of `total` values, or all of them, on one line."""
    suffix = ", ..." if len(values) < total else ""
    return Fact(f"{'begins' if suffix else 'all'}: {', '.join(values)}{suffix}", shows=True)


def is_small(length: int, width: int) -> bool:
    """Return whether all rows of a table are shown, before the statistics."""
    return 0 < length <= SMALL_TABLE_ROWS and width <= WIDE_COLUMNS


def small_table_facts(columns: Iterable[Fact], rows: Iterable[Fact]) -> Iterator[Fact]:
    """Yield the types of a small table's columns, then its rows, then the other facts about the columns."""
    facts = list(columns)
    yield from (Fact(fact.schema or "") if fact.shows else fact for fact in facts)
    yield from rows
    yield from (Fact(fact.text, shows=True) for fact in facts if fact.shows)


def omitted_columns(count: int, options: SummaryOptions) -> Iterator[Fact]:
    """Yield a note of how many columns are not described."""
    if count > options.columns:
        yield Fact(f"... {count - options.columns:,} more columns")
