"""pandas: data frames, series, indexes and their columns."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import (
    MAX_HASHED_BYTES,
    describe_elements,
    fingerprint,
    sample_indices,
)
from exploracoder_jupyter.kernel_agent.summaries.columns import (
    MAX_COMPARED_COLUMNS,
    SMALL_TABLE_ROWS,
    ColumnFacts,
    attribute_facts,
    body_facts,
    column_overview,
    describe_objects,
    describe_texts,
    first_values,
    format_cell,
    format_label,
    format_timestamp,
    most_frequent,
    row_facts,
)
from exploracoder_jupyter.kernel_agent.summaries.facts import (
    BRIEF_LIMIT,
    Fact,
    SummaryOptions,
    TypeFamily,
    format_list,
    format_range,
    format_size,
    missing_note,
    percentage,
    sample_note,
    sample_size,
)

# Describes pandas columns, row indexes, and what is unusual about column labels.


def format_dtype(dtype: Any) -> str:
    """Format a dtype for people."""
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return dtype_name(dtype)
    return f"{'ordered ' if dtype.ordered else ''}category of {len(categories):,}"


def dtype_name(dtype: Any) -> str:
    """Format a dtype as pandas does, without the fill value of sparse dtypes, which is data."""
    return f"Sparse[{dtype.subtype}]" if type(dtype).__name__ == "SparseDtype" else str(dtype)


def positions_note(positions: Any, count: int) -> str:
    """Return a note of how many of the values are sampled, or an empty string if all are."""
    return "" if positions is None else sample_note(len(positions), count)


def describe_values(values: Any, options: SummaryOptions, positions: Any) -> ColumnFacts:
    """Describe the values at these positions, or all of them if `positions` is None."""
    if options.out_of_time or not len(values):
        return ColumnFacts()
    array = getattr(values, "array", values)
    limit = sample_size(array.nbytes / len(array))
    if len(array if positions is None else positions) > limit:
        positions = sample_indices(len(array), limit)
    exact = positions is None
    series = sys.modules["pandas"].Series(array if exact else array.take(positions), dtype=values.dtype)
    is_missing = series.isna().to_numpy(dtype=bool)
    counts = missing_note(int(is_missing.sum()), len(series), exact=exact)
    if type(values.dtype).__name__ == "SparseDtype":
        counts = (*counts, f"{percentage(int(array.npoints), len(array))} stored")
    if is_missing.all():
        return ColumnFacts(counts)
    facts = _describe_present(series[~is_missing] if is_missing.any() else series, options, exact)
    return ColumnFacts((*facts.counts, *counts), facts.values)


def _describe_present(series: Any, options: SummaryOptions, exact: bool) -> ColumnFacts:
    dtype, name = series.dtype, type(series.dtype).__name__
    if name == "CategoricalDtype":
        codes = Counter(series.array.codes.tolist()).most_common(3)
        names = Counter({format_cell(series.array.categories[code], options): count for code, count in codes})
        return ColumnFacts(values=(most_frequent(names, len(series), options, exact=exact),))
    if name == "IntervalDtype":
        ends = (series.array.left.min(), series.array.right.max())
        return ColumnFacts(values=(format_range(*(format_cell(end, options) for end in ends)),))
    dtype_kind = getattr(dtype, "kind", "O")
    if dtype_kind in "iufcb":
        values = series.to_numpy(dtype=getattr(dtype, "numpy_dtype", None))
        return describe_elements(values, options, exact=exact, deviation=False)
    if dtype_kind in "mM" or name == "PeriodDtype":
        return ColumnFacts(values=(format_range(format_timestamp(series.min()), format_timestamp(series.max())),))
    if name == "StringDtype" or "string" in str(dtype).partition("[")[0]:
        return ColumnFacts(values=describe_texts(series.tolist(), options, exact=exact))
    return describe_objects(series.tolist(), options, exact=exact)


def index_facts(index: Any, options: SummaryOptions, positions: Any) -> Iterator[Fact]:
    """Describe the row index, unless it only numbers the rows."""
    if is_default_index(index):
        return
    if hasattr(index, "levels"):
        yield Fact(f"index: MultiIndex of {len(index.levels)} levels")
        for level in index.levels[: options.columns]:
            facts = describe_values(level, options, sample_indices(len(level), options.sample))
            name = "unnamed" if level.name is None else format_label(level.name, options)
            yield facts.fact(f"level {name}", f"{dtype_name(level.dtype)}, {len(level):,} labels")
        return
    kind = type(index).__name__
    name = "" if index.name is None else f" {format_label(index.name, options)!r}"
    if kind == "RangeIndex":
        details = f" by {index.step}" if index.step != 1 else ""
    else:
        details = f", {format_dtype(index.dtype)}" if kind == "CategoricalIndex" else f" of {dtype_name(index.dtype)}"
        details += f", freq {index.freqstr}" if getattr(index, "freqstr", None) else ""
        # A new series, since the index itself would cache a hash table.
        if positions is None and sys.modules["pandas"].Series(index.array).duplicated().any():
            details += ", with duplicates"
    yield describe_values(index, options, positions).fact("index", f"{kind}{name}{details}")


def is_default_index(index: Any) -> bool:
    """Return whether the index only counts the rows from 0."""
    return type(index).__name__ == "RangeIndex" and (index.name, index.start, index.step) == (None, 0, 1)


def column_label_facts(columns: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe what is unusual about the column labels."""
    if hasattr(columns, "levels"):
        names = ["unnamed" if name is None else format_label(name, options) for name in columns.names]
        yield Fact(f"columns of {len(names)} levels: {format_list(names, options.columns)}")
    elif columns.name is not None:
        yield Fact(f"columns are named {format_label(columns.name, options)!r}")
    duplicates = [format_label(name, options) for name, count in Counter(columns).items() if count > 1]
    if duplicates:
        yield Fact(f"names that occur more than once: {format_list(duplicates, 5)}")


