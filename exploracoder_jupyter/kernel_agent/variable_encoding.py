"""Writes values of one kernel to a folder of plain files, for another kernel, without pickles unless allowed.

`dump` runs in the user's kernel; `variable_decoding.load` in a sibling, which may use another interpreter. Each
variable is a JSON document, with tagged containers (`{"tuple": [...]}`) so that their types survive. What is large is a
file beside it: arrays as `.npy`, tables in the file format of Arrow, both uncompressed, so that kernels on this machine
map them into memory instead of reading them. Functions and classes of the notebook are their source code, with the
names that it reads. With `pickled`, values without such a form are pickled.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import datetime
import decimal
import json
import linecache
import os
import pickle
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

Value = Any
_PLAIN = (type(None), bool, int, float, str)
SEQUENCES: dict[str, Callable[[list[Value]], Value]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}
_TIMES = {"date": datetime.date, "datetime": datetime.datetime, "time": datetime.time}
_MAX_ITEMS = 2_000_000
"""Items of builtin containers in one variable: each takes about a microsecond to write and to read."""


class VariableTransferError(ValueError):
    """A variable cannot be transferred. The message is one sentence with its name and type."""


def dump(
    names: Iterable[str],
    namespace: Mapping[str, Value],
    folder: str,
    *,
    pickled: bool = False,
    most_bytes: int | None = None,
    withheld: Collection[str] = (),
) -> None:
    """Write the named variables into the folder, which is created if necessary, with what notebook functions read.

    Args:
        names: the variables.
        namespace: the namespace of the kernel.
        folder: the folder; what it contains already is not written again.
        pickled: whether values without another form are pickled.
        most_bytes: limit on the size of the folder; `None` for no limit.
        withheld: variables that must not be written, such as credentials.

    Raises VariableTransferError if a name is unknown, or its value has no supported type or is too large. What is in
    the folder then is incomplete for that name.
    """
    os.makedirs(folder, exist_ok=True)
    for name in names:
        remaining, done = [name], set()
        while remaining:
            current = remaining.pop()
            path = os.path.join(folder, f"{current}.json")
            if current in done or os.path.exists(path):
                continue
            done.add(current)
            if current not in namespace:
                raise VariableTransferError(f"There is no variable {current!r}.")
            if current in withheld:
                raise VariableTransferError(f"The variable {name!r} needs {current!r}, which looks like a credential.")
            room = None if most_bytes is None else most_bytes - _size_of(folder)
            writer = _Writer(current, namespace, folder, pickled, room)
            try:
                document = json.dumps(writer.encode_variable(namespace[current]))
            except RecursionError:
                raise writer.transfer_error(namespace[current], "it contains itself, or is nested too deeply") from None
            writer.reserve(len(document))
            with open(path, "w", encoding="utf-8") as file:
                file.write(document)
            remaining += [needed for needed in writer.needed if needed not in done]


def dump_each(
    names: Iterable[str],
    namespace: Mapping[str, Value],
    folder: str,
    *,
    pickled: bool = False,
    most_bytes: int | None = None,
    withheld: Collection[str] = (),
) -> dict[str, str]:
    """As `dump`, but return why a variable is not in the folder, as a sentence by its name."""
    problems = {}
    for name in names:
        if name in withheld:
            problems[name] = f"The variable {name!r} looks like a credential."
            continue
        before = set(os.listdir(folder))
        try:
            dump([name], namespace, folder, pickled=pickled, most_bytes=most_bytes, withheld=withheld)
        except (VariableTransferError, ImportError, OSError) as error:
            problems[name] = str(error)
            for left in set(os.listdir(folder)) - before:  # incomplete: a full disk, or it needs what cannot be sent
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, left))
    return problems


def _size_of(folder: str) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(folder))


class _Writer:
    """Encodes one variable; arrays and tables go into separate files."""

    def __init__(self, name: str, namespace: Mapping[str, Value], folder: str, pickled: bool, room: int | None) -> None:
        self._name, self._namespace, self._folder = name, namespace, folder
        self._pickled, self._room = pickled, room
        self._files = self._items = 0
        self.needed: list[str] = []
        """Other variables that the value reads."""

    def encode_variable(self, value: Value) -> Value:
        """Encode a value that is a variable of its own, which may also be a module, a function or a class."""
        if isinstance(value, ModuleType):
            return {"module": value.__name__}
        if isinstance(value, (FunctionType, BuiltinFunctionType, type)):
            return self._encode_definition(value)
        return self.encode(value)

    def encode(self, value: Value) -> Value:
        """Encode a value; one without a plain form is pickled as a whole, if that is allowed."""
        kind, module = type(value), type(value).__module__.partition(".")[0]
        self._count()
        if kind in _PLAIN:
            return value
        if kind.__name__ in SEQUENCES and kind.__module__ == "builtins":
            return {kind.__name__: [self.encode(item) for item in value]}
        if kind is dict:
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if module in ("builtins", "datetime", "decimal"):
            return self._encode_builtin(value)
        encode = _ENCODERS.get(module)
        if encode and module in sys.modules:
            try:
                encoded = encode(self, sys.modules[module], value)
            except VariableTransferError:
                raise
            except Exception as error:  # libraries raise different errors for values that have no plain form
                return self._encode_pickle(value, str(error).splitlines()[0] if str(error) else type(error).__name__)
            if encoded is not None:
                return encoded
        return self._encode_pickle(value, "")

    def reserve(self, size: int) -> None:
        """Raise VariableTransferError if so many more bytes exceed the limit."""
        if self._room is None:
            return
        self._room -= size
        if self._room < 0:
            raise VariableTransferError(
                f"The variable {self._name!r} is too large to be sent to another kernel ({size / 1e6:,.0f} MB); the "
                "setting `variables_mb` allows more."
            )

    def next_file(self, extension: str) -> tuple[str, str]:
        """Return a new file's name and its path."""
        self._files += 1
        name = f"{self._name}.{self._files}.{extension}"
        return name, os.path.join(self._folder, name)

    def _count(self) -> None:
        self._items += 1
        if self._items > _MAX_ITEMS:
            raise VariableTransferError(
                f"The variable {self._name!r} holds more than {_MAX_ITEMS:,} objects, which is too much to be sent to "
                "another kernel."
            )

    def _encode_builtin(self, value: Value) -> Value:
        kind = type(value)
        if kind in (bytes, bytearray):
            self.reserve(len(value))
            return {kind.__name__: base64.b64encode(value).decode()}
        if kind is complex:
            return {"complex": [value.real, value.imag]}
        if kind in (range, slice):
            return {kind.__name__: [self.encode(part) for part in (value.start, value.stop, value.step)]}
        if kind is decimal.Decimal:
            return {"decimal": str(value)}
        if kind is datetime.timedelta:
            return {"timedelta": [value.days, value.seconds, value.microseconds]}
        if kind in _TIMES.values() and getattr(value, "fold", 0) == 0:
            zone = getattr(value, "tzinfo", None)
            if zone is None or type(zone) is datetime.timezone:
                return {kind.__name__: value.isoformat()}
        return self._encode_pickle(value, "")

    def _encode_definition(self, value: Value) -> Value:
        """Encode a function or class: the import of one from a module, the source of one from the notebook."""
        if value.__module__ != "__main__":
            return {"import": [str(value.__module__), value.__qualname__]}
        source, place = _find_source(value)
        if not source:
            raise self.transfer_error(value, "its source code is not known")
        reads = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        self.needed += sorted(name for name in reads if name in self._namespace and name != self._name)
        return {"source": [source, place]}

    def _encode_pickle(self, value: Value, why: str) -> Value:
        """Pickle as a last resort; `why` is the reason why the plain forms do not work."""
        if not self._pickled:
            raise self.transfer_error(value, why)
        name, path = self.next_file("pickle")
        try:
            with open(path, "wb") as target:
                _Pickler(target, self._require).dump(value)
        except Exception as error:  # runs the value's own code, which may raise anything
            raise self.transfer_error(value, f"it cannot be pickled: {error}") from error
        self.reserve(os.path.getsize(path))
        return {"pickle": name}

    def _require(self, definition: Value) -> bool:
        """Send a class or function of the notebook along, so that a pickle that names it can be loaded."""
        name = definition.__qualname__
        if self._namespace.get(name) is not definition or not _find_source(definition)[0]:
            return False
        self.needed.append(name)
        return True

    def transfer_error(self, value: Value, why: str = "") -> VariableTransferError:
        cls = type(value)
        reason = f" ({why})" if why else ""
        return VariableTransferError(
            f"The variable {self._name!r} holds a {cls.__module__}.{cls.__qualname__}, which cannot be sent to another "
            f"kernel{reason}."
        )


