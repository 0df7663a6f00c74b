"""Formats columns, their values and first rows for any table library."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.facts import (
    Fact,
    SummaryOptions,
    format_exact,
    format_list,
    format_number_range,
    format_range,
    format_statistic,
    missing_note,
    percentage,
    truncate,
)

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
        return (f"all {text_prefix(next(iter(counts)), options)}",)
    if len(counts) == len(texts):
        return (f"all distinct, as {', '.join(text_prefix(text, options) for text in list(counts)[:3])}",)
    return (f"{at_least}{len(counts):,} distinct {most_frequent(counts, len(texts), options, exact=exact)}",)


def most_frequent(counts: Counter[Any], total: int, options: SummaryOptions, *, exact: bool = True) -> str:
    """Format the three most frequent values with their counts, or their shares if only a sample was counted."""
    descriptions = [
        f"{text_prefix(text, options)} {f'{times:,}' if exact else percentage(times, total)}"
        for text, times in counts.most_common(3)
    ]
    return f"({', '.join(descriptions)})"


def text_prefix(text: Any, options: SummaryOptions) -> str:
    """Format a text that may itself be only the beginning of a longer one, or another value, for one cell."""
    if type(text) is not str:
        return format_cell(text, options)
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


def describe_values(
    values: Sequence[Any], options: SummaryOptions, *, exact: bool = True, deviation: bool = False
) -> ColumnFacts:
    """Describe Python values of one built-in type; counts in a sample (`exact` false) are given as shares."""
    kind: Any = type(values[0]) if values else None
    if kind is bool:
        return ColumnFacts(values=(f"{percentage(values.count(True), len(values))} True",))
    if kind in (int, float, Decimal):
        return _describe_numbers(values, exact, deviation)
    if kind is complex:
        magnitudes = [abs(value) for value in values]
        return ColumnFacts(values=(f"magnitude {format_number_range(min(magnitudes), max(magnitudes))}",))
    if kind in (str, bytes):
        return ColumnFacts(values=describe_texts(values, options, exact=exact))
    if kind in (date, datetime, time, timedelta):
        return ColumnFacts(values=(format_range(format_timestamp(min(values)), format_timestamp(max(values))),))
    return ColumnFacts()


def _describe_numbers(values: Sequence[Any], exact: bool, deviation: bool) -> ColumnFacts:
    finite = values
    if type(values[0]) is not int and not math.isfinite(sum(values)):
        finite = [value for value in values if math.isfinite(value)]
    nan_count = sum(value != value for value in values) if len(finite) < len(values) else 0
    facts = []
    if finite:
        facts.append(format_number_range(min(finite), max(finite)))
        if not facts[0].startswith("all "):
            mean = float(sum(finite) / len(finite))
            facts.append(f"mean {format_statistic(mean)}")
            if deviation:
                variance = sum((value - mean) * (value - mean) for value in finite) / len(finite)
                facts.append(f"std {format_statistic(math.sqrt(variance))}")
            zeros = finite.count(0)
            if len(values) > 24 and zeros > len(values) / 2:
                facts.append(f"{percentage(zeros, len(values))} zeros")
    infinite = missing_note(len(values) - len(finite) - nan_count, len(values), exact=exact, word="infinite")
    return ColumnFacts(missing_note(nan_count, len(values), exact=exact, word="NaN"), (*facts, *infinite))


def describe_objects(values: Sequence[Any], options: SummaryOptions, *, exact: bool = True) -> ColumnFacts:
    """Describe Python objects: their types, and the values if they are of a type that is safe to compare."""
    (kind, _), *other_types = types = Counter(type(value) for value in values).most_common()
    if other_types:
        names = [f"{_name(kind)} {f'{n:,}' if exact else percentage(n, len(values))}" for kind, n in types]
        return ColumnFacts((f"of {format_list(names, 5)}",))
    is_huge = kind is int and max(map(abs, values)) >> 64
    if is_huge or kind is datetime:  # times with and without a zone cannot be compared
        return ColumnFacts((f"each of {_name(kind)}",))
    facts = describe_values(values, options, exact=exact)
    note = "texts" if kind is str else "bytes" if kind is bytes else f"each of {_name(kind)}"
    return ColumnFacts((note, *facts.counts), facts.values)


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
    if hasattr(plain, "__len__"):
        return options.short(plain)
    return truncate(format_timestamp(plain), options.cell_width)


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
    if len(columns) <= options.columns:
        return
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


def first_values(format_first: Callable[[int], Sequence[str]], total: int) -> Iterator[Fact]:
    """Yield the first of `total` values, or all of them, on one line."""
    if total:
        values = format_first(SMALL_TABLE_ROWS if total <= SMALL_TABLE_ROWS else 8)
        suffix = ", ..." if len(values) < total else ""
        yield Fact(f"{'begins' if suffix else 'all'}: {', '.join(values)}{suffix}", shows=True)


def body_facts(
    shape: tuple[int, int], columns: Iterable[Fact], rows: Callable[[int], Iterable[Fact]], options: SummaryOptions
) -> Iterator[Fact]:
    """Yield the facts about the columns of a table, and its first rows.

    A small table has the types of its columns, all its rows, and then the facts about the columns.
    """
    if not (0 < shape[0] <= SMALL_TABLE_ROWS and shape[1] <= WIDE_COLUMNS):
        yield from columns
        yield from omitted_note(shape[1], "columns", options)
        yield from rows(options.rows)
        return
    facts = list(columns)
    yield from (Fact(fact.schema or "") if fact.shows else fact for fact in facts)
    yield from rows(shape[0])
    yield from (Fact(fact.text, shows=True) for fact in facts if fact.shows)


def omitted_note(count: int, noun: str, options: SummaryOptions) -> Iterator[Fact]:
    """Yield a note of how many columns, or parts of another kind, are not described."""
    if count > options.columns:
        yield Fact(f"... {count - options.columns:,} more {noun}")


def attribute_facts(attributes: Mapping[Any, Any], options: SummaryOptions) -> Iterator[Fact]:
    """Yield the attributes that a user has given to a table or array."""
    if attributes:
        names = [format_label(name, options) for name in attributes]
        items = list(attributes.items())[:10]
        shown = [f"{format_label(name, options)}={format_cell(value, options)}" for name, value in items]
        yield Fact(f"attrs: {format_list(shown, 5)}", shows=True, schema=f"attrs: {format_list(names, 5)}")