# pandas data frames, series and indexes.

MAX_HASHED_COLUMNS = 20
"""Maximum columns for which values are hashed to detect changes."""


def _describe_frame(frame: Any, options: SummaryOptions) -> Iterator[Fact]:
    length, width = frame.shape
    positions = sample_indices(length, options.sample)
    yield Fact(f"{length:,} rows x {width:,} columns{_memory(frame)}{positions_note(positions, length)}")
    yield from column_label_facts(frame.columns, options)
    names = [format_label(name, options) for name in frame.columns]
    types = [format_dtype(dtype) for dtype in frame.dtypes.array]
    yield from column_overview(list(zip(names, types, strict=True)), options)
    yield from index_facts(frame.index, options, positions)

    def rows(limit: int) -> Iterator[Fact]:
        head = frame.iloc[:limit, : options.columns]
        index = [] if is_default_index(frame.index) else [head.index]
        arrays = [*index, *(head.iloc[:, position].array for position in range(head.shape[1]))]
        lines = ((format_label(array[row], options) for array in arrays) for row in range(len(head)))
        yield from row_facts(["index"] * len(index) + names[: options.columns], lines, total=length)

    columns = (
        describe_values(frame.iloc[:, position], options, positions).fact(names[position], types[position])
        for position in range(min(width, options.columns))
    )
    yield from body_facts((length, width), columns, rows, options)
    yield from attribute_facts(frame.attrs, options)


def _memory(values: Any) -> str:
    if getattr(values, "ndim", 1) == 1:
        return f", {format_size(values.memory_usage(deep=False))}"
    if values.shape[1] < MAX_COMPARED_COLUMNS:
        return f", {format_size(int(values.memory_usage(deep=False).sum()))}"
    row = sum(getattr(dtype, "itemsize", 8) for dtype in values.dtypes.array)
    return f", about {format_size(row * len(values))}"


def _describe_series(series: Any, options: SummaryOptions) -> Iterator[Fact]:
    positions = sample_indices(len(series), options.sample)
    yield Fact(f"{len(series):,} values{_memory(series)}{positions_note(positions, len(series))}")
    name = "unnamed" if series.name is None else format_label(series.name, options)
    facts, dtype = describe_values(series, options, positions), format_dtype(series.dtype)
    # The schema omits the name, because for a row of a frame it is the row's label, which is data.
    schema = ColumnFacts(facts.counts).fact("values", dtype).text
    yield Fact(facts.fact(name, dtype).text, shows=True, schema=schema)
    yield from index_facts(series.index, options, positions)
    if is_default_index(series.index):
        yield from _first_values(series.array, options)
    else:
        limit = SMALL_TABLE_ROWS if len(series) <= SMALL_TABLE_ROWS else options.rows
        yield from row_facts(["index", name], _format_pairs(series.iloc[:limit], options), total=len(series))
    yield from attribute_facts(series.attrs, options)


def _format_pairs(series: Any, options: SummaryOptions) -> Iterator[list[str]]:
    for position in range(len(series)):
        yield [format_label(series.index[position], options), format_cell(series.array[position], options)]


def _format_brief(values: Any, options: SummaryOptions) -> str:
    """Format a small series or index."""
    if not 0 < len(values) <= BRIEF_LIMIT:
        return ""
    index = getattr(values, "index", None)
    if index is None or is_default_index(index):
        items = values if hasattr(values, "levels") else values.array
        return f"[{', '.join(format_label(value, options) for value in items)}] of {format_dtype(values.dtype)}"
    return f"{{{', '.join(map(': '.join, _format_pairs(values, options)))}}} of {format_dtype(values.dtype)}"


