"""Polars: frames, lazy frames, series.

They are told in the kernel's own process, for its threads are missing in a fork and it waits for them. So everything
is bounded: statistics come from a sample, and of texts and lists only the beginning leaves Polars.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import BRIEF, Fact, Family, Look, cut, listed, size
from exploracoder_jupyter.kernel_agent.summaries.tables.columns import (
    LONG,
    MANY,
    SMALL,
    TEXT,
    Told,
    around,
    beginning,
    begun,
    cell,
    is_small,
    label,
    light,
    missing,
    moment,
    more,
    number,
    overview,
    reach,
    rows,
    sampled,
    span,
    spots,
    tops,
    truths,
)


def _frame(frame: Any, look: Look) -> Iterator[Fact]:
    length, width = frame.shape
    places = _places(frame, look)
    note = sampled(len(places), length) if places is not None else ""
    yield Fact(f"{length:,} rows x {width:,} columns, {size(_bytes(frame))}{note}")
    yield from overview([(label(name, look), _kind(dtype)) for name, dtype in frame.schema.items()], look)
    columns = _columns(frame, look, places)
    if is_small(length, width):
        yield from around(columns, _rows(frame, look, length))
        return
    yield from columns
    yield from _rows(frame[: look.rows, : look.columns], look, length)


def _columns(frame: Any, look: Look, places: Any) -> Iterator[Fact]:
    for column in frame.iter_columns() if frame.width <= look.columns else frame[:, : look.columns].iter_columns():
        known = Told() if look.late else _told(column, look, places)
        yield known.fact(label(column.name, look), _kind(column.dtype))
    yield from more(frame.width, look)


def _series(series: Any, look: Look) -> Iterator[Fact]:
    places = _places(series, look)
    note = sampled(len(places), len(series)) if places is not None else ""
    yield Fact(f"{len(series):,} values, {size(_bytes(series))}{note}")
    yield _told(series, look, places).fact(label(series.name, look) if series.name else "values", _kind(series.dtype))
    if len(series):
        most = SMALL if len(series) <= SMALL else 8
        yield begun(_cells(series[:most], look), len(series))


def _brief(series: Any, look: Look) -> str:
    return f"[{', '.join(_cells(series, look))}] of {_kind(series.dtype)}" if 0 < len(series) <= BRIEF else ""


def _lazy(frame: Any, look: Look) -> Iterator[Fact]:
    """Even its columns' names are not asked: that opens files and calls functions."""
    yield Fact("lazy, not collected; collect_schema() tells its columns")


def _expression(expression: Any, look: Look) -> Iterator[Fact]:
    """Its text can hold values that are compared with."""
    yield Fact(cut(str(expression), 4 * look.letters), shows=True, schema="an expression")


