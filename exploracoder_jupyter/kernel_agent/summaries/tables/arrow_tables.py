"""PyArrow: tables, record batches, arrays, schemas."""

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


def _table(table: Any, look: Look) -> Iterator[Fact]:
    length, width = table.num_rows, table.num_columns
    places = _places(table, length, look)
    note = sampled(len(places), length) if places is not None else ""
    yield Fact(f"{length:,} rows x {width:,} columns, {size(table.nbytes)}{note}")
    fields = [table.schema.field(place) for place in range(width)]
    yield from overview([(label(field.name, look), _kind(field.type)) for field in fields], look)
    columns = _columns(table, fields, look, places)
    if is_small(length, width):
        yield from around(columns, _rows(table, fields, look, length))
        yield from _metadata(table.schema, look)
        return
    yield from columns
    yield from _metadata(table.schema, look)
    yield from _rows(table, fields, look, look.rows)


def _columns(table: Any, fields: list[Any], look: Look, places: Any) -> Iterator[Fact]:
    for field, place in zip(fields[: look.columns], range(len(fields)), strict=False):
        known = Told() if look.late else _told(table.column(place), look, places)
        yield known.fact(label(field.name, look), _field_kind(field))
    yield from more(len(fields), look)


def _rows(table: Any, fields: list[Any], look: Look, most: int) -> Iterator[Fact]:
    columns = [_cells(table.column(place), most, look) for place in range(min(len(fields), look.columns))]
    names = [label(field.name, look) for field in fields[: look.columns]]
    yield from rows(names, zip(*columns, strict=True), of=table.num_rows)


def _array(array: Any, look: Look) -> Iterator[Fact]:
    places = _places(array, len(array), look)
    chunks = f" in {array.num_chunks:,} chunks" if hasattr(array, "num_chunks") else ""
    note = sampled(len(places), len(array)) if places is not None else ""
    yield Fact(f"{len(array):,} values{chunks}, {size(array.nbytes)}{note}")
    yield _told(array, look, places).fact("values", _kind(array.type))
    if len(array):
        yield begun(_cells(array, SMALL if len(array) <= SMALL else 8, look), len(array))


def _brief(array: Any, look: Look) -> str:
    return f"[{', '.join(_cells(array, BRIEF, look))}] of {_kind(array.type)}" if 0 < len(array) <= BRIEF else ""