def _encode_array(writer: _Writer, numpy: Any, value: Value) -> Value:
    if type(value) is not numpy.ndarray and not isinstance(value, numpy.generic):
        return None
    if value.dtype.kind == "O" and type(value) is numpy.ndarray:
        return {"objects": [list(value.shape), [writer.encode(item) for item in value.ravel()]]}
    writer.reserve(value.nbytes)
    name, path = writer.next_file("npy")
    numpy.save(path, value, allow_pickle=False)  # raises for records that contain objects
    return {"array" if type(value) is numpy.ndarray else "scalar": name}


def _encode_pandas(writer: _Writer, pandas: Any, value: Value) -> Value:
    if type(value) is pandas.Series:
        return {"series": [_encode_frame(writer, value.to_frame("values")), writer.encode(value.name)]}
    if isinstance(value, pandas.Index):
        return {"index": _encode_frame(writer, pandas.DataFrame(index=value))}
    return _encode_frame(writer, value) if type(value) is pandas.DataFrame else None


def _encode_frame(writer: _Writer, frame: Value) -> Value:
    """Write a frame of pandas as an Arrow file, or column by column without pyarrow."""
    writer.reserve(int(frame.memory_usage(index=True).sum()))
    labels = [writer.encode(name) for name in frame.columns], [writer.encode(name) for name in frame.columns.names]
    numbered = frame.set_axis([str(place) for place in range(frame.shape[1])], axis=1)
    try:
        import pyarrow
    except ImportError:
        return {"columns": [*_encode_columns(writer, numbered), *labels]}
    name, path = writer.next_file("arrow")
    _write_arrow(pyarrow, pyarrow.Table.from_pandas(numbered), path)
    return {"frame": [name, [str(dtype) for dtype in frame.dtypes], *labels]}


