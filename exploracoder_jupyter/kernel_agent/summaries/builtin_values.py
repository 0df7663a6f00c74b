"""Values of the interpreter and its standard library: files, generators, threads and processes among them."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import python_objects, value_text
from exploracoder_jupyter.kernel_agent.summaries.facts import (
    Describe,
    Fact,
    Measure,
    SummaryOptions,
    TypeFamily,
    format_size,
)

# Files, paths and generators. Anything that can be read only once is not read.

_MAX_STREAM_LENGTH = 100
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
    yield Fact(f"begins {content[:_MAX_STREAM_LENGTH]!r}", shows=True)


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


# Values of the interpreter itself and of its standard library.
#
# Containers are described by their structure rather than dumped. The keys of a dict are data, except for field
# names that the dicts in a list have in common (see `value_text`).

_MAX_LENGTH = 200
"""Characters of a text, or of a line of items."""
_MAX_COMPARED_ITEMS = 1000
"""Maximum items of a container for which the replacement of an item is detected."""
_MAX_LINES = 12
"""Maximum items of a mapping for which each gets its own line."""


def _format_scalar(value: Any) -> str:
    format_scalar = value_text.scalar_formatter(type(value))
    return format_scalar(value, _MAX_LENGTH) if format_scalar else type_path(value)


def _describe_scalar(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(_format_scalar(value), shows=True)


def _describe_number(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    base: Any = next(kind for kind in (int, float, complex) if isinstance(value, kind))
    yield Fact(_format_scalar(base.__add__(value, base())), shows=True)


def _describe_text(value: str, options: SummaryOptions) -> Iterator[Fact]:
    text = str.__str__(value)
    count = value_text.format_count(len(text), "character")
    if len(text) <= _MAX_LENGTH:
        yield Fact(repr(text), shows=True, schema=count)
        return
    yield Fact(f"{count}, {text.count(chr(10)) + 1:,} lines" if "\n" in text else count)
    yield Fact(f"begins {text[:_MAX_LENGTH]!r}", shows=True)
    yield Fact(f"ends {text[-_MAX_LENGTH // 4 :]!r}", shows=True)


def _describe_bytes(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    data = value[: _MAX_LENGTH // 4]
    yield Fact(format_size(value.nbytes if isinstance(value, memoryview) else len(value)))
    yield Fact(f"begins {bytes(data)!r}", shows=True)


def _collection_describer(base: Any) -> Describe:
    """Create a describer for this collection type and its subclasses, bypassing the methods that they override."""

    def describe(value: Any, options: SummaryOptions) -> Iterator[Fact]:
        plain = base(base.__iter__(value)) if type(value) is not base else value
        is_named = hasattr(type(value), "_fields") and base is tuple
        return (_named_tuple_facts if is_named else _item_facts)(value, plain, options)

    return describe


def _named_tuple_facts(value: Any, plain: tuple[Any, ...], options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"named tuple, {value_text.format_count(len(plain), 'field')}")
    for name, item in islice(zip(type(value)._fields, plain, strict=False), options.columns):
        yield Fact(f"{name}: {options.short(item)}", True, f"{name}: {value_text.describe_structure(item)}")


def _item_facts(value: Any, plain: Any, options: SummaryOptions) -> Iterator[Fact]:
    if not plain:
        yield Fact("empty")
        return
    max_length = getattr(value, "maxlen", None)
    capacity = f", room for {max_length:,}" if type(max_length) is int else ""
    contents = value_text.describe_contents(plain)
    yield Fact(f"{value_text.format_count(len(plain), 'item')}: {contents}{_sample_note(plain)}{capacity}")
    brackets = "[]" if type(plain) is list else "()" if type(plain) is tuple else "{}"
    trailing_comma = "," if type(plain) is tuple and len(plain) == 1 else ""
    items = _join_fitting(map(options.short, islice(plain, 4 * options.rows)), len(plain))
    yield Fact(f"{brackets[0]}{items}{trailing_comma}{brackets[1]}", shows=True)
    yield from _range_facts(plain, options)


def _sample_note(plain: Any) -> str:
    return f" (as {value_text.SAMPLED_ITEMS} of them are)" if len(plain) > value_text.SAMPLED_ITEMS else ""


def _join_fitting(items: Iterable[str], count: int, limit: int = _MAX_LENGTH) -> str:
    """Join the first of `count` items, as many as fit on a line."""
    parts: list[str] = []
    for item in items:
        if parts and sum(map(len, parts)) + len(item) > limit:
            break
        parts.append(item)
    omitted = count - len(parts)
    return ", ".join([*parts, f"... {omitted:,} more"] if omitted else parts)


def _range_facts(plain: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe the range and mean of numbers."""
    numbers = value_text.sample_items(plain, options.sample)
    if len(numbers) <= options.rows or not {*map(type, numbers)} <= {int, float}:
        return
    if any(number != number or abs(number) > 1e300 for number in numbers):  # NaN, or too large to be formatted
        return
    sample_note = f" (of {len(numbers):,} of them)" if len(numbers) < len(plain) else ""
    mean = sum(numbers) / len(numbers)
    yield Fact(f"min {min(numbers):.6g}, max {max(numbers):.6g}, mean {mean:.6g}{sample_note}", shows=True)


