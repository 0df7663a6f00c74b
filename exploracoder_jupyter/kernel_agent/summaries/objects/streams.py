"""Files, paths, generators and iterators: what can be read once is not read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries import value_text
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Describe, Fact, Look, size

_LONGEST = 200
_ITERATORS = (
    *("list_iterator", "list_reverseiterator", "tuple_iterator", "range_iterator", "str_iterator", "bytes_iterator"),
    *("set_iterator", "dict_keyiterator", "dict_valueiterator", "dict_itemiterator", "callable_iterator", "iterator"),
    *("zip", "map", "filter", "enumerate", "reversed"),
)
_ITERTOOLS = (
    *("count", "cycle", "repeat", "accumulate", "chain", "compress", "dropwhile", "filterfalse", "groupby", "islice"),
    *("pairwise", "starmap", "takewhile", "_tee", "zip_longest", "product", "permutations", "combinations"),
    *("combinations_with_replacement", "batched"),
)
_FILES = ("TextIOWrapper", "BufferedReader", "BufferedWriter", "BufferedRandom", "FileIO")


def _path(value: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{str(value)!r}, {_state_of(value)}", True, _state_of(value))


def _state_of(path: Any) -> str:
    """What lies there. Pure paths are not looked up."""
    if not hasattr(path, "stat"):
        return "not looked up"
    try:
        found = os.stat(path)
    except OSError as error:
        return "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
    if stat.S_ISDIR(found.st_mode):
        return "a folder"
    return f"a file of {size(found.st_size)}" if stat.S_ISREG(found.st_mode) else "no regular file"


def _file(value: Any, look: Look) -> Iterator[Fact]:
    """An open file. Its position is asked of binary ones only: to tell it, a text file writes what it holds back."""
    name, mode = getattr(value, "name", None), getattr(value, "mode", None)
    state = "closed" if value.closed else "open"
    mode = f", mode {mode!r}" if isinstance(mode, str) else ""
    yield Fact(f"{name!r}{mode}, {state}" if name is not None else f"in memory{mode}, {state}", True, f"{state}{mode}")
    encoding = getattr(value, "encoding", None)
    if isinstance(encoding, str):
        yield Fact(f"encoding {encoding}")
    if state == "open" and not hasattr(value, "encoding") and value.seekable():
        yield Fact(f"at byte {value.tell():,}")


def _memory_text(value: Any, look: Look) -> Iterator[Fact]:
    if value.closed:
        yield Fact("in memory, closed")
        return
    held = value.getvalue()
    yield Fact(f"in memory, {len(held):,} {'characters' if isinstance(held, str) else 'bytes'}, at {value.tell():,}")
    yield Fact(f"begins {held[: _LONGEST // 2]!r}", shows=True)


def _generator(prefix: str, states: str) -> Describe:
    """A describer of what is run piece by piece; its fields begin with `gi_`, `cr_`, `ag_`."""

    def describe(value: Any, look: Look) -> Iterator[Fact]:
        frame, code = getattr(value, f"{prefix}_frame"), getattr(value, f"{prefix}_code")
        state = f"{_state(states, value)} at line {frame.f_lineno}" if frame is not None else "finished"
        yield Fact(f"of {value.__qualname__}, {state}, not read")
        if frame is not None:
            variables = {name: item for name, item in frame.f_locals.items() if name.isidentifier()}
            yield Fact(
                f"variables: {_variables(variables, look)}", True, f"variables: {', '.join(variables) or 'none'}"
            )
        yield Fact(f"defined at line {code.co_firstlineno}")

    return describe


def _state(states: str, value: Any) -> str:
    import inspect

    ask = getattr(inspect, states, None)  # Python 3.11 has none for asynchronous generators
    return {"GEN_CREATED": "not started", "CORO_CREATED": "not started", "AGEN_CREATED": "not started"}.get(
        ask(value) if ask else "", "waits"
    )


def _variables(variables: dict[str, Any], look: Look) -> str:
    return ", ".join(f"{name}={look.short(item)}" for name, item in islice(variables.items(), 6)) or "none"


def _iterator(value: Any, look: Look) -> Iterator[Fact]:
    left = getattr(type(value), "__length_hint__", None)
    yield Fact(f"not read, {value_text.counted(left(value), 'item')} left" if left else "not read")


KINDS: dict[str, Describe] = {
    **{f"pathlib.{name}": _path for name in ("PurePath", "Path", "PosixPath", "WindowsPath")},
    **{f"_io.{name}": _file for name in _FILES},
    **dict.fromkeys(("_io.StringIO", "_io.BytesIO"), _memory_text),
    "builtins.generator": _generator("gi", "getgeneratorstate"),
    "builtins.coroutine": _generator("cr", "getcoroutinestate"),
    "builtins.async_generator": _generator("ag", "getasyncgenstate"),
    **{f"builtins.{name}": _iterator for name in _ITERATORS},
    **{f"itertools.{name}": _iterator for name in _ITERTOOLS},
}