def _encode_columns(writer: _Writer, frame: Value) -> tuple[list[Value], list[Value]]:
    """Encode the names of the index of a frame of pandas, and its columns after those of the index."""
    index = [writer.encode(name) for name in frame.index.names]
    named = frame.rename_axis(index=[f"_explora_{level}" for level in range(len(index))]).reset_index()
    columns = []
    for _, column in named.items():
        if str(column.dtype) not in ("str", "string") and not hasattr(column.dtype, "byteorder"):
            raise ValueError(f"a column is of the type {column.dtype}, which takes pyarrow to send")
        columns.append([str(column.dtype), writer.encode(column.to_numpy())])
    return index, columns


def _encode_polars(writer: _Writer, polars: Any, value: Value) -> Value:
    if type(value) is polars.Series:
        return {"polars_series": [_encode_polars(writer, polars, value.to_frame("values")), value.name]}
    if type(value) is not polars.DataFrame:
        return None
    writer.reserve(value.estimated_size())
    name, path = writer.next_file("arrow")
    value.write_ipc(path, compression="uncompressed")
    return {"polars": [name, str(value.schema)]}


def _encode_arrow(writer: _Writer, pyarrow: Any, value: Value) -> Value:
    tables = {pyarrow.Table: "table", pyarrow.RecordBatch: "batch", pyarrow.ChunkedArray: "chunked"}
    kind = tables.get(type(value)) or ("array" if isinstance(value, pyarrow.Array) else None)
    if kind is None:
        return None
    writer.reserve(value.nbytes)
    name, path = writer.next_file("arrow")
    if kind == "batch":
        table = pyarrow.Table.from_batches([value])
    else:
        table = value if kind == "table" else pyarrow.table({"values": value})
    _write_arrow(pyarrow, table, path)
    return {"arrow": [name, kind]}


def _write_arrow(pyarrow: Any, table: Any, path: str) -> None:
    with pyarrow.OSFile(path, "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)


def _encode_labelled(writer: _Writer, xarray: Any, value: Value) -> Value:
    """Encode a data array or data set of xarray; one that is computed lazily is not computed here."""
    if type(value) is xarray.DataArray:
        name = writer.encode(value.name)
        return {"labelled": [_encode_labelled(writer, xarray, value.to_dataset(name="_explora_values")), name]}
    if type(value) is not xarray.Dataset:
        return None
    if value.chunks:
        raise ValueError("it is computed lazily")
    parts = {"data": value.data_vars, "coords": value.coords}
    encoded = {
        part: [[writer.encode(name), *_encode_dimensions(writer, its)] for name, its in variables.items()]
        for part, variables in parts.items()
    }
    return {"dataset": [encoded["data"], encoded["coords"], writer.encode(dict(value.attrs))]}


def _encode_dimensions(writer: _Writer, variable: Value) -> list[Value]:
    return [writer.encode(tuple(variable.dims)), writer.encode(variable.values), writer.encode(dict(variable.attrs))]


_ENCODERS: dict[str, Callable[[_Writer, Any, Value], Value]] = {
    "numpy": _encode_array,
    "pandas": _encode_pandas,
    "polars": _encode_polars,
    "pyarrow": _encode_arrow,
    "xarray": _encode_labelled,
}
"""By library, what encodes its values: `None` for one of another type; any error means that there is no plain form."""


class _Pickler(pickle.Pickler):
    """Refuses what is defined in the notebook and cannot be sent along: another kernel could not load it."""

    def __init__(self, target: Any, require: Callable[[Value], bool]) -> None:
        super().__init__(target, pickle.HIGHEST_PROTOCOL)
        self._require = require

    def reducer_override(self, value: Value) -> Any:
        if isinstance(value, (type, FunctionType)) and value.__module__ == "__main__" and not self._require(value):
            raise pickle.PicklingError(f"{value.__qualname__} is defined in the notebook")
        return NotImplemented


def _find_source(definition: Value) -> tuple[str, int]:
    """Return the source code of a function or class of the notebook and its place in the order of cells.

    The code is empty if it is not known. IPython keeps the code of cells in `linecache`.
    """
    name = definition.__qualname__
    code = getattr(definition, "__code__", None)
    cells = [*linecache.cache.items()]
    for place, (file, entry) in reversed([*enumerate(cells)]):
        if len(entry) < 3 or os.path.exists(file) or (code is not None and file != code.co_filename):
            continue
        text = "".join(entry[2])
        for node in _definitions(text):
            if node.name == name:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                return "\n".join(text.splitlines()[first - 1 : node.end_lineno]), place
    return "", 0


def _definitions(text: str) -> Iterator[Any]:
    """Yield the functions and classes that code defines at its top level, the last first."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return
    yield from (
        node for node in reversed(body) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    )
