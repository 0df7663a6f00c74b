"""pandas data frames, series and indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import (
    MAX_HASHED_BYTES,
    fingerprint,
    sample_indices,
)
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import (
    BRIEF_LIMIT,
    Fact,
    TypeFamily,
    format_list,
    format_size,
)
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import (
    MAX_COMPARED_COLUMNS,
    SMALL_TABLE_ROWS,
    ColumnFacts,
    column_overview,
    first_values,
    format_cell,
    format_label,
    is_small,
    omitted_columns,
    row_facts,
    small_table_facts,
)
from exploracoder_jupyter.kernel_agent.summaries.tables.pandas_columns import (
    describe_column,
    describe_values,
    dtype_name,
    format_dtype,
    positions_note,
)
from exploracoder_jupyter.kernel_agent.summaries.tables.pandas_indexes import (
    column_label_facts,
    index_facts,
    is_default_index,
)

MAX_HASHED_COLUMNS = 20
"""Maximum columns for which values are hashed to detect changes."""


def _describe_frame(frame: Any, options: SummaryOptions) -> Iterator[Fact]:
    length, width = frame.shape
    positions = sample_indices(length, options.sample)
    yield Fact(f"{length:,} rows x {width:,} columns{_memory(frame)}{positions_note(positions, length)}")
    yield from column_label_facts(frame.columns, options)
    yield from column_overview(list(_column_types(frame, options)), options)
    yield from index_facts(frame.index, options, positions)
    columns = _column_facts(frame, options, positions)
    if is_small(length, width):
        yield from small_table_facts(columns, _row_facts(frame, options, length))
    else:
        yield from columns
        yield from _row_facts(frame, options, options.rows)
    yield from _attribute_facts(frame, options)


def _memory(values: Any) -> str:
    if getattr(values, "ndim", 1) == 1:
        return f", {format_size(values.memory_usage(deep=False))}"
    if values.shape[1] < MAX_COMPARED_COLUMNS:
        return f", {format_size(int(values.memory_usage(deep=False).sum()))}"
    row = sum(getattr(dtype, "itemsize", 8) for dtype in values.dtypes.array)
    return f", about {format_size(row * len(values))}"


def _column_types(frame: Any, options: SummaryOptions) -> Iterator[tuple[str, str]]:
    for name, dtype in zip(frame.columns, frame.dtypes.array, strict=True):
        yield format_label(name, options), format_dtype(dtype)


def _column_facts(frame: Any, options: SummaryOptions, positions: Any) -> Iterator[Fact]:
    for position in range(min(frame.shape[1], options.columns)):
        column, name = frame.iloc[:, position], format_label(frame.columns[position], options)
        if options.out_of_time or not len(column):
            yield Fact(f"{name}: {format_dtype(column.dtype)}")
        else:
            yield describe_column(name, column, options, positions)
    yield from omitted_columns(frame.shape[1], options)


def _row_facts(frame: Any, options: SummaryOptions, limit: int) -> Iterator[Fact]:
    head = frame.iloc[:limit, : options.columns]
    index = [] if is_default_index(frame.index) else [head.index]
    columns = [head.iloc[:, position] for position in range(head.shape[1])]
    names = [*["index" for _ in index], *(format_label(name, options) for name in head.columns)]
    arrays = [*index, *(column.array for column in columns)]
    lines = ((format_label(array[row], options) for array in arrays) for row in range(len(head)))
    yield from row_facts(names, lines, total=len(frame))


def _attribute_facts(values: Any, options: SummaryOptions) -> Iterator[Fact]:
    if values.attrs:
        names = [format_label(name, options) for name in values.attrs]
        shown = [f"{name}={format_cell(value, options)}" for name, value in list(values.attrs.items())[:10]]
        yield Fact(f"attrs: {format_list(shown, 5)}", shows=True, schema=f"attrs: {format_list(names, 5)}")


def _describe_series(series: Any, options: SummaryOptions) -> Iterator[Fact]:
    positions = sample_indices(len(series), options.sample)
    yield Fact(f"{len(series):,} values{_memory(series)}{positions_note(positions, len(series))}")
    name = "unnamed" if series.name is None else format_label(series.name, options)
    yield _series_fact(name, series, options, positions)
    yield from index_facts(series.index, options, positions)
    if is_default_index(series.index):
        yield _first_values(series.array, options)
    else:
        limit = SMALL_TABLE_ROWS if is_small(len(series), 1) else options.rows
        yield from row_facts(["index", name], _format_pairs(series.iloc[:limit], options), total=len(series))
    yield from _attribute_facts(series, options)


def _series_fact(name: str, series: Any, options: SummaryOptions, positions: Any) -> Fact:
    """Describe a series under its name.

    The schema omits the name, because for a row of a frame it is the row's label, which is data.
    """
    facts = describe_values(series, options, positions) if len(series) else ColumnFacts()
    dtype = format_dtype(series.dtype)
    return Fact(facts.fact(name, dtype).text, shows=True, schema=ColumnFacts(facts.counts).fact("values", dtype).text)


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
    if is_default_index(index):
        yield Fact(f"index: RangeIndex of {index.dtype} from 0")
    yield from index_facts(index, options, positions)
    yield _first_values(index, options)


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    positions = sample_indices(len(array), options.sample)
    yield Fact(f"{len(array):,} values, {format_size(array.nbytes)}{positions_note(positions, len(array))}")
    yield describe_column("values", array, options, positions) if len(array) else Fact(format_dtype(array.dtype))
    yield _first_values(array, options)


def _first_values(values: Any, options: SummaryOptions) -> Fact:
    limit = SMALL_TABLE_ROWS if len(values) <= SMALL_TABLE_ROWS else 8
    return first_values([format_label(value, options) for value in values[:limit]], len(values))


def _describe_scalar(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    zone = f", zone {value.tzinfo}" if getattr(value, "tzinfo", None) else ""
    freq = f", freq {value.freqstr}" if hasattr(value, "freqstr") else ""
    yield Fact(f"{value}{zone}{freq}", shows=True, schema=f"scalar{zone}{freq}")


def _describe_interval(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(
        f"{format_cell(value.left, options)} to {format_cell(value.right, options)}, closed {value.closed}",
        True,
        "scalar",
    )


def _describe_missing(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact("a missing value")


def _describe_groups(grouped: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a group-by without computing its groups; they are counted only if pandas has computed them already."""
    shape = " x ".join(
        f"{length:,} {axis}" for length, axis in zip(grouped.obj.shape, ("rows", "columns"), strict=False)
    )
    yield Fact(f"groups of {shape}{_group_count(grouped)}")
    keys = grouped.keys if isinstance(grouped.keys, list) else [grouped.keys]
    if grouped.keys is not None:
        yield Fact(f"by {format_list([_format_key(key, options) for key in keys], 10)}")
    if grouped.level is not None:
        yield Fact(f"by level {format_label(grouped.level, options)}")


