"""How columns, their values and first rows are told, whatever library holds them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Look, cut, listed

WIDE = 12
"""From so many columns on, their names come before what is known of each."""
LINE = 240
"""Characters of one row of a sample."""
TEXT = 100
"""Characters by which long texts are told apart."""
CROWDED = 300
"""Characters of rows from which on numbers have fewer digits, so that more rows are shown."""
SMALL = 10
"""Up to so many rows all are shown, and before statistics."""
MANY = 1_000
"""From so many columns on, they are not looked at one by one to see whether they were changed."""
LONG = 4_000
"""Bytes of a value within a value from which on only its length is told."""

_HEAVY = 10_000_000
"""Bytes of a sample: taking it may copy it, so of long values fewer are taken."""

ORDERED = frozenset({int, float, Decimal, date, time, timedelta})

_GOLDEN = 0.6180339887498949
_MOMENT = re.compile(r"(\d{4,}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?([+-]\d\d:\d\d)?")
_NO_TEXTS = frozenset({"", "none", "null", "nat", "na", "n/a", "<na>", "true", "false"})
_name = type.__dict__["__name__"].__get__


class Told(NamedTuple):
    """What is known of the values of a column."""

    counts: tuple[str, ...] = ()
    """Of missing values, of types: no data."""
    values: tuple[str, ...] = ()
    """What shows data. What is in brackets stands right beside the column's type."""

    def fact(self, name: str, kind: str, note: str = "") -> Fact:
        """A line on the column of that name and type; without values where only the schema is shared."""
        beside = tuple(value for value in self.values if value.startswith("("))
        others = tuple(value for value in self.values if not value.startswith("("))
        schema = f"{name}: {', '.join((kind, *self.counts)) if kind else ', '.join(self.counts)}"
        text = ", ".join(filter(None, (" ".join((kind, *beside)), *self.counts, *others)))
        if not self.values:
            return Fact(schema + note)
        return Fact(f"{name}: {text}{note}", shows=True, schema=schema + note if kind or self.counts else None)


def spots(count: int, most: int) -> list[int] | None:
    """Places of a sample, evenly spread but without a period that could be the data's own; None: take all."""
    if count <= most:
        return None
    return [int((place + place * _GOLDEN % 1) * count / most) for place in range(most)]


def light(each: float, most: float = float("inf")) -> int:
    """How many values of so many bytes each a sample has: `most`, or fewer where they are heavy."""
    return max(int(min(most, _HEAVY / max(each, 1))), 1)


def sampled(taken: int, count: int) -> str:
    """Says how much was looked at, where that was not all."""
    return f"; sampled {taken:,} of {count:,}" if taken < count else ""


def missing(count: int, total: int, *, exact: bool = True, word: str = "missing") -> tuple[str, ...]:
    """How many of the values are missing, or about which share where only a sample was counted."""
    if not count:
        return ()
    if count == total:
        return (f"all {word}" if exact else f"all {word} in the sample",)
    return (f"{count:,} {word} ({share(count, total)})" if exact else f"about {share(count, total)} {word}",)


def share(part: int, whole: int) -> str:
    """A part in percent: `1.2 %`, `60 %`."""
    percent = 100 * part / whole
    if part < whole and percent > 99:
        return "over 99 %"
    if 0 < percent < 0.01:
        return "under 0.01 %"
    return f"{percent:.2g} %" if part < whole else "100 %"


def number(value: Any) -> str:
    """A statistic with as many digits as tell something."""
    if isinstance(value, float) and 1e6 <= abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.6g}" if isinstance(value, float | complex) else str(value)


def exactly(value: float | complex) -> str:
    """A number that is itself in the data: two that differ are rarely told alike."""
    return f"{value:.15g}" if isinstance(value, float) and 1e11 <= abs(value) < 1e15 else f"{value:.12g}"


def reach(low: Any, high: Any) -> str:
    """From where to where numbers reach, in more digits if they are told alike otherwise."""
    ends = number(low), number(high)
    return span(str(low), str(high)) if ends[0] == ends[1] and low != high else span(*ends)


def span(low: str, high: str) -> str:
    """From where to where values reach."""
    return f"all {low}" if low == high else f"{low} to {high}"


def moment(value: Any) -> str:
    """A point in time without the zeros at its end, and without the zone, which the type tells."""
    text = str(value)
    found = _MOMENT.fullmatch(text)
    if not found:
        return text
    day, minutes, seconds, fraction = found.group(1), found.group(2), found.group(3) or "", found.group(4) or ""
    fraction = fraction.rstrip("0").rstrip(".")
    if fraction or seconds not in ("", ":00"):
        return f"{day} {minutes}{seconds}{fraction}"
    return day if minutes == "00:00" else f"{day} {minutes}"


def tops(texts: Sequence[Any], look: Look, *, exact: bool = True) -> tuple[str, ...]:
    """How many of the texts differ, and which are the most frequent ones."""
    counted = Counter(text[:TEXT] for text in texts)
    least = "" if exact else "at least "
    if len(counted) == 1:
        return (f"all {_begin(next(iter(counted)), look)}",)
    if len(counted) == len(texts):
        return (f"all distinct, as {', '.join(_begin(text, look) for text in list(counted)[:3])}",)
    return (f"{least}{len(counted):,} distinct {frequent(counted, len(texts), look, exact=exact)}",)


def frequent(counted: Counter[Any], total: int, look: Look, *, exact: bool = True) -> str:
    """The three most frequent of the texts in brackets: how often, or which share where a sample was counted."""
    often = [
        f"{_begin(text, look)} {f'{times:,}' if exact else share(times, total)}"
        for text, times in counted.most_common(3)
    ]
    return f"({', '.join(often)})"


