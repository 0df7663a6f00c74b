"""PyArrow: tables, record batches, arrays, schemas."""

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


def _describe_table(table: Any, options: SummaryOptions) -> Iterator[Fact]:
    length, width = table.num_rows, table.num_columns
    positions = _sample_positions(table, length, options)
    note = sample_note(len(positions), length) if positions is not None else ""
    yield Fact(f"{length:,} rows x {width:,} columns, {format_size(table.nbytes)}{note}")
    fields = [table.schema.field(position) for position in range(width)]
    yield from column_overview(
        [(format_label(field.name, options), _format_type(field.type)) for field in fields], options
    )
    columns = _column_facts(table, fields, options, positions)
    if is_small(length, width):
        yield from small_table_facts(columns, _row_facts(table, fields, options, length))
        yield from _metadata_fact(table.schema, options)
        return
    yield from columns
    yield from _metadata_fact(table.schema, options)
    yield from _row_facts(table, fields, options, options.rows)


def _column_facts(table: Any, fields: list[Any], options: SummaryOptions, positions: Any) -> Iterator[Fact]:
    for field, position in zip(fields[: options.columns], range(len(fields)), strict=False):
        facts = ColumnFacts() if options.out_of_time else _describe_column(table.column(position), options, positions)
        yield facts.fact(format_label(field.name, options), _format_field_type(field))
    yield from omitted_columns(len(fields), options)


def _row_facts(table: Any, fields: list[Any], options: SummaryOptions, limit: int) -> Iterator[Fact]:
    columns = [
        _format_cells(table.column(position), limit, options) for position in range(min(len(fields), options.columns))
    ]
    names = [format_label(field.name, options) for field in fields[: options.columns]]
    yield from row_facts(names, zip(*columns, strict=True), total=table.num_rows)


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    positions = _sample_positions(array, len(array), options)
    chunks = f" in {array.num_chunks:,} chunks" if hasattr(array, "num_chunks") else ""
    note = sample_note(len(positions), len(array)) if positions is not None else ""
    yield Fact(f"{len(array):,} values{chunks}, {format_size(array.nbytes)}{note}")
    yield _describe_column(array, options, positions).fact("values", _format_type(array.type))
    if len(array):
        yield first_values(
            _format_cells(array, SMALL_TABLE_ROWS if len(array) <= SMALL_TABLE_ROWS else 8, options), len(array)
        )


def _format_brief(array: Any, options: SummaryOptions) -> str:
    return (
        f"[{', '.join(_format_cells(array, BRIEF_LIMIT, options))}] of {_format_type(array.type)}"
        if 0 < len(array) <= BRIEF_LIMIT
        else ""
    )


