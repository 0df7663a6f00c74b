"""Polars and PyArrow: frames, series, tables, arrays, data sets that are not read; tables that are computed later."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.columns import (
    MAX_COMPARED_COLUMNS,
    PREFIX_LENGTH,
    ColumnFacts,
    body_facts,
    column_overview,
    describe_values,
    first_values,
    format_cell,
    format_label,
    omitted_note,
    row_facts,
    text_prefix,
)
from exploracoder_jupyter.kernel_agent.summaries.facts import (
    BRIEF_LIMIT,
    Fact,
    SummaryOptions,
    TypeFamily,
    format_list,
    format_size,
    missing_note,
    sample_note,
    sample_positions,
    sample_size,
    truncate,
)

# Describes tables and columns of Polars and PyArrow, which differ in how a column is read.

_LONG_VALUE_BYTES = 4_000
"""Bytes of a nested value from which on only its size is shown."""


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """How the columns of a library are read."""

    format_type: Callable[[Any], str]
    size: Callable[[Any], int]
    """In bytes."""
    null_count: Callable[[Any], int]
    take: Callable[[Any, list[int]], Any]
    is_nested: Callable[[Any], bool]
    """Whether the values of a column can be large or of any type."""
    to_list: Callable[[Any], list[Any]]
    """Returns the Python values that are not null; of times only the ends, as converting those with a zone takes long;
    of texts only the first `PREFIX_LENGTH` characters."""

    def describe_table(
        self, names: Sequence[str], columns: Sequence[Any], length: int, options: SummaryOptions
    ) -> Iterator[Fact]:
        """Describe a table of `length` rows."""
        size = sum(map(self.size, columns))
        positions = _sample(size, length, options)
        note = sample_note(len(positions), length) if positions else ""
        yield Fact(f"{length:,} rows x {len(columns):,} columns, {format_size(size)}{note}")
        labels = [format_label(name, options) for name in names]
        types = [self.format_type(column) for column in columns]
        yield from column_overview(list(zip(labels, types, strict=True)), options)
        described = list(zip(labels, types, columns, strict=True))[: options.columns]

        def rows(limit: int) -> Iterator[Fact]:
            cells = [self._format_cells(column, limit, options) for _, _, column in described]
            yield from row_facts(labels[: options.columns], zip(*cells, strict=True), total=length)

        facts = (self._describe(column, options, positions).fact(name, kind) for name, kind, column in described)
        yield from body_facts((length, len(columns)), facts, rows, options)

    def describe_column(
        self, column: Any, options: SummaryOptions, name: str = "values", note: str = ""
    ) -> Iterator[Fact]:
        """Describe a column or an array."""
        length, size = len(column), self.size(column)
        positions = _sample(size, length, options)
        sampled = sample_note(len(positions), length) if positions else ""
        yield Fact(f"{length:,} values{note}, {format_size(size)}{sampled}")
        yield self._describe(column, options, positions).fact(name, self.format_type(column))
        yield from first_values(lambda limit: self._format_cells(column, limit, options), length)

    def format_brief(self, column: Any, options: SummaryOptions) -> str:
        """Format a small column."""
        if not 0 < len(column) <= BRIEF_LIMIT:
            return ""
        return f"[{', '.join(self._format_cells(column, BRIEF_LIMIT, options))}] of {self.format_type(column)}"

    def _describe(self, column: Any, options: SummaryOptions, positions: list[int] | None) -> ColumnFacts:
        if options.out_of_time or not len(column):
            return ColumnFacts()
        counts = missing_note(self.null_count(column), len(column), word="null")
        if self.is_nested(column):
            return ColumnFacts(counts)
        try:
            values = self.to_list(column if positions is None else self.take(column, positions))
        except NotImplementedError:  # Arrow does not implement every function for every type
            return ColumnFacts(counts)
        facts = describe_values(values, options, exact=positions is None)
        return ColumnFacts((*counts, *facts.counts), facts.values)

    def _format_cells(self, column: Any, limit: int, options: SummaryOptions) -> list[str]:
        return [self._format_cell(column.slice(row, 1), options) for row in range(min(limit, len(column)))]

    def _format_cell(self, item: Any, options: SummaryOptions) -> str:
        """Format the only value of a column."""
        if self.null_count(item):
            return "null"
        if self.is_nested(item) and self.size(item) >= _LONG_VALUE_BYTES:
            return f"({format_size(self.size(item))})"
        value = self.to_list(item)[0]
        if type(value) is str:
            return text_prefix(value, options)
        if type(value) is float and self.format_type(item) in ("Float32", "float", "halffloat"):
            return f"{value:.8g}"
        return format_cell(value, options)


def measure_table(names: Sequence[str], length: int, types: str = "") -> str:
    """Return the shape, and a hash of the names of columns."""
    shape = f"{length} rows x {len(names)} columns{types}"
    return shape if len(names) > MAX_COMPARED_COLUMNS else f"{shape} #{hash(tuple(names)) & 0xFFFFFFFF:08x}"


def _sample(size: int, length: int, options: SummaryOptions) -> list[int] | None:
    return sample_positions(length, sample_size(size / max(length, 1), options.sample))


# Polars data frames, lazy frames and series.
#
# They are described in the kernel's own process: Polars' threads do not exist in a fork, so it would wait for them
# forever. Therefore all work is bounded: statistics come from a sample, and only the beginnings of texts and lists
# are extracted.


def _describe_series(series: Any, options: SummaryOptions) -> Iterator[Fact]:
    name = format_label(series.name, options) if series.name else "values"
    yield from _READER.describe_column(series, options, name)


def _describe_lazy_frame(frame: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a lazy frame without even its column names: resolving them opens files and calls functions."""
    yield Fact("lazy, not collected; collect_schema() returns its columns")