def _schema(schema: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{len(schema):,} columns")
    yield from _fields(schema, look)
    yield from _metadata(schema, look)


def _fields(schema: Any, look: Look) -> Iterator[Fact]:
    fields = [schema.field(place) for place in range(min(len(schema), look.columns))]
    for field in fields:
        yield Fact(f"{label(field.name, look)}: {_field_kind(field)}")
    yield from more(len(schema), look)


def _metadata(schema: Any, look: Look) -> Iterator[Fact]:
    keys = [cut(key.decode("utf-8", "replace"), look.letters) for key in schema.metadata or ()]
    if keys:
        yield Fact(f"metadata for {listed(keys, 10)}")


def _field(field: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{label(field.name, look)}: {_field_kind(field)}")


def _type(dtype: Any, look: Look) -> Iterator[Fact]:
    yield Fact(cut(str(dtype), 4 * look.letters))


def _scalar(scalar: Any, look: Look) -> Iterator[Fact]:
    array = sys.modules["pyarrow"].array([scalar], type=scalar.type)
    kind = f"scalar of {_kind(scalar.type)}"
    yield Fact(f"{_cells(array, 1, look)[0]}, {kind}", shows=True, schema=kind)


def _dataset(dataset: Any, look: Look) -> Iterator[Fact]:
    files = getattr(dataset, "files", None)
    if files is None:
        yield Fact("not scanned")
    else:
        yield Fact(f"{len(files):,} files of {dataset.format.default_extname}, not scanned")
    yield from _fields(dataset.schema, look)
    if files:
        yield Fact(f"files {listed([cut(name, 2 * look.letters) for name in files[:4]], 3)}", shows=True)


def _reader(reader: Any, look: Look) -> Iterator[Fact]:
    yield Fact("record batches, not read")
    yield from _fields(reader.schema, look)


def _file(file: Any, look: Look) -> Iterator[Fact]:
    known = file.metadata
    yield Fact(f"{known.num_rows:,} rows x {len(file.schema_arrow):,} columns in {known.num_row_groups:,} row groups")
    yield from _fields(file.schema_arrow, look)


def _kind(dtype: Any) -> str:
    return cut(str(dtype), 80)


def _field_kind(field: Any) -> str:
    return _kind(field.type) if field.nullable else f"{_kind(field.type)} not null"


def _places(values: Any, length: int, look: Look) -> Any:
    each = values.nbytes / max(length, 1)
    places = spots(length, light(each, look.sample))
    return None if places is None else sys.modules["pyarrow"].array(places)


def _told(column: Any, look: Look, places: Any) -> Told:
    counts = missing(column.null_count, len(column), word="null") if len(column) else ()
    try:
        taken = _plain_text(column if places is None else column.take(places)).drop_null()
        known = _present(taken, look, exact=places is None) if len(taken) else Told()
    except NotImplementedError:  # Arrow has not every function for every type
        known = Told()
    return Told((*counts, *known.counts), known.values)


def _present(taken: Any, look: Look, *, exact: bool) -> Told:
    is_ = sys.modules["pyarrow"].types
    dtype = taken.type
    if is_.is_boolean(dtype):
        return Told(values=(truths(taken.to_pylist().count(True), len(taken)),))
    if is_.is_floating(dtype):
        wide = taken.cast(sys.modules["pyarrow"].float64()) if is_.is_float16(dtype) else taken
        return _floats(wide, exact=exact)
    if is_.is_integer(dtype) or is_.is_decimal(dtype):
        return Told(values=_range(taken))
    if is_.is_temporal(dtype) and not is_.is_interval(dtype):
        return Told(values=_moments(taken))
    texts = _texts(taken)
    return Told() if texts is None else Told(values=tops(texts, look, exact=exact))


def _compute() -> Any:
    from importlib import import_module

    return sys.modules.get("pyarrow.compute") or import_module("pyarrow.compute")


def _texts(taken: Any) -> Any:
    """The beginnings of texts; None if they are none."""
    is_ = sys.modules["pyarrow"].types
    values = taken
    if is_.is_dictionary(values.type) and _is_text(values.type.value_type):
        values = values.cast(values.type.value_type)
    return _compute().utf8_slice_codeunits(_plain_text(values), 0, TEXT).to_pylist() if _is_text(values.type) else None


def _is_text(dtype: Any) -> bool:
    return str(dtype) in ("string", "large_string", "string_view")


def _plain_text(values: Any) -> Any:
    return values.cast(sys.modules["pyarrow"].string()) if str(values.type) == "string_view" else values


def _floats(taken: Any, *, exact: bool) -> Told:
    compute = _compute()
    nan = compute.sum(compute.is_nan(taken)).as_py()
    endless = compute.sum(compute.is_inf(taken)).as_py()
    finite = taken.filter(compute.is_finite(taken))
    counts = missing(nan, len(taken), exact=exact, word="NaN")
    return Told(
        counts,
        (*(_range(finite) if len(finite) else ()), *missing(endless, len(taken), exact=exact, word="infinite")),
    )


def _range(taken: Any) -> tuple[str, ...]:
    extent = reach(*_ends(taken))
    mean = _compute().mean(taken).as_py()
    return (extent,) if extent.startswith("all ") else (extent, f"mean {number(float(mean))}")


def _moments(taken: Any) -> tuple[str, ...]:
    return (span(*(moment(end) for end in _ends(_readable(taken)))),)


def _ends(taken: Any) -> tuple[Any, Any]:
    if sys.modules["pyarrow"].types.is_duration(taken.type):  # Arrow cannot
        values = taken.to_pylist()
        return min(values), max(values)
    ends = _compute().min_max(taken)
    return ends["min"].as_py(), ends["max"].as_py()


def _readable(taken: Any) -> Any:
    """Moments in a unit that Python has."""
    pyarrow, dtype = sys.modules["pyarrow"], taken.type
    if getattr(dtype, "unit", "") != "ns":
        return taken
    coarse = {
        "timestamp[ns": pyarrow.timestamp("us", getattr(dtype, "tz", None)),
        "duration[ns": pyarrow.duration("us"),
    }
    kind = next((coarse[name] for name in coarse if str(dtype).startswith(name)), pyarrow.time64("us"))
    return taken.cast(kind, safe=False)


def _cells(column: Any, most: int, look: Look) -> list[str]:
    """The first values; of what can be long, the beginning or how long it is."""
    return [_cell(column.slice(place, 1), look) for place in range(min(most, len(column)))]


def _cell(one: Any, look: Look) -> str:
    is_ = sys.modules["pyarrow"].types
    if one.null_count:
        return "null"
    texts = _texts(one)
    if texts is not None:
        return beginning(texts[0], look)
    if is_.is_nested(one.type) or is_.is_union(one.type) or is_.is_dictionary(one.type):
        return look.short(one[0].as_py()) if one.nbytes < LONG else _length(one, look)
    if str(one.type) in ("float", "halffloat"):
        return f"{one[0].as_py():.8g}"
    if "binary" in str(one.type):
        return f"{one[0].as_buffer().size:,} bytes"
    return cell(_readable(one)[0].as_py(), look) if is_.is_temporal(one.type) else cell(one[0].as_py(), look)


def _length(one: Any, look: Look) -> str:
    if str(one.type).startswith(("list", "large_list", "fixed_size_list")):
        return f"[{_compute().list_value_length(one)[0].as_py():,} items]"
    return cut(str(one.type), look.letters)


def _table_measure(table: Any) -> str:
    shape = f"{table.num_rows} rows x {table.num_columns} columns"
    if table.num_columns > MANY:
        return shape
    return f"{shape} #{hash(tuple(table.schema.names)) & 0xFFFFFFFF:08x}"


FAMILY = Family(
    {
        "pyarrow.Table": _table,
        "pyarrow.RecordBatch": _table,
        "pyarrow.Array": _array,
        "pyarrow.ChunkedArray": _array,
        "pyarrow.Schema": _schema,
        "pyarrow.Field": _field,
        "pyarrow.DataType": _type,
        "pyarrow.Scalar": _scalar,
        "pyarrow.Dataset": _dataset,
        "pyarrow.RecordBatchReader": _reader,
        "pyarrow.ParquetFile": _file,
    },
    {"pyarrow.Table": _table_measure, "pyarrow.RecordBatch": _table_measure},
    briefs={"pyarrow.Array": _brief, "pyarrow.ChunkedArray": _brief},
)