def _schema(schema: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{len(schema):,} columns")
    fields = [f"{cut(name, look.letters)} {_kind(dtype)}" for name, dtype in list(schema.items())[: look.columns + 1]]
    yield Fact(listed(fields, look.columns))


def _places(values: Any, look: Look) -> Any:
    """Where the sample is taken, as what Polars gathers by; None: everywhere."""
    each = _bytes(values) / max(len(values), 1)
    places = spots(len(values), light(each, look.sample))
    return None if places is None else sys.modules["polars"].Series(places)


def _bytes(values: Any) -> int:
    """Of Python objects, the references: older versions end in panic when asked for them."""
    columns = values.iter_columns() if hasattr(values, "iter_columns") else [values]
    return sum(8 * len(column) if str(column.dtype) == "Object" else column.estimated_size() for column in columns)


def _kind(dtype: Any) -> str:
    name = str(dtype).replace("time_unit=", "").replace(", time_zone=None", "")
    return f"Enum of {len(dtype.categories):,}" if name.startswith("Enum") else cut(name, 80)


def _told(series: Any, look: Look, places: Any) -> Told:
    counts = missing(series.null_count(), len(series), word="null") if len(series) else ()
    if series.null_count() == len(series) or series.dtype.is_nested() or str(series.dtype) == "Object":
        return Told(counts)
    taken = series if places is None else series.gather(places)
    taken = (taken.str.slice(0, TEXT) if str(series.dtype) == "String" else taken).drop_nulls()
    if not len(taken):
        return Told(counts)
    known = _present(taken, look, exact=places is None)
    return Told((*counts, *known.counts), known.values)


def _present(taken: Any, look: Look, *, exact: bool) -> Told:
    dtype, name = taken.dtype, str(taken.dtype)
    if dtype.is_float():
        return _floats(taken, exact=exact)
    if dtype.is_numeric():
        return Told(values=_range(taken))
    if dtype.is_temporal():
        return Told(values=(span(moment(taken.min()), moment(taken.max())),))
    if name == "Boolean":
        return Told(values=(truths(taken.sum(), len(taken)),))
    if name == "String" or name.startswith(("Categorical", "Enum")):
        texts = taken.cast(sys.modules["polars"].String)
        return Told(values=tops(texts.to_list(), look, exact=exact))
    return Told()


def _floats(taken: Any, *, exact: bool) -> Told:
    counts = missing(int(taken.is_nan().sum()), len(taken), exact=exact, word="NaN")
    endless = missing(int(taken.is_infinite().sum()), len(taken), exact=exact, word="infinite")
    finite = taken.filter(taken.is_finite())
    return Told(counts, (*(_range(finite) if len(finite) else ()), *endless))


def _range(taken: Any) -> tuple[str, ...]:
    extent = reach(taken.min(), taken.max())
    mean = taken.mean()  # older versions have none of decimals
    return (extent,) if extent.startswith("all ") or mean is None else (extent, f"mean {number(float(mean))}")


def _rows(head: Any, look: Look, length: int) -> Iterator[Fact]:
    columns = [_cells(column, look) for column in head.iter_columns()]
    yield from rows([label(name, look) for name in head.columns], zip(*columns, strict=True), of=length)


def _cells(series: Any, look: Look) -> list[str]:
    return [_cell(series[place : place + 1], look) for place in range(len(series))]


def _cell(one: Any, look: Look) -> str:
    """A value; of what is long, the beginning or only how long it is."""
    name = str(one.dtype)
    if one.null_count():
        return "null"
    if name == "String":
        return beginning(one.str.slice(0, TEXT).item(), look)
    if (name == "Binary" or one.dtype.is_nested()) and one.estimated_size() >= LONG:
        return _length(one, look)
    value = one.to_list()[0]
    if name == "Float32":
        return f"{value:.8g}"
    if one.dtype.is_nested():
        return look.short(value)
    return f"{len(value):,} bytes" if name == "Binary" else cell(value, look)


def _length(one: Any, look: Look) -> str:
    name = str(one.dtype)
    if name.startswith("List"):
        return f"[{one.list.len().item():,} items]"
    return f"about {size(one.estimated_size())}" if name == "Binary" else cut(name, look.letters)


def _frame_measure(frame: Any) -> str:
    shape = f"{frame.height} rows x {frame.width} columns"
    if frame.width > MANY:
        return shape
    types = ", ".join(sorted({_kind(dtype) for dtype in frame.dtypes}))
    return f"{shape} of {types} #{hash(tuple(frame.columns)) & 0xFFFFFFFF:08x}"


def _series_measure(series: Any) -> str:
    return f"{len(series)} values of {_kind(series.dtype)}"


FAMILY = Family(
    {
        "polars.DataFrame": _frame,
        "polars.Series": _series,
        "polars.LazyFrame": _lazy,
        "polars.Expr": _expression,
        "polars.Schema": _schema,
    },
    {"polars.DataFrame": _frame_measure, "polars.Series": _series_measure},
    here=True,
    briefs={"polars.Series": _brief},
)
