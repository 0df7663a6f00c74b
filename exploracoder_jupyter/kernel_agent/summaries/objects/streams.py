"""Files, paths and generators. Anything that can be read only once is not read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Describe, Fact, format_size
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_LENGTH = 100
_FILES = ("TextIOWrapper", "BufferedReader", "BufferedWriter", "BufferedRandom", "FileIO")


def _describe_path(path: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a path and what it points to. Pure paths are not looked up."""
    try:
        status = os.stat(path) if hasattr(path, "stat") else None
    except OSError as error:
        state = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
    else:
        if status is None:
            state = "not looked up"
        elif stat.S_ISREG(status.st_mode):
            state = f"a file of {format_size(status.st_size)}"
        else:
            state = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
    yield Fact(f"{str(path)!r}, {state}", True, state)


def _describe_file(file: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe an open file. Only binary files report their position: a text file's `tell` flushes its buffer."""
    mode, encoding = getattr(file, "mode", None), getattr(file, "encoding", None)
    state = "closed" if file.closed else "open"
    state += f", mode {mode!r}" if isinstance(mode, str) else ""
    state += f", encoding {encoding}" if isinstance(encoding, str) else ""
    if not file.closed and not hasattr(file, "encoding") and file.seekable():
        state += f", at byte {file.tell():,}"
    yield Fact(f"{getattr(file, 'name', 'in memory')!r}, {state}", True, state)


def _describe_buffer(buffer: Any, options: SummaryOptions) -> Iterator[Fact]:
    if buffer.closed:
        yield Fact("in memory, closed")
        return
    content = buffer.getvalue()
    unit = "characters" if isinstance(content, str) else "bytes"
    yield Fact(f"in memory, {len(content):,} {unit}, at {buffer.tell():,}")
    yield Fact(f"begins {content[:_MAX_LENGTH]!r}", shows=True)


def _generator_describer(prefix: str) -> Describe:
    """Create a describer of generators, coroutines or asynchronous generators (`gi_`, `cr_`, `ag_` attributes)."""

    def describe(value: Any, options: SummaryOptions) -> Iterator[Fact]:
        frame = getattr(value, f"{prefix}_frame")
        if frame is None:
            yield Fact(f"of {value.__qualname__}, finished")
            return
        yield Fact(f"of {value.__qualname__}, not read, at line {frame.f_lineno}")
        variables = {name: item for name, item in frame.f_locals.items() if name.isidentifier()}
        shown = ", ".join(f"{name}={options.short(item)}" for name, item in islice(variables.items(), 6))
        if shown:
            yield Fact(f"variables: {shown}", True, f"variables: {', '.join(variables)}")

    return describe


DESCRIBERS: dict[str, Describe] = {
    **{f"pathlib.{name}": _describe_path for name in ("PurePath", "Path", "PosixPath", "WindowsPath")},
    **{f"_io.{name}": _describe_file for name in _FILES},
    **dict.fromkeys(("_io.StringIO", "_io.BytesIO"), _describe_buffer),
    "builtins.generator": _generator_describer("gi"),
    "builtins.coroutine": _generator_describer("cr"),
    "builtins.async_generator": _generator_describer("ag"),
}