def _describe_expression(expression: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe an expression. Its text can contain values, such as those in comparisons."""
    yield Fact(truncate(str(expression), 4 * options.cell_width), shows=True, schema="an expression")


def _estimate_size(series: Any) -> int:
    """Estimate the size; of Python objects, only their references, because older versions panic otherwise."""
    return 8 * len(series) if str(series.dtype) == "Object" else int(series.estimated_size())


def _format_type(dtype: Any) -> str:
    name = str(dtype).replace("time_unit=", "").replace(", time_zone=None", "")
    return f"Enum of {len(dtype.categories):,}" if name.startswith("Enum") else truncate(name, 80)


def _to_list(series: Any) -> list[Any]:
    series = series.drop_nulls()
    if series.dtype.is_temporal() and len(series):
        return [series.min(), series.max()]
    is_text = str(series.dtype) == "String"
    values: list[Any] = (series.str.slice(0, PREFIX_LENGTH) if is_text else series).to_list()
    return values


_READER = ColumnReader(
    format_type=lambda series: _format_type(series.dtype),
    size=_estimate_size,
    null_count=lambda series: series.null_count(),
    take=lambda series, positions: series.gather(sys.modules["polars"].Series(positions)),
    is_nested=lambda series: series.dtype.is_nested() or str(series.dtype) in ("Binary", "Object"),
    to_list=_to_list,
)


def _measure_frame(frame: Any) -> str:
    is_wide = frame.width > MAX_COMPARED_COLUMNS
    types = "" if is_wide else f" of {', '.join(sorted(set(map(_format_type, frame.dtypes))))}"
    return measure_table(frame.columns, frame.height, types)


FAMILY = TypeFamily(
    {
        "polars.DataFrame": lambda frame, options: _READER.describe_table(
            frame.columns, frame.get_columns(), frame.height, options
        ),
        "polars.Series": _describe_series,
        "polars.LazyFrame": _describe_lazy_frame,
        "polars.Expr": _describe_expression,
    },
    {
        "polars.DataFrame": _measure_frame,
        "polars.Series": lambda series: f"{len(series)} values of {_format_type(series.dtype)}",
    },
    in_process=True,
    briefs={"polars.Series": _READER.format_brief},
)


# PyArrow: tables, record batches, arrays, and data sets that are not read.


def _describe_table(table: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield from _ARROW_READER.describe_table(table.schema.names, table.columns, table.num_rows, options)
    yield from _metadata_fact(table.schema, options)


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    chunks = f" in {array.num_chunks:,} chunks" if hasattr(array, "num_chunks") else ""
    yield from _ARROW_READER.describe_column(array, options, note=chunks)


def _describe_schema(schema: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{len(schema):,} columns")
    yield from _field_facts(schema, options)
    yield from _metadata_fact(schema, options)


def _field_facts(schema: Any, options: SummaryOptions) -> Iterator[Fact]:
    for field in [schema.field(position) for position in range(min(len(schema), options.columns))]:
        yield Fact(f"{format_label(field.name, options)}: {_arrow_type(field)}{'' if field.nullable else ' not null'}")
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


def _arrow_type(values: Any) -> str:
    return truncate(str(values.type), 80)


def _is_nested(values: Any) -> bool:
    types = sys.modules["pyarrow"].types
    return bool(types.is_nested(values.type) or types.is_union(values.type) or "binary" in str(values.type))


def _arrow_to_list(values: Any) -> list[Any]:
    pyarrow, dtype = sys.modules["pyarrow"], values.type
    types = pyarrow.types
    if types.is_dictionary(dtype) or str(dtype) == "string_view":
        return _arrow_to_list(values.cast(dtype.value_type if types.is_dictionary(dtype) else pyarrow.string()))
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


_ARROW_READER = ColumnReader(
    format_type=_arrow_type,
    size=lambda values: values.nbytes,
    null_count=lambda values: values.null_count,
    take=lambda values, positions: values.take(sys.modules["pyarrow"].array(positions)),
    is_nested=_is_nested,
    to_list=_arrow_to_list,
)


def _measure_table(table: Any) -> str:
    return measure_table(table.schema.names, table.num_rows)


ARROW_FAMILY = TypeFamily(
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
    briefs={"pyarrow.Array": _ARROW_READER.format_brief, "pyarrow.ChunkedArray": _ARROW_READER.format_brief},
)


# Tables that stand for a computation: of Ibis, DuckDB and Dask, and what Narwhals wraps.
#
# They know the names and types of their columns, and nothing is computed here: a query can take hours, be paid for, or
# change a database. They are described in the kernel's own process, because a connection does not survive a fork, and
# reading a schema takes microseconds (0.05 ms for Ibis, 0.04 for DuckDB, 0.2 for Dask).


def _describe_later(columns: Sequence[tuple[str, object]], how: str, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{len(columns):,} columns, not computed; {how} computes it")
    for name, kind in columns[: options.columns]:
        yield Fact(f"{format_label(name, options)}: {truncate(str(kind), 80)}")
    yield from omitted_note(len(columns), "columns", options)


def _describe_ibis(table: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield from _describe_later([*table.schema().items()], "to_pandas()", options)


def _describe_ibis_value(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{format_label(value.get_name(), options)}: {value.type()}, not computed; to_pandas() computes it")


def _describe_relation(relation: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield from _describe_later([*zip(relation.columns, relation.types, strict=True)], "df() or pl()", options)


def _describe_dask(frame: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield from _describe_later([*frame.dtypes.items()], "compute()", options)
    yield Fact(f"{frame.npartitions:,} partitions")


def _describe_dask_series(series: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{format_label(str(series.name), options)}: {series.dtype}, not computed; compute() computes it")


def _describe_wrapped(wrapper: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe an eager frame or series of Narwhals; of a lazy one the native type alone, as for Polars' own."""
    native = type(wrapper.to_native())
    around = f"around {native.__module__.partition('.')[0]}.{native.__qualname__}"
    if hasattr(wrapper, "collect_schema") and not hasattr(wrapper, "rows"):
        yield Fact(f"{around}, lazy; collect_schema() returns its columns")
    elif hasattr(wrapper, "schema"):
        height, width = wrapper.shape
        yield Fact(f"{height:,} rows x {width:,} columns, {around}")
        for name, kind in [*wrapper.schema.items()][: options.columns]:
            yield Fact(f"{format_label(name, options)}: {truncate(str(kind), 80)}")
        yield from omitted_note(width, "columns", options)
    else:
        yield Fact(f"{len(wrapper):,} values of {wrapper.dtype}, {around}")


LATER_FAMILY = TypeFamily(
    {
        "ibis.Table": _describe_ibis,
        "ibis.Column": _describe_ibis_value,
        "ibis.Scalar": _describe_ibis_value,
        "_duckdb.DuckDBPyRelation": _describe_relation,
        "duckdb.DuckDBPyRelation": _describe_relation,
        "dask.DataFrame": _describe_dask,
        "dask.Series": _describe_dask_series,
        "narwhals.DataFrame": _describe_wrapped,
        "narwhals.LazyFrame": _describe_wrapped,
        "narwhals.Series": _describe_wrapped,
    },
    in_process=True,
)