def _format_key(key: Any, options: SummaryOptions) -> str:
    return key if type(key) is str else type(key).__name__


def _group_count(grouped: Any) -> str:
    cache = getattr(getattr(grouped, "_grouper", None), "_cache", None) or {}
    return f", {cache['ngroups']:,} groups" if "ngroups" in cache else ""


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


def _measure_series(series: Any) -> str:
    return f"{_measure_length(series)}{_fingerprint(series._values)}"


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


FAMILY = TypeFamily(
    {
        "pandas.DataFrame": _describe_frame,
        "pandas.Series": _describe_series,
        "pandas.Index": _describe_index,
        "pandas.ExtensionArray": _describe_array,
        "pandas.Timestamp": _describe_scalar,
        "pandas.Timedelta": _describe_scalar,
        "pandas.Period": _describe_scalar,
        "pandas.Interval": _describe_interval,
        "pandas.NaTType": _describe_missing,
        "pandas.NAType": _describe_missing,
        "pandas.GroupBy": _describe_groups,
        "pandas.Styler": _describe_styler,
    },
    {
        "pandas.DataFrame": _measure_frame,
        "pandas.Series": _measure_series,
        "pandas.Index": _measure_length,
        "pandas.ExtensionArray": _measure_length,
    },
    is_inert=_is_inert,
    briefs={"pandas.Series": _format_brief, "pandas.Index": _format_brief},
)
