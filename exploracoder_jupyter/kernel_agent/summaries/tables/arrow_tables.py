"""PyArrow: tables, record batches, arrays, and data sets that are not read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, format_list, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import PREFIX_LENGTH, format_label, omitted_note
from exploracoder_jupyter.kernel_agent.summaries.tables.polars_and_arrow_columns import ColumnReader, measure_table


def _describe_table(table: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield from _READER.describe_table(table.schema.names, table.columns, table.num_rows, options)
    yield from _metadata_fact(table.schema, options)


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    chunks = f" in {array.num_chunks:,} chunks" if hasattr(array, "num_chunks") else ""
    yield from _READER.describe_column(array, options, note=chunks)


def _describe_schema(schema: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{len(schema):,} columns")
    yield from _field_facts(schema, options)
    yield from _metadata_fact(schema, options)


def _field_facts(schema: Any, options: SummaryOptions) -> Iterator[Fact]:
    for field in [schema.field(position) for position in range(min(len(schema), options.columns))]:
        yield Fact(f"{format_label(field.name, options)}: {_format_type(field)}{'' if field.nullable else ' not null'}")
    yield from omitted_note(len(schema), "columns", options)


def _metadata_fact(schema: Any, options: SummaryOptions) -> Iterator[Fact]:
    keys = [truncate(key.decode("utf-8", "replace"), options.cell_width) for key in schema.metadata or ()]
    if keys:
        yield Fact(f"metadata for {format_list(keys, 10)}")


def _describe_dataset(dataset: Any, options: SummaryOptions) -> Iterator[Fact]:
    files = getattr(dataset, "files", None)
    count = f"{len(files):,} files of {dataset.format.default_extname}, " if files else ""
    yield Fact(f"{count}not scanned")
    yield from _field_facts(dataset.schema, options)
    if files:
        names = [truncate(name, 2 * options.cell_width) for name in files[:4]]
        yield Fact(f"files {format_list(names, 3)}", shows=True)


def _describe_reader(reader: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact("record batches, not read")
    yield from _field_facts(reader.schema, options)


def _describe_file(file: Any, options: SummaryOptions) -> Iterator[Fact]:
    metadata = file.metadata
    count = len(file.schema_arrow)
    yield Fact(f"{metadata.num_rows:,} rows x {count:,} columns in {metadata.num_row_groups:,} row groups")
    yield from _field_facts(file.schema_arrow, options)


def _format_type(values: Any) -> str:
    return truncate(str(values.type), 80)


def _is_nested(values: Any) -> bool:
    types = sys.modules["pyarrow"].types
    return bool(types.is_nested(values.type) or types.is_union(values.type) or "binary" in str(values.type))


def _to_list(values: Any) -> list[Any]:
    pyarrow, dtype = sys.modules["pyarrow"], values.type
    types = pyarrow.types
    if types.is_dictionary(dtype) or str(dtype) == "string_view":
        return _to_list(values.cast(dtype.value_type if types.is_dictionary(dtype) else pyarrow.string()))
    values = values.drop_null()
    if str(dtype) in ("string", "large_string"):
        values = import_module("pyarrow.compute").utf8_slice_codeunits(values, 0, PREFIX_LENGTH)
    elif types.is_temporal(dtype) and not types.is_interval(dtype) and len(values):
        values = values.sort().take(pyarrow.array([0, len(values) - 1]))
        if getattr(dtype, "unit", "") == "ns":  # which Arrow would import pandas for
            microseconds = pyarrow.duration("us") if types.is_duration(dtype) else pyarrow.time64("us")
            is_timestamp = types.is_timestamp(dtype)
            values = values.cast(pyarrow.timestamp("us", dtype.tz) if is_timestamp else microseconds, safe=False)
    python_values: list[Any] = values.to_pylist()
    return python_values


_READER = ColumnReader(
    format_type=_format_type,
    size=lambda values: values.nbytes,
    null_count=lambda values: values.null_count,
    take=lambda values, positions: values.take(sys.modules["pyarrow"].array(positions)),
    is_nested=_is_nested,
    to_list=_to_list,
)


def _measure_table(table: Any) -> str:
    return measure_table(table.schema.names, table.num_rows)


FAMILY = TypeFamily(
    {
        "pyarrow.Table": _describe_table,
        "pyarrow.RecordBatch": _describe_table,
        "pyarrow.Array": _describe_array,
        "pyarrow.ChunkedArray": _describe_array,
        "pyarrow.Schema": _describe_schema,
        "pyarrow.Dataset": _describe_dataset,
        "pyarrow.RecordBatchReader": _describe_reader,
        "pyarrow.ParquetFile": _describe_file,
    },
    {"pyarrow.Table": _measure_table, "pyarrow.RecordBatch": _measure_table},
    briefs={"pyarrow.Array": _READER.format_brief, "pyarrow.ChunkedArray": _READER.format_brief},
)