def _describe_index(index: Any, options: SummaryOptions) -> Iterator[Fact]:
    positions = sample_indices(len(index), options.sample)
    yield Fact(f"{len(index):,} labels{_memory(index)}{positions_note(positions, len(index))}")
    yield from index_facts(index, options, positions)
    yield from _first_values(index, options)


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    positions = sample_indices(len(array), options.sample)
    yield Fact(f"{len(array):,} values, {format_size(array.nbytes)}{positions_note(positions, len(array))}")
    yield describe_values(array, options, positions).fact("values", format_dtype(array.dtype))
    yield from _first_values(array, options)


def _first_values(values: Any, options: SummaryOptions) -> Iterator[Fact]:
    return first_values(lambda limit: [format_label(value, options) for value in values[:limit]], len(values))


def _describe_scalar(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    zone = f", zone {value.tzinfo}" if getattr(value, "tzinfo", None) else ""
    freq = f", freq {value.freqstr}" if hasattr(value, "freqstr") else ""
    yield Fact(f"{value}{zone}{freq}", shows=True, schema=f"scalar{zone}{freq}")


def _describe_groups(grouped: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a group-by without computing its groups."""
    sides = zip(grouped.obj.shape, ("rows", "columns"), strict=False)
    yield Fact(f"groups of {' x '.join(f'{length:,} {axis}' for length, axis in sides)}")
    if grouped.keys is not None:
        keys = grouped.keys if isinstance(grouped.keys, list) else [grouped.keys]
        names = [key if type(key) is str else type(key).__name__ for key in keys]
        yield Fact(f"by {format_list(names, 10)}")
    if grouped.level is not None:
        yield Fact(f"by level {format_label(grouped.level, options)}")


def _describe_styler(styler: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact("a styled frame")
    yield from _describe_frame(styler.data, options)


def _measure_frame(frame: Any) -> str:
    length, width = frame.shape
    shape = f"{length} rows x {width} columns"
    if width > MAX_COMPARED_COLUMNS:
        return shape
    names = [name if type(name) is str else type(name).__name__ for name in frame.columns]
    types = ", ".join(sorted({*map(dtype_name, frame.dtypes.array)}))
    return f"{shape} of {types} #{hash((*names, *_column_fingerprints(frame))) & 0xFFFFFFFF:08x}"


def _column_fingerprints(frame: Any) -> Iterator[str]:
    """Fingerprint the columns of small frames through pandas' internal manager: the public interface is slower."""
    columns = range(frame.shape[1])
    if len(columns) <= MAX_HASHED_COLUMNS and len(frame) * len(columns) * 8 <= MAX_HASHED_BYTES:
        for position in columns:
            yield _fingerprint(frame._mgr.iget_values(position))


def _fingerprint(values: Any) -> str:
    array = getattr(values, "_ndarray", values)
    return fingerprint(array) if type(array).__name__ == "ndarray" else ""


def _measure_length(values: Any) -> str:
    return f"{len(values)} values of {dtype_name(values.dtype)}"


def _is_inert(value: Any) -> bool:
    """Return whether this is a frame or series of plain columns, few enough to check the type of each."""
    name = type(value).__name__
    if name == "DataFrame" and len(value.columns) <= MAX_HASHED_BYTES:
        dtypes = [*value.dtypes, value.columns.dtype]
    elif name == "Series" and (value.name is None or type(value.name) is str):
        dtypes = [value.dtype]
    else:
        return False
    return not value.attrs and all(map(_holds_no_objects, [*dtypes, value.index.dtype]))


def _holds_no_objects(dtype: Any) -> bool:
    """Return whether the type is NumPy's or pandas' own and its values are not arbitrary objects."""
    if type(dtype).__name__ == "CategoricalDtype":
        return dtype.categories is not None and _holds_no_objects(dtype.categories.dtype)
    module = type(dtype).__module__.partition(".")[0]
    return module in ("numpy", "pandas") and not getattr(dtype, "hasobject", False)


_SCALARS = ("Timestamp", "Timedelta", "Period", "Interval", "NaTType", "NAType")
FAMILY = TypeFamily(
    {
        "pandas.DataFrame": _describe_frame,
        "pandas.Series": _describe_series,
        "pandas.Index": _describe_index,
        "pandas.ExtensionArray": _describe_array,
        **{f"pandas.{name}": _describe_scalar for name in _SCALARS},
        "pandas.GroupBy": _describe_groups,
        "pandas.Styler": _describe_styler,
    },
    {
        "pandas.DataFrame": _measure_frame,
        "pandas.Series": lambda series: f"{_measure_length(series)}{_fingerprint(series._values)}",
        "pandas.Index": _measure_length,
        "pandas.ExtensionArray": _measure_length,
    },
    is_inert=_is_inert,
    briefs={"pandas.Series": _format_brief, "pandas.Index": _format_brief},
)
