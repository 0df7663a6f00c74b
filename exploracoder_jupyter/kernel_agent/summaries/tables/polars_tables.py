"""Polars data frames, lazy frames and series.

They are described in the kernel's own process: Polars' threads do not exist in a fork, so it would wait for them
forever. Therefore all work is bounded: statistics come from a sample, and only the beginnings of texts and lists are
extracted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.missing_values import missing_note
from exploracoder_jupyter.kernel_agent.summaries.number_format import (
    format_number_range,
    format_range,
    format_statistic,
    true_share,
)
from exploracoder_jupyter.kernel_agent.summaries.sampling import sample_note, sample_positions, sample_size
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import (
    BRIEF_LIMIT,
    Fact,
    TypeFamily,
    format_list,
    format_size,
    truncate,
)
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import (
    LONG_VALUE_BYTES,
    MAX_COMPARED_COLUMNS,
    PREFIX_LENGTH,
    SMALL_TABLE_ROWS,
    ColumnFacts,
    column_overview,
    describe_texts,
    first_values,
    format_cell,
    format_label,
    format_timestamp,
    is_small,
    omitted_columns,
    row_facts,
    small_table_facts,
    text_prefix,
)


def _describe_frame(frame: Any, options: SummaryOptions) -> Iterator[Fact]:
    length, width = frame.shape
    positions = _sample_positions(frame, options)
    note = sample_note(len(positions), length) if positions is not None else ""
    yield Fact(f"{length:,} rows x {width:,} columns, {format_size(_estimate_bytes(frame))}{note}")
    yield from column_overview(
        [(format_label(name, options), _format_type(dtype)) for name, dtype in frame.schema.items()], options
    )
    columns = _column_facts(frame, options, positions)
    if is_small(length, width):
        yield from small_table_facts(columns, _row_facts(frame, options, length))
        return
    yield from columns
    yield from _row_facts(frame[: options.rows, : options.columns], options, length)


def _column_facts(frame: Any, options: SummaryOptions, positions: Any) -> Iterator[Fact]:
    for column in (
        frame.iter_columns() if frame.width <= options.columns else frame[:, : options.columns].iter_columns()
    ):
        facts = ColumnFacts() if options.out_of_time else _describe_column(column, options, positions)
        yield facts.fact(format_label(column.name, options), _format_type(column.dtype))
    yield from omitted_columns(frame.width, options)


def _describe_series(series: Any, options: SummaryOptions) -> Iterator[Fact]:
    positions = _sample_positions(series, options)
    note = sample_note(len(positions), len(series)) if positions is not None else ""
    yield Fact(f"{len(series):,} values, {format_size(_estimate_bytes(series))}{note}")
    yield _describe_column(series, options, positions).fact(
        format_label(series.name, options) if series.name else "values", _format_type(series.dtype)
    )
    if len(series):
        limit = SMALL_TABLE_ROWS if len(series) <= SMALL_TABLE_ROWS else 8
        yield first_values(_format_cells(series[:limit], options), len(series))


def _format_brief(series: Any, options: SummaryOptions) -> str:
    return (
        f"[{', '.join(_format_cells(series, options))}] of {_format_type(series.dtype)}"
        if 0 < len(series) <= BRIEF_LIMIT
        else ""
    )


def _describe_lazy_frame(frame: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a lazy frame without even its column names: resolving them opens files and calls functions."""
    yield Fact("lazy, not collected; collect_schema() returns its columns")