def _describe_mapping(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    plain = value if value_text.is_one_of(type(value), value_text.MAPPINGS) else dict(dict.items(value))
    if not plain:
        yield Fact("empty")
        return
    contents = value_text.describe_contents(plain)
    count = value_text.format_count(len(plain), "item")
    factory = getattr(value, "default_factory", None)
    default = f", default {getattr(factory, '__name__', 'made')}()" if factory is not None else ""
    yield Fact(f"{count}: {contents}{_sample_note(plain)}{default}")
    entries: Iterable[tuple[Any, Any]] = plain.items()
    if "most_common" in dir(type(value)) and len(plain) < 10_000:
        entries = sorted(entries, key=lambda entry: entry[1], reverse=True)
    lines = [f"{options.short(key)}: {_format_item(item, options)}" for key, item in islice(entries, options.columns)]
    shown = lines if len(plain) <= _MAX_LINES else [_join_fitting(lines, len(plain), 2 * _MAX_LENGTH)]
    yield from (Fact(line, shows=True) for line in shown)


def _format_item(item: Any, options: SummaryOptions) -> str:
    """Format a value of a mapping: a container by its structure, anything else as it is."""
    is_container = value_text.is_one_of(type(item), (*value_text.COLLECTIONS, *value_text.MAPPINGS))
    short = options.short(item)
    return value_text.describe_structure(item) if is_container and len(short) >= options.cell_width else short


def _describe_by_str(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a value by its `str`, for classes whose `str` is harmless."""
    yield Fact(str(value)[:_MAX_LENGTH], shows=True)


def _describe_enum(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{value.name} = {options.short(value.value)}", shows=True)
    members = list(type(value).__members__)
    yield Fact(f"one of {len(members)}: {', '.join(members[:12])}{', ...' if len(members) > 12 else ''}")


def _measure_length(value: Any) -> str:
    return value_text.format_count(len(value), "item")


def _measure_items(value: Any) -> str:
    """Return the length, and a hash of the identities of the items."""
    if len(value) > _MAX_COMPARED_ITEMS:
        return _measure_length(value)
    items = (*value.keys(), *value.values()) if isinstance(value, dict) else value
    return f"{_measure_length(value)} #{hash(tuple(map(id, items)))}"


def _measure_bytes(value: bytearray) -> str:
    return f"{format_size(len(value))} #{hash(bytes(value[:_MAX_COMPARED_ITEMS]))}"


def _exact_type(measure: Measure, kind: type) -> Measure:
    """Restrict a measure to an exact type, since the methods of a subclass could do anything."""

    def measure_exact(value: Any) -> str:
        return measure(value) if type(value) is kind else type_path(value)

    return measure_exact


_BY_STR = ("builtins.range", "decimal.Decimal", "fractions.Fraction", "uuid.UUID", "zoneinfo.ZoneInfo")
_DESCRIBERS: dict[str, Describe] = {
    **DESCRIBERS,
    **{f"builtins.{kind.__name__}": _collection_describer(kind) for kind in (list, tuple, set, frozenset)},
    "collections.deque": _collection_describer(deque),
    **dict.fromkeys(("builtins.NoneType", "builtins.ellipsis", "builtins.bool"), _describe_scalar),
    **dict.fromkeys(("builtins.int", "builtins.float", "builtins.complex"), _describe_number),
    "builtins.str": _describe_text,
    **dict.fromkeys(("builtins.bytes", "builtins.bytearray", "builtins.memoryview"), _describe_bytes),
    "builtins.dict": _describe_mapping,
    **{f"collections.{kind.__name__}": _describe_mapping for kind in value_text.MAPPINGS[1:]},
    **dict.fromkeys(_BY_STR, _describe_by_str),
    **{f"datetime.{name}": _describe_by_str for name in ("datetime", "date", "time", "timedelta", "timezone")},
    **{f"enum.{name}": _describe_enum for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")},
}
_MEASURES: dict[str, Measure] = {
    "builtins.list": _exact_type(_measure_items, list),
    "builtins.dict": _exact_type(_measure_items, dict),
    **{f"collections.{kind.__name__}": _exact_type(_measure_items, kind) for kind in value_text.MAPPINGS[1:]},
    "collections.deque": _exact_type(_measure_items, deque),
    "builtins.set": _exact_type(_measure_length, set),
    "builtins.bytearray": _exact_type(_measure_bytes, bytearray),
}
FAMILY = TypeFamily(_DESCRIBERS, _MEASURES)


# Threads and processes, and whether they are running.
#
# They are described in the kernel's own process: in a fork of it no other thread is alive, and its children are not
# the fork's. A subclass of theirs is described in a fork all the same, so its state is omitted.


def _describe(worker: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a worker by its `repr`, which has its name and state, or by the attributes of a subclass."""
    if type(worker).__module__.partition(".")[0] in ("threading", "multiprocessing"):
        yield Fact(repr(worker), shows=True)
    else:
        yield Fact(repr(worker.name), shows=True)
        yield from python_objects.field_facts(python_objects.stored_fields(worker), options)


THREADS = TypeFamily({"threading.Thread": _describe, "multiprocessing.BaseProcess": _describe}, in_process=True)