def _describe_schema(schema: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{len(schema):,} columns")
    yield from _field_facts(schema, options)
    yield from _metadata_fact(schema, options)


def _field_facts(schema: Any, options: SummaryOptions) -> Iterator[Fact]:
    fields = [schema.field(position) for position in range(min(len(schema), options.columns))]
    for field in fields:
        yield Fact(f"{format_label(field.name, options)}: {_format_field_type(field)}")
    yield from omitted_columns(len(schema), options)


def _metadata_fact(schema: Any, options: SummaryOptions) -> Iterator[Fact]:
    keys = [truncate(key.decode("utf-8", "replace"), options.cell_width) for key in schema.metadata or ()]
    if keys:
        yield Fact(f"metadata for {format_list(keys, 10)}")


def _describe_field(field: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{format_label(field.name, options)}: {_format_field_type(field)}")


def _describe_type(dtype: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(truncate(str(dtype), 4 * options.cell_width))


def _describe_scalar(scalar: Any, options: SummaryOptions) -> Iterator[Fact]:
    array = sys.modules["pyarrow"].array([scalar], type=scalar.type)
    kind = f"scalar of {_format_type(scalar.type)}"
    yield Fact(f"{_format_cells(array, 1, options)[0]}, {kind}", shows=True, schema=kind)


def _describe_dataset(dataset: Any, options: SummaryOptions) -> Iterator[Fact]:
    files = getattr(dataset, "files", None)
    if files is None:
        yield Fact("not scanned")
    else:
        yield Fact(f"{len(files):,} files of {dataset.format.default_extname}, not scanned")
    yield from _field_facts(dataset.schema, options)
    if files:
        yield Fact(
            f"files {format_list([truncate(name, 2 * options.cell_width) for name in files[:4]], 3)}", shows=True
        )


def _describe_reader(reader: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact("record batches, not read")
    yield from _field_facts(reader.schema, options)


def _describe_file(file: Any, options: SummaryOptions) -> Iterator[Fact]:
    metadata = file.metadata
    yield Fact(
        f"{metadata.num_rows:,} rows x {len(file.schema_arrow):,} columns in {metadata.num_row_groups:,} row groups"
    )
    yield from _field_facts(file.schema_arrow, options)


def _format_type(dtype: Any) -> str:
    return truncate(str(dtype), 80)


def _format_field_type(field: Any) -> str:
    return _format_type(field.type) if field.nullable else f"{_format_type(field.type)} not null"


def _sample_positions(values: Any, length: int, options: SummaryOptions) -> Any:
    item_bytes = values.nbytes / max(length, 1)
    positions = sample_positions(length, sample_size(item_bytes, options.sample))
    return None if positions is None else sys.modules["pyarrow"].array(positions)


def _describe_column(column: Any, options: SummaryOptions, positions: Any) -> ColumnFacts:
    counts = missing_note(column.null_count, len(column), word="null") if len(column) else ()
    try:
        values = _plain_text(column if positions is None else column.take(positions)).drop_null()
        facts = _describe_present(values, options, exact=positions is None) if len(values) else ColumnFacts()
    except NotImplementedError:  # Arrow does not implement every function for every type
        facts = ColumnFacts()
    return ColumnFacts((*counts, *facts.counts), facts.values)


def _describe_present(values: Any, options: SummaryOptions, *, exact: bool) -> ColumnFacts:
    types = sys.modules["pyarrow"].types
    dtype = values.type
    if types.is_boolean(dtype):
        return ColumnFacts(values=(true_share(values.to_pylist().count(True), len(values)),))
    if types.is_floating(dtype):
        floats = values.cast(sys.modules["pyarrow"].float64()) if types.is_float16(dtype) else values
        return _describe_floats(floats, exact=exact)
    if types.is_integer(dtype) or types.is_decimal(dtype):
        return ColumnFacts(values=_describe_range(values))
    if types.is_temporal(dtype) and not types.is_interval(dtype):
        return ColumnFacts(values=_describe_timestamps(values))
    texts = _text_prefixes(values)
    return ColumnFacts() if texts is None else ColumnFacts(values=describe_texts(texts, options, exact=exact))


def _compute() -> Any:
    from importlib import import_module

    return sys.modules.get("pyarrow.compute") or import_module("pyarrow.compute")


def _text_prefixes(column: Any) -> Any:
    """Return the beginnings of texts, or None if the values are not texts."""
    types = sys.modules["pyarrow"].types
    values = column
    if types.is_dictionary(values.type) and _is_text(values.type.value_type):
        values = values.cast(values.type.value_type)
    return (
        _compute().utf8_slice_codeunits(_plain_text(values), 0, PREFIX_LENGTH).to_pylist()
        if _is_text(values.type)
        else None
    )


def _is_text(dtype: Any) -> bool:
    return str(dtype) in ("string", "large_string", "string_view")


def _plain_text(values: Any) -> Any:
    return values.cast(sys.modules["pyarrow"].string()) if str(values.type) == "string_view" else values


def _describe_floats(values: Any, *, exact: bool) -> ColumnFacts:
    compute = _compute()
    nan_count = compute.sum(compute.is_nan(values)).as_py()
    infinite_count = compute.sum(compute.is_inf(values)).as_py()
    finite = values.filter(compute.is_finite(values))
    counts = missing_note(nan_count, len(values), exact=exact, word="NaN")
    return ColumnFacts(
        counts,
        (
            *(_describe_range(finite) if len(finite) else ()),
            *missing_note(infinite_count, len(values), exact=exact, word="infinite"),
        ),
    )


def _describe_range(values: Any) -> tuple[str, ...]:
    value_range = format_number_range(*_bounds(values))
    mean = _compute().mean(values).as_py()
    return (value_range,) if value_range.startswith("all ") else (value_range, f"mean {format_statistic(float(mean))}")


def _describe_timestamps(values: Any) -> tuple[str, ...]:
    return (format_range(*(format_timestamp(bound) for bound in _bounds(_to_microseconds(values)))),)


def _bounds(values: Any) -> tuple[Any, Any]:
    if sys.modules["pyarrow"].types.is_duration(values.type):  # not supported by Arrow's `min_max`
        durations = values.to_pylist()
        return min(durations), max(durations)
    bounds = _compute().min_max(values)
    return bounds["min"].as_py(), bounds["max"].as_py()


def _to_microseconds(values: Any) -> Any:
    """Convert times to a unit that Python supports."""
    pyarrow, dtype = sys.modules["pyarrow"], values.type
    if getattr(dtype, "unit", "") != "ns":
        return values
    microsecond_types = {
        "timestamp[ns": pyarrow.timestamp("us", getattr(dtype, "tz", None)),
        "duration[ns": pyarrow.duration("us"),
    }
    kind = next(
        (microsecond_types[name] for name in microsecond_types if str(dtype).startswith(name)), pyarrow.time64("us")
    )
    return values.cast(kind, safe=False)


def _format_cells(column: Any, limit: int, options: SummaryOptions) -> list[str]:
    """Format the first values; of those that can be long, only the beginning or the length."""
    return [_format_cell(column.slice(position, 1), options) for position in range(min(limit, len(column)))]


def _format_cell(value: Any, options: SummaryOptions) -> str:
    types = sys.modules["pyarrow"].types
    if value.null_count:
        return "null"
    texts = _text_prefixes(value)
    if texts is not None:
        return text_prefix(texts[0], options)
    if types.is_nested(value.type) or types.is_union(value.type) or types.is_dictionary(value.type):
        return options.short(value[0].as_py()) if value.nbytes < LONG_VALUE_BYTES else _format_length(value, options)
    if str(value.type) in ("float", "halffloat"):
        return f"{value[0].as_py():.8g}"
    if "binary" in str(value.type):
        return f"{value[0].as_buffer().size:,} bytes"
    return (
        format_cell(_to_microseconds(value)[0].as_py(), options)
        if types.is_temporal(value.type)
        else format_cell(value[0].as_py(), options)
    )


def _format_length(value: Any, options: SummaryOptions) -> str:
    if str(value.type).startswith(("list", "large_list", "fixed_size_list")):
        return f"[{_compute().list_value_length(value)[0].as_py():,} items]"
    return truncate(str(value.type), options.cell_width)


def _table_measure(table: Any) -> str:
    shape = f"{table.num_rows} rows x {table.num_columns} columns"
    if table.num_columns > MAX_COMPARED_COLUMNS:
        return shape
    return f"{shape} #{hash(tuple(table.schema.names)) & 0xFFFFFFFF:08x}"


FAMILY = TypeFamily(
    {
        "pyarrow.Table": _describe_table,
        "pyarrow.RecordBatch": _describe_table,
        "pyarrow.Array": _describe_array,
        "pyarrow.ChunkedArray": _describe_array,
        "pyarrow.Schema": _describe_schema,
        "pyarrow.Field": _describe_field,
        "pyarrow.DataType": _describe_type,
        "pyarrow.Scalar": _describe_scalar,
        "pyarrow.Dataset": _describe_dataset,
        "pyarrow.RecordBatchReader": _describe_reader,
        "pyarrow.ParquetFile": _describe_file,
    },
    {"pyarrow.Table": _table_measure, "pyarrow.RecordBatch": _table_measure},
    briefs={"pyarrow.Array": _format_brief, "pyarrow.ChunkedArray": _format_brief},
)
