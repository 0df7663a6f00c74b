"""Files, paths, generators and iterators. Anything that can be read only once is not read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries import value_text
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Describe, Fact, format_size
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_LENGTH = 200
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


def _describe_path(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{str(value)!r}, {_path_state(value)}", True, _path_state(value))


def _path_state(path: Any) -> str:
    """Describe what the path points to. Pure paths are not looked up."""
    if not hasattr(path, "stat"):
        return "not looked up"
    try:
        status = os.stat(path)
    except OSError as error:
        return "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
    if stat.S_ISDIR(status.st_mode):
        return "a folder"
    return f"a file of {format_size(status.st_size)}" if stat.S_ISREG(status.st_mode) else "no regular file"


def _describe_file(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe an open file. Only binary files report their position: a text file's `tell` flushes its buffer."""
    name, mode = getattr(value, "name", None), getattr(value, "mode", None)
    state = "closed" if value.closed else "open"
    mode = f", mode {mode!r}" if isinstance(mode, str) else ""
    yield Fact(f"{name!r}{mode}, {state}" if name is not None else f"in memory{mode}, {state}", True, f"{state}{mode}")
    encoding = getattr(value, "encoding", None)
    if isinstance(encoding, str):
        yield Fact(f"encoding {encoding}")
    if state == "open" and not hasattr(value, "encoding") and value.seekable():
        yield Fact(f"at byte {value.tell():,}")


def _describe_buffer(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    if value.closed:
        yield Fact("in memory, closed")
        return
    content = value.getvalue()
    yield Fact(
        f"in memory, {len(content):,} {'characters' if isinstance(content, str) else 'bytes'}, at {value.tell():,}"
    )
    yield Fact(f"begins {content[: _MAX_LENGTH // 2]!r}", shows=True)


def _generator_describer(prefix: str, inspector_name: str) -> Describe:
    """Create a describer of generators, coroutines or asynchronous generators (`gi_`, `cr_`, `ag_` attributes)."""

    def describe(value: Any, options: SummaryOptions) -> Iterator[Fact]:
        frame, code = getattr(value, f"{prefix}_frame"), getattr(value, f"{prefix}_code")
        state = (
            f"{_generator_state(inspector_name, value)} at line {frame.f_lineno}" if frame is not None else "finished"
        )
        yield Fact(f"of {value.__qualname__}, {state}, not read")
        if frame is not None:
            variables = {name: item for name, item in frame.f_locals.items() if name.isidentifier()}
            yield Fact(
                f"variables: {_format_variables(variables, options)}",
                True,
                f"variables: {', '.join(variables) or 'none'}",
            )
        yield Fact(f"defined at line {code.co_firstlineno}")

    return describe


def _generator_state(inspector_name: str, value: Any) -> str:
    import inspect

    inspector = getattr(inspect, inspector_name, None)  # Python 3.11 has none for asynchronous generators
    return {"GEN_CREATED": "not started", "CORO_CREATED": "not started", "AGEN_CREATED": "not started"}.get(
        inspector(value) if inspector else "", "waits"
    )


def _format_variables(variables: dict[str, Any], options: SummaryOptions) -> str:
    return ", ".join(f"{name}={options.short(item)}" for name, item in islice(variables.items(), 6)) or "none"


def _describe_iterator(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    length_hint = getattr(type(value), "__length_hint__", None)
    yield Fact(f"not read, {value_text.format_count(length_hint(value), 'item')} left" if length_hint else "not read")


DESCRIBERS: dict[str, Describe] = {
    **{f"pathlib.{name}": _describe_path for name in ("PurePath", "Path", "PosixPath", "WindowsPath")},
    **{f"_io.{name}": _describe_file for name in _FILES},
    **dict.fromkeys(("_io.StringIO", "_io.BytesIO"), _describe_buffer),
    "builtins.generator": _generator_describer("gi", "getgeneratorstate"),
    "builtins.coroutine": _generator_describer("cr", "getcoroutinestate"),
    "builtins.async_generator": _generator_describer("ag", "getasyncgenstate"),
    **{f"builtins.{name}": _describe_iterator for name in _ITERATORS},
    **{f"itertools.{name}": _describe_iterator for name in _ITERTOOLS},
}