def _describe_expression(expression: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe an expression. Its text can contain values, such as those in comparisons."""
    yield Fact(truncate(str(expression), 4 * options.cell_width), shows=True, schema="an expression")


def _describe_schema(schema: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{len(schema):,} columns")
    fields = [
        f"{truncate(name, options.cell_width)} {_format_type(dtype)}"
        for name, dtype in list(schema.items())[: options.columns + 1]
    ]
    yield Fact(format_list(fields, options.columns))


def _sample_positions(values: Any, options: SummaryOptions) -> Any:
    """Return the positions of a sample as a Polars series, or None to take all values."""
    item_bytes = _estimate_bytes(values) / max(len(values), 1)
    positions = sample_positions(len(values), sample_size(item_bytes, options.sample))
    return None if positions is None else sys.modules["polars"].Series(positions)


def _estimate_bytes(values: Any) -> int:
    """Estimate the size; of Python objects, only their references, because older versions panic otherwise."""
    columns = values.iter_columns() if hasattr(values, "iter_columns") else [values]
    return sum(8 * len(column) if str(column.dtype) == "Object" else column.estimated_size() for column in columns)


def _format_type(dtype: Any) -> str:
    name = str(dtype).replace("time_unit=", "").replace(", time_zone=None", "")
    return f"Enum of {len(dtype.categories):,}" if name.startswith("Enum") else truncate(name, 80)


def _describe_column(series: Any, options: SummaryOptions, positions: Any) -> ColumnFacts:
    counts = missing_note(series.null_count(), len(series), word="null") if len(series) else ()
    if series.null_count() == len(series) or series.dtype.is_nested() or str(series.dtype) == "Object":
        return ColumnFacts(counts)
    values = series if positions is None else series.gather(positions)
    values = (values.str.slice(0, PREFIX_LENGTH) if str(series.dtype) == "String" else values).drop_nulls()
    if not len(values):
        return ColumnFacts(counts)
    facts = _describe_present(values, options, exact=positions is None)
    return ColumnFacts((*counts, *facts.counts), facts.values)


def _describe_present(values: Any, options: SummaryOptions, *, exact: bool) -> ColumnFacts:
    dtype, name = values.dtype, str(values.dtype)
    if dtype.is_float():
        return _describe_floats(values, exact=exact)
    if dtype.is_numeric():
        return ColumnFacts(values=_describe_range(values))
    if dtype.is_temporal():
        return ColumnFacts(values=(format_range(format_timestamp(values.min()), format_timestamp(values.max())),))
    if name == "Boolean":
        return ColumnFacts(values=(true_share(values.sum(), len(values)),))
    if name == "String" or name.startswith(("Categorical", "Enum")):
        texts = values.cast(sys.modules["polars"].String)
        return ColumnFacts(values=describe_texts(texts.to_list(), options, exact=exact))
    return ColumnFacts()


def _describe_floats(values: Any, *, exact: bool) -> ColumnFacts:
    counts = missing_note(int(values.is_nan().sum()), len(values), exact=exact, word="NaN")
    infinite = missing_note(int(values.is_infinite().sum()), len(values), exact=exact, word="infinite")
    finite = values.filter(values.is_finite())
    return ColumnFacts(counts, (*(_describe_range(finite) if len(finite) else ()), *infinite))


def _describe_range(values: Any) -> tuple[str, ...]:
    value_range = format_number_range(values.min(), values.max())
    mean = values.mean()  # older versions have no mean of decimals
    return (
        (value_range,)
        if value_range.startswith("all ") or mean is None
        else (value_range, f"mean {format_statistic(float(mean))}")
    )


def _row_facts(head: Any, options: SummaryOptions, length: int) -> Iterator[Fact]:
    columns = [_format_cells(column, options) for column in head.iter_columns()]
    yield from row_facts(
        [format_label(name, options) for name in head.columns], zip(*columns, strict=True), total=length
    )


def _format_cells(series: Any, options: SummaryOptions) -> list[str]:
    return [_format_cell(series[position : position + 1], options) for position in range(len(series))]


def _format_cell(item: Any, options: SummaryOptions) -> str:
    """Format a value; of a long one, only the beginning or the length."""
    name = str(item.dtype)
    if item.null_count():
        return "null"
    if name == "String":
        return text_prefix(item.str.slice(0, PREFIX_LENGTH).item(), options)
    if (name == "Binary" or item.dtype.is_nested()) and item.estimated_size() >= LONG_VALUE_BYTES:
        return _format_length(item, options)
    value = item.to_list()[0]
    if name == "Float32":
        return f"{value:.8g}"
    if item.dtype.is_nested():
        return options.short(value)
    return f"{len(value):,} bytes" if name == "Binary" else format_cell(value, options)


def _format_length(item: Any, options: SummaryOptions) -> str:
    name = str(item.dtype)
    if name.startswith("List"):
        return f"[{item.list.len().item():,} items]"
    return f"about {format_size(item.estimated_size())}" if name == "Binary" else truncate(name, options.cell_width)


def _measure_frame(frame: Any) -> str:
    shape = f"{frame.height} rows x {frame.width} columns"
    if frame.width > MAX_COMPARED_COLUMNS:
        return shape
    types = ", ".join(sorted({_format_type(dtype) for dtype in frame.dtypes}))
    return f"{shape} of {types} #{hash(tuple(frame.columns)) & 0xFFFFFFFF:08x}"


def _measure_series(series: Any) -> str:
    return f"{len(series)} values of {_format_type(series.dtype)}"


FAMILY = TypeFamily(
    {
        "polars.DataFrame": _describe_frame,
        "polars.Series": _describe_series,
        "polars.LazyFrame": _describe_lazy_frame,
        "polars.Expr": _describe_expression,
        "polars.Schema": _describe_schema,
    },
    {"polars.DataFrame": _measure_frame, "polars.Series": _measure_series},
    in_process=True,
    briefs={"polars.Series": _format_brief},
)