def _begin(text: Any, look: Look) -> str:
    return beginning(text, look) if type(text) is str else cell(text, look)


def beginning(text: str, look: Look) -> str:
    """A text that may itself be only the beginning of a longer one, in one cell."""
    if len(text) <= look.letters:
        return worded(text)
    line = " ".join(text.split())
    return line if len(line) <= look.letters and len(text) < TEXT else f"{line[: look.letters]}..."


def worded(text: str) -> str:
    """A short text as it is, or in quotes where it would be taken for another one or for no text at all."""
    plain = text == " ".join(text.split()) and "|" not in text and text.lower() not in _NO_TEXTS
    return text if plain and not _is_number(text) else repr(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def objects(values: Sequence[Any], look: Look, *, exact: bool = True) -> Told:
    """What is known of Python objects: their types, and the values of a type that is safe to compare."""
    kinds = Counter(type(value) for value in values)
    (kind, _), *others = kinds.most_common()
    if others:
        names = [f"{_name(kind)} {f'{n:,}' if exact else share(n, len(values))}" for kind, n in kinds.most_common()]
        return Told((f"of {listed(names, 5)}",))
    if kind in (str, bytes):
        return Told(("texts" if kind is str else "bytes",), tops(values, look, exact=exact))
    of = (f"each of {_name(kind)}",)
    return Told(of, (span(cell(min(values), look), cell(max(values), look)),)) if kind in ORDERED else Told(of)


def truths(true: int, total: int) -> str:
    """Which share is true."""
    return f"{share(true, total)} True"


def cell(value: Any, look: Look) -> str:
    """A value of a table in one cell of a row."""
    kind = type(value)
    if kind is str:
        return worded(value) if len(value) <= look.letters else cut(value, look.letters)
    if value is None or kind is bool or (kind is int and abs(value) < 1 << 64):
        return str(value)
    if kind in (float, complex):
        return exactly(value)
    if kind.__module__.partition(".")[0] in ("datetime", "decimal", "numpy", "pandas"):
        return _known(value, look)
    return look.short(value)


def _known(value: Any, look: Look) -> str:
    if type(value).__name__ in ("float16", "float32"):
        return exactly(float(str(value)))
    plain = value.item() if hasattr(value, "item") and "time" not in type(value).__name__ else value
    if type(plain) in (str, bool, int, float, complex):
        return cell(plain, look)
    return cut(moment(plain), look.letters) if not hasattr(plain, "__len__") else look.short(plain)


def label(name: Any, look: Look) -> str:
    """What names a column or a row: a text as it is, of several levels each."""
    if type(name) is tuple:
        return f"({', '.join(label(part, look) for part in name[:5])})"
    return cell(name, look)


def rows(names: Iterable[str], lines: Iterable[Iterable[str]], *, of: int) -> Iterator[Fact]:
    """The first of so many rows, or all, as compact text."""
    cells = [list(line) for line in lines]
    if sum(len(" | ".join(line)) for line in cells) > CROWDED:
        cells = [*map(list, zip(*map(_rounded, zip(*cells, strict=True)), strict=True))]
    told = [" | ".join(line) for line in cells]
    if told:
        yield Fact("all rows:" if len(told) == of else "first rows:", shows=True)
        for line in (" | ".join(names), *told):
            yield Fact(f"  {cut(line, LINE)}", shows=True)


def overview(columns: Sequence[tuple[str, str]], look: Look) -> Iterator[Fact]:
    """The names of many columns before what is known of each, by their types where not all are told."""
    if WIDE < len(columns) <= look.columns:
        yield Fact(f"columns: {', '.join(name for name, _ in columns)}")
    elif len(columns) > look.columns:
        yield from _groups(columns, look)


def _groups(columns: Sequence[tuple[str, str]], look: Look) -> Iterator[Fact]:
    grouped: dict[str, list[str]] = {}
    for name, kind in columns:
        grouped.setdefault(kind, []).append(name)
    for kind, names in sorted(grouped.items(), key=lambda group: -len(group[1]))[: look.columns]:
        yield Fact(f"{len(names):,} of {kind}: {listed(names, look.columns)}")


def _rounded(column: Sequence[str]) -> Sequence[str]:
    """The cells of a column with fewer digits, unless some that differ would be told alike."""
    fewer = [number(float(one)) if len(one) > 8 and "." in one and _is_number(one) else one for one in column]
    return fewer if len({*fewer}) == len({*column}) else column


def begun(first: Sequence[str], of: int) -> Fact:
    """The first of so many values, or all, on a line."""
    more = ", ..." if len(first) < of else ""
    return Fact(f"{'begins' if more else 'all'}: {', '.join(first)}{more}", shows=True)


def is_small(length: int, width: int) -> bool:
    """Whether all rows of a table are shown, before statistics."""
    return 0 < length <= SMALL and width <= WIDE


def around(columns: Iterable[Fact], shown: Iterable[Fact]) -> Iterator[Fact]:
    """Rows of a small table after the types of its columns, and what else is known of the columns after them."""
    known = list(columns)
    yield from (Fact(fact.schema or "") if fact.shows else fact for fact in known)
    yield from shown
    yield from (Fact(fact.text, shows=True) for fact in known if fact.shows)


def more(count: int, look: Look) -> Iterator[Fact]:
    """Says how many columns are not told."""
    if count > look.columns:
        yield Fact(f"... {count - look.columns:,} more columns")
