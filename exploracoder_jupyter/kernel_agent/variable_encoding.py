"""Transfers values from one kernel to another through a folder of plain files, without pickles unless allowed.

`dump` runs in the user's kernel, `load` in a sibling, which may use another interpreter. Each variable is a JSON
document, with tagged containers (`{"tuple": [...]}`) so that their types survive; arrays are `.npy` files beside it,
tables are Parquet where pyarrow is installed and otherwise JSON with pandas' table schema. With `pickled`, values
without such a form are pickled beside it, and `load` only reads them with `pickled` too: loading a pickle runs the code
in it.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

Value = Any
_PLAIN = (type(None), bool, int, float, str)
_SEQUENCES: dict[str, Callable[[list[Value]], Value]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


class VariableTransferError(ValueError):
    """A variable cannot be transferred. The message is one sentence with its name and type."""


def dump(names: Iterable[str], namespace: Mapping[str, Value], folder: str, *, pickled: bool = False) -> None:
    """Write the named variables into the folder, which is created if necessary.

    Raises VariableTransferError if a name is unknown, or the type of its value is not supported.
    """
    os.makedirs(folder, exist_ok=True)
    for name in names:
        if name not in namespace:
            raise VariableTransferError(f"There is no variable {name!r}.")
        document = _Writer(name, folder, pickled).encode(namespace[name])
        with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(document, file)


def load(folder: str, *, pickled: bool = False) -> dict[str, Value]:
    """Load the variables from a folder written by `dump`.

    Raises ImportError if a table, an array or a pickle needs a library that this interpreter lacks. Raises ValueError
    if there is a pickle, and pickles are not allowed.
    """

    def decode(value: Value) -> Value:
        if not isinstance(value, dict):
            return value
        ((tag, body),) = value.items()
        if tag in _SEQUENCES:
            return _SEQUENCES[tag]([decode(item) for item in body])
        if tag == "dict":
            return {decode(key): decode(item) for key, item in body}
        if tag == "series":
            return decode(body[0])["values"].rename(decode(body[1]))
        path = os.path.join(folder, body)
        if tag == "pickle":
            if not pickled:
                raise ValueError("The variables include a pickle, but pickles are not allowed.")
            with open(path, "rb") as stream:
                return pickle.load(stream)
        if tag in ("array", "scalar"):
            import numpy

            array = numpy.load(path, allow_pickle=False)
            return array[()] if tag == "scalar" else array
        import pandas

        return pandas.read_parquet(path) if tag == "parquet" else pandas.read_json(path, orient="table")

    found = {}
    for entry in sorted(os.listdir(folder)):
        name, extension = os.path.splitext(entry)
        if extension == ".json" and name.isidentifier():
            with open(os.path.join(folder, entry), encoding="utf-8") as file:
                found[name] = decode(json.load(file))
    return found


class _Writer:
    """Encodes one variable; arrays and tables go into separate files."""

    def __init__(self, name: str, folder: str, pickled: bool) -> None:
        self._name, self._folder, self._pickled, self._files = name, folder, pickled, 0

    def encode(self, value: Value) -> Value:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind.__name__ in _SEQUENCES and kind.__module__ == "builtins":
            return {kind.__name__: [self.encode(item) for item in value]}
        if kind is dict:
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
        if numpy and (type(value) is numpy.ndarray or isinstance(value, numpy.generic)):
            return self._encode_array(numpy, value)
        if pandas and type(value) is pandas.Series:
            name = self.encode(value.name)
            return {"series": [self._encode_table(value.to_frame("values")), name]}
        if pandas and type(value) is pandas.DataFrame:
            return self._encode_table(value)
        return self._encode_pickle(value, "")

    def _encode_pickle(self, value: Value, why: str) -> Value:
        """Pickle as a last resort; `why` is the reason why the plain forms do not work."""
        if not self._pickled:
            raise self._transfer_error(value, why)
        file = self._next_file("pickle")
        try:
            with open(os.path.join(self._folder, file), "wb") as target:
                _Pickler(target, pickle.HIGHEST_PROTOCOL).dump(value)
        except Exception as error:  # runs the value's own code, which may raise anything
            raise self._transfer_error(value, f"it cannot be pickled: {error}") from error
        return {"pickle": file}

    def _encode_array(self, numpy: Any, value: Value) -> Value:
        file = self._next_file("npy")
        try:
            numpy.save(os.path.join(self._folder, file), value, allow_pickle=False)
        except ValueError:
            return self._encode_pickle(value, f"its dtype is {value.dtype}")
        return {"array" if type(value) is numpy.ndarray else "scalar": file}

    def _encode_table(self, table: Value) -> Value:
        writers: dict[str, Callable[[str], None]] = {
            "parquet": lambda path: table.to_parquet(path, engine="pyarrow"),
            "table": lambda path: table.to_json(path, orient="table", double_precision=15),
        }
        for kind, write in writers.items():
            file = self._next_file(kind)
            try:
                write(os.path.join(self._folder, file))
            except ImportError:
                continue
            except Exception as error:  # they raise different errors for different kinds of columns
                return self._encode_pickle(table, str(error))
            return {kind: file}
        return self._encode_pickle(table, "")

    def _next_file(self, extension: str) -> str:
        self._files += 1
        return f"{self._name}.{self._files}.{extension}"

    def _transfer_error(self, value: Value, why: str = "") -> VariableTransferError:
        cls = type(value)
        reason = f" ({why})" if why else ""
        return VariableTransferError(
            f"The variable {self._name!r} holds a {cls.__module__}.{cls.__qualname__}, which cannot be sent to another "
            f"kernel{reason}."
        )


class _Pickler(pickle.Pickler):
    """Refuses anything defined in the notebook: another kernel lacks the class and could not load it."""

    def reducer_override(self, value: Value) -> Any:
        if isinstance(value, (type, FunctionType)) and value.__module__ == "__main__":
            raise pickle.PicklingError(f"{value.__qualname__} is defined in the notebook")
        return NotImplemented
