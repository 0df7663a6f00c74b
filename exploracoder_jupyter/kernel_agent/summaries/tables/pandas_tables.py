"""pandas: frames, series, indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.value_spread import HASHED, fingerprint, sample_places
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import BRIEF, Fact, Family, Look, listed, size
from exploracoder_jupyter.kernel_agent.summaries.tables.columns import (
    MANY,
    SMALL,
    Told,
    around,
    begun,
    cell,
    is_small,
    label,
    more,
    overview,
    rows,
)
from exploracoder_jupyter.kernel_agent.summaries.tables.pandas_columns import (
    dtype_name,
    index_lines,
    is_plain,
    kind,
    labels_line,
    line,
    sample_note,
    told,
)

COMPARED = 20
"""Columns whose values are looked at to see whether they were changed."""


def _frame(frame: Any, look: Look) -> Iterator[Fact]:
    length, width = frame.shape
    places = sample_places(length, look.sample)
    yield Fact(f"{length:,} rows x {width:,} columns{_memory(frame)}{sample_note(places, length)}")
    yield from labels_line(frame.columns, look)
    yield from overview(list(_types(frame, look)), look)
    yield from index_lines(frame.index, look, places)
    columns = _columns(frame, look, places)
    if is_small(length, width):
        yield from around(columns, _rows(frame, look, length))
    else:
        yield from columns
        yield from _rows(frame, look, look.rows)
    yield from _attributes(frame, look)


def _memory(values: Any) -> str:
    if getattr(values, "ndim", 1) == 1:
        return f", {size(values.memory_usage(deep=False))}"
    if values.shape[1] < MANY:
        return f", {size(int(values.memory_usage(deep=False).sum()))}"
    row = sum(getattr(dtype, "itemsize", 8) for dtype in values.dtypes.array)
    return f", about {size(row * len(values))}"


def _types(frame: Any, look: Look) -> Iterator[tuple[str, str]]:
    for name, dtype in zip(frame.columns, frame.dtypes.array, strict=True):
        yield label(name, look), kind(dtype)


def _columns(frame: Any, look: Look, places: Any) -> Iterator[Fact]:
    for place in range(min(frame.shape[1], look.columns)):
        column, name = frame.iloc[:, place], label(frame.columns[place], look)
        if look.late or not len(column):
            yield Fact(f"{name}: {kind(column.dtype)}")
        else:
            yield line(name, column, look, places)
    yield from more(frame.shape[1], look)


def _rows(frame: Any, look: Look, most: int) -> Iterator[Fact]:
    head = frame.iloc[:most, : look.columns]
    index = [] if is_plain(frame.index) else [head.index]
    columns = [head.iloc[:, place] for place in range(head.shape[1])]
    names = [*["index" for _ in index], *(label(name, look) for name in head.columns)]
    arrays = [*index, *(column.array for column in columns)]
    lines = ((label(array[row], look) for array in arrays) for row in range(len(head)))
    yield from rows(names, lines, of=len(frame))


def _attributes(values: Any, look: Look) -> Iterator[Fact]:
    if values.attrs:
        names = [label(name, look) for name in values.attrs]
        shown = [f"{name}={cell(value, look)}" for name, value in list(values.attrs.items())[:10]]
        yield Fact(f"attrs: {listed(shown, 5)}", shows=True, schema=f"attrs: {listed(names, 5)}")


def _series(series: Any, look: Look) -> Iterator[Fact]:
    places = sample_places(len(series), look.sample)
    yield Fact(f"{len(series):,} values{_memory(series)}{sample_note(places, len(series))}")
    name = "unnamed" if series.name is None else label(series.name, look)
    yield _named(name, series, look, places)
    yield from index_lines(series.index, look, places)
    if is_plain(series.index):
        yield _beginning(series.array, look)
    else:
        most = SMALL if is_small(len(series), 1) else look.rows
        yield from rows(["index", name], _pairs(series.iloc[:most], look), of=len(series))
    yield from _attributes(series, look)


def _named(name: str, series: Any, look: Look, places: Any) -> Fact:
    """The values by the name of the series, which is left out of the schema: of a row of a frame it is its label."""
    known = told(series, look, places) if len(series) else Told()
    of = kind(series.dtype)
    return Fact(known.fact(name, of).text, shows=True, schema=Told(known.counts).fact("values", of).text)


def _pairs(series: Any, look: Look) -> Iterator[list[str]]:
    for place in range(len(series)):
        yield [label(series.index[place], look), cell(series.array[place], look)]


def _brief(values: Any, look: Look) -> str:
    """Of a series or an index."""
    if not 0 < len(values) <= BRIEF:
        return ""
    index = getattr(values, "index", None)
    if index is None or is_plain(index):
        held = values if hasattr(values, "levels") else values.array
        return f"[{', '.join(label(value, look) for value in held)}] of {kind(values.dtype)}"
    return f"{{{', '.join(map(': '.join, _pairs(values, look)))}}} of {kind(values.dtype)}"


def _index(index: Any, look: Look) -> Iterator[Fact]:
    places = sample_places(len(index), look.sample)
    yield Fact(f"{len(index):,} labels{_memory(index)}{sample_note(places, len(index))}")
    if is_plain(index):
        yield Fact(f"index: RangeIndex of {index.dtype} from 0")
    yield from index_lines(index, look, places)
    yield _beginning(index, look)


def _array(array: Any, look: Look) -> Iterator[Fact]:
    places = sample_places(len(array), look.sample)
    yield Fact(f"{len(array):,} values, {size(array.nbytes)}{sample_note(places, len(array))}")
    yield line("values", array, look, places) if len(array) else Fact(kind(array.dtype))
    yield _beginning(array, look)


def _beginning(values: Any, look: Look) -> Fact:
    most = SMALL if len(values) <= SMALL else 8
    return begun([label(value, look) for value in values[:most]], len(values))


def _scalar(value: Any, look: Look) -> Iterator[Fact]:
    zone = f", zone {value.tzinfo}" if getattr(value, "tzinfo", None) else ""
    freq = f", freq {value.freqstr}" if hasattr(value, "freqstr") else ""
    yield Fact(f"{value}{zone}{freq}", shows=True, schema=f"scalar{zone}{freq}")


def _interval(value: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{cell(value.left, look)} to {cell(value.right, look)}, closed {value.closed}", True, "scalar")


def _missing(value: Any, look: Look) -> Iterator[Fact]:
    yield Fact("a missing value")


def _grouped(grouped: Any, look: Look) -> Iterator[Fact]:
    """The groups are not made for it; they are counted if they are there."""
    over = " x ".join(
        f"{length:,} {what}" for length, what in zip(grouped.obj.shape, ("rows", "columns"), strict=False)
    )
    yield Fact(f"groups of {over}{_known_groups(grouped)}")
    keys = grouped.keys if isinstance(grouped.keys, list) else [grouped.keys]
    if grouped.keys is not None:
        yield Fact(f"by {listed([_key(key, look) for key in keys], 10)}")
    if grouped.level is not None:
        yield Fact(f"by level {label(grouped.level, look)}")


def _key(key: Any, look: Look) -> str:
    return key if type(key) is str else type(key).__name__


def _known_groups(grouped: Any) -> str:
    known = getattr(getattr(grouped, "_grouper", None), "_cache", None) or {}
    return f", {known['ngroups']:,} groups" if "ngroups" in known else ""


def _styler(styler: Any, look: Look) -> Iterator[Fact]:
    yield Fact("a styled frame")
    yield from _frame(styler.data, look)


def _frame_measure(frame: Any) -> str:
    length, width = frame.shape
    shape = f"{length} rows x {width} columns"
    if width > MANY:
        return shape
    names = [name if type(name) is str else type(name).__name__ for name in frame.columns]
    types = ", ".join(sorted({*map(dtype_name, frame.dtypes.array)}))
    return f"{shape} of {types} #{hash((*names, *_contents(frame))) & 0xFFFFFFFF:08x}"


def _contents(frame: Any) -> Iterator[str]:
    """Of small frames: pandas' own manager is asked, for each column through its surface takes longer than all."""
    columns = range(frame.shape[1])
    if len(columns) <= COMPARED and len(frame) * len(columns) * 8 <= HASHED:
        for place in columns:
            yield _content(frame._mgr.iget_values(place))


