"""Formats columns, their values and first rows for any table library."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, SummaryOptions, format_list, truncate

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

_MAX_SAMPLE_BYTES = 10_000_000
"""Maximum bytes of a sample: taking one may copy it, so fewer of long values are taken."""

ORDERED_TYPES = frozenset({int, float, Decimal, date, time, timedelta})

_GOLDEN = 0.6180339887498949
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


def missing_note(count: int, total: int, *, exact: bool = True, word: str = "missing") -> tuple[str, ...]:
    """Format the number of missing values, or their approximate share where only a sample was counted."""
    if not count:
        return ()
    if count == total:
        return (f"all {word}" if exact else f"all {word} in the sample",)
    return (f"{count:,} {word} ({percentage(count, total)})" if exact else f"about {percentage(count, total)} {word}",)


def percentage(part: int, total: int) -> str:
    """Format a share in percent: `1.2 %`, `60 %`."""
    percent = 100 * part / total
    if part < total and percent > 99:
        return "over 99 %"
    if 0 < percent < 0.01:
        return "under 0.01 %"
    return f"{percent:.2g} %" if part < total else "100 %"


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


def true_share(true: int, total: int) -> str:
    """Format the share of true values."""
    return f"{percentage(true, total)} True"


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
