"""Reads the variables that `variable_encoding.dump` wrote for this kernel.

Pickles are only read where that is allowed: loading one runs the code in it.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import linecache
import os
import pickle
import sys
from typing import Any

from exploracoder_jupyter.kernel_agent.variable_encoding import SEQUENCES, Value


def load(folder: str, namespace: dict[str, Value], *, pickled: bool = False, mapped: bool = False) -> dict[str, str]:
    """Load the variables of a folder written by `variable_encoding.dump` into a namespace.

    With `mapped`, arrays are mapped into memory, privately: writing to them changes no file. Returns why each variable
    that could not be loaded is missing, as a clause: this interpreter may lack its library.
    """
    documents = {}
    for entry in sorted(os.listdir(folder)):
        name, extension = os.path.splitext(entry)
        if extension == ".json" and name.isidentifier():
            with open(os.path.join(folder, entry), encoding="utf-8") as file:
                documents[name] = json.load(file)
    reader, problems = _Reader(folder, namespace, pickled=pickled, mapped=mapped), {}
    # Modules come first, then values, then definitions in their order, which may read both; a pickle may need all.
    for name in sorted(documents, key=lambda name: _rank(documents[name])):
        try:
            reader.load(name, documents[name])
        except Exception as error:  # code of libraries and of the notebook
            problems[name] = f"{type(error).__name__}: {error}"
    return problems


def _rank(document: Value) -> tuple[int, int]:
    tag = next(iter(document)) if isinstance(document, dict) else ""
    if tag == "source":
        return 2, document[tag][1]
    return (0 if tag in ("module", "import") else 3 if '"pickle"' in json.dumps(document) else 1), 0


class _Reader:
    """Decodes variables into a namespace."""

    def __init__(self, folder: str, namespace: dict[str, Value], *, pickled: bool, mapped: bool) -> None:
        self._folder, self._namespace = folder, namespace
        self._pickled, self._mapped = pickled, mapped

    def load(self, name: str, document: Value) -> None:
        """Put the variable into the namespace."""
        tag = next(iter(document)) if isinstance(document, dict) else ""
        if tag == "source":
            source, place = document[tag]
            file = f"<notebook {place}>"
            linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
            exec(compile(source, file, "exec"), self._namespace)
        else:
            self._namespace[name] = self.decode(document)

    def decode(self, value: Value) -> Value:
        """Decode a value."""
        if not isinstance(value, dict):
            return value
        ((tag, body),) = value.items()
        if tag in SEQUENCES:
            return SEQUENCES[tag]([self.decode(item) for item in body])
        if tag == "dict":
            return {self.decode(key): self.decode(item) for key, item in body}
        return getattr(self, f"_decode_{tag}")(body)

    def _path(self, file: str) -> str:
        return os.path.join(self._folder, file)

    def _decode_module(self, name: str) -> Value:
        __import__(name)
        return sys.modules[name]

    def _decode_import(self, where: list[str]) -> Value:
        value = self._decode_module(where[0])
        for part in where[1].split("."):
            value = getattr(value, part)
        return value

    def _decode_pickle(self, file: str) -> Value:
        if not self._pickled:
            raise ValueError("The variables include a pickle, but pickles are not allowed.")
        with open(self._path(file), "rb") as stream:
            return pickle.load(stream)

    def _decode_bytes(self, text: str) -> bytes:
        return base64.b64decode(text)

    def _decode_bytearray(self, text: str) -> bytearray:
        return bytearray(base64.b64decode(text))

    def _decode_complex(self, parts: list[float]) -> complex:
        return complex(*parts)

    def _decode_range(self, parts: list[Value]) -> range:
        return range(*map(self.decode, parts))

    def _decode_slice(self, parts: list[Value]) -> slice:
        return slice(*map(self.decode, parts))

    def _decode_decimal(self, text: str) -> decimal.Decimal:
        return decimal.Decimal(text)

    def _decode_timedelta(self, parts: list[int]) -> datetime.timedelta:
        return datetime.timedelta(*parts)

    def _decode_date(self, text: str) -> Value:
        return datetime.date.fromisoformat(text)

    def _decode_datetime(self, text: str) -> Value:
        return datetime.datetime.fromisoformat(text)

    def _decode_time(self, text: str) -> Value:
        return datetime.time.fromisoformat(text)

    def _decode_array(self, file: str) -> Value:
        import numpy

        path = self._path(file)
        if self._mapped and os.path.getsize(path) > 65_536:
            # A plain array, not `memmap`, which prints and behaves a little differently; copied where it is written.
            return numpy.asarray(numpy.load(path, mmap_mode="c", allow_pickle=False))
        return numpy.load(path, allow_pickle=False)

    def _decode_objects(self, body: list[Value]) -> Value:
        import numpy

        shape, items = body
        array = numpy.empty(len(items), dtype=object)
        array[:] = [self.decode(item) for item in items]
        return array.reshape(shape)

    def _decode_scalar(self, file: str) -> Value:
        return self._decode_array(file)[()]

    def _decode_frame(self, body: list[Value]) -> Value:
        file, dtypes, *labels = body
        # Blocks of its own: those of a mapped file could not be written to.
        frame = self._read_arrow(file).to_pandas(integer_object_nulls=True)
        for place, dtype in enumerate(dtypes):
            if dtype == "object" and str(frame.dtypes.iloc[place]) != dtype:
                frame.isetitem(place, frame.iloc[:, place].astype(object))
        return self._label(frame, *labels)

    def _decode_columns(self, body: list[Value]) -> Value:
        import pandas

        index, columns, *labels = body
        levels = [*range(len(index))]
        series = {place: pandas.Series(self.decode(its), dtype=dtype) for place, (dtype, its) in enumerate(columns)}
        frame = pandas.DataFrame(series).set_index(levels).rename_axis(index=[self.decode(name) for name in index])
        if len(levels) == 1 and frame.index.dtype == "int64" and (frame.index == pandas.RangeIndex(len(frame))).all():
            frame.index = pandas.RangeIndex(len(frame), name=frame.index.name)
        return self._label(frame, *labels)

    def _label(self, frame: Value, columns: list[Value], names: list[Value]) -> Value:
        """Name the columns of a frame of pandas."""
        import pandas

        decoded = [self.decode(name) for name in columns]
        if len(names) > 1:
            frame.columns = pandas.MultiIndex.from_tuples(decoded)
        elif decoded != [str(place) for place in range(len(decoded))]:
            frame.columns = pandas.Index(decoded, tupleize_cols=False)
        return frame.rename_axis(columns=[self.decode(name) for name in names])

    def _decode_series(self, body: list[Value]) -> Value:
        return self.decode(body[0])["values"].rename(self.decode(body[1]))

    def _decode_index(self, body: Value) -> Value:
        return self.decode(body).index

    def _decode_polars(self, body: list[str]) -> Value:
        import polars

        file, schema = body
        # A column that is one chunk is taken over as it is. `from_arrow` and `read_ipc` start the threads of Polars,
        # after which this kernel could not be forked any more.
        try:
            table = self._read_arrow(file)
            arrays = (one.chunk(0) if one.num_chunks == 1 else one.combine_chunks() for one in table.columns)
            frame = polars.DataFrame([polars.Series(*one) for one in zip(table.column_names, arrays, strict=True)])
            if str(frame.schema) == schema:
                return frame
        except Exception:  # no pyarrow, or one that lacks a type of Polars
            pass
        return polars.read_ipc(self._path(file))

    def _decode_polars_series(self, body: list[Value]) -> Value:
        return self.decode(body[0]).to_series().rename(body[1])

    def _decode_arrow(self, body: list[str]) -> Value:
        table = self._read_arrow(body[0])
        if body[1] == "table":
            return table
        if body[1] == "batch":
            return self._batch(table)
        column = table.column("values")
        return column if body[1] == "chunked" else column.combine_chunks()

    def _batch(self, table: Value) -> Value:
        import pyarrow

        batches = table.combine_chunks().to_batches()
        return batches[0] if batches else pyarrow.RecordBatch.from_pylist([], schema=table.schema)

    def _read_arrow(self, file: str) -> Any:
        import pyarrow

        path = self._path(file)
        source = pyarrow.memory_map(path) if self._mapped else pyarrow.OSFile(path)
        return pyarrow.ipc.open_file(source, options=pyarrow.ipc.IpcReadOptions(use_threads=False)).read_all()

    def _decode_dataset(self, body: list[Value]) -> Value:
        import xarray

        data, coords = (
            {self.decode(name): xarray.Variable(*map(self.decode, rest)) for name, *rest in part} for part in body[:2]
        )
        return xarray.Dataset(data, coords, self.decode(body[2]))

    def _decode_labelled(self, body: list[Value]) -> Value:
        return self.decode(body[0])["_explora_values"].rename(self.decode(body[1]))