def _content(values: Any) -> str:
    array = getattr(values, "_ndarray", values)
    return fingerprint(array) if type(array).__name__ == "ndarray" else ""


def _series_measure(series: Any) -> str:
    return f"{_length_measure(series)}{_content(series._values)}"


def _length_measure(values: Any) -> str:
    return f"{len(values)} values of {dtype_name(values.dtype)}"


def _sure(value: Any) -> bool:
    """Frames and series of plain columns, and few enough of them to look at each."""
    name = type(value).__name__
    if name == "DataFrame" and len(value.columns) <= HASHED:
        dtypes = [*value.dtypes, value.columns.dtype]
    elif name == "Series" and (value.name is None or type(value.name) is str):
        dtypes = [value.dtype]
    else:
        return False
    return not value.attrs and all(map(_holds_no_objects, [*dtypes, value.index.dtype]))


def _holds_no_objects(dtype: Any) -> bool:
    """Whether it is one of NumPy's or pandas' own, and the values are no objects of any class."""
    if type(dtype).__name__ == "CategoricalDtype":
        return dtype.categories is not None and _holds_no_objects(dtype.categories.dtype)
    module = type(dtype).__module__.partition(".")[0]
    return module in ("numpy", "pandas") and not getattr(dtype, "hasobject", False)


FAMILY = Family(
    {
        "pandas.DataFrame": _frame,
        "pandas.Series": _series,
        "pandas.Index": _index,
        "pandas.ExtensionArray": _array,
        "pandas.Timestamp": _scalar,
        "pandas.Timedelta": _scalar,
        "pandas.Period": _scalar,
        "pandas.Interval": _interval,
        "pandas.NaTType": _missing,
        "pandas.NAType": _missing,
        "pandas.GroupBy": _grouped,
        "pandas.Styler": _styler,
    },
    {
        "pandas.DataFrame": _frame_measure,
        "pandas.Series": _series_measure,
        "pandas.Index": _length_measure,
        "pandas.ExtensionArray": _length_measure,
    },
    sure=_sure,
    briefs={"pandas.Series": _brief, "pandas.Index": _brief},
)
