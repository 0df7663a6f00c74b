"""Values of the interpreter itself and of its standard library.

Containers are described by their structure rather than dumped. The keys of a dict are data, except for field names that
the dicts in a list have in common (see `value_text`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import value_text
from exploracoder_jupyter.kernel_agent.summaries.objects import streams
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Describe, Fact, Measure, TypeFamily, format_size
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MAX_LENGTH = 200
"""Characters of a text, or of a line of items."""
_MAX_COMPARED_ITEMS = 1000
"""Maximum items of a container for which the replacement of an item is detected."""
_MAX_LINES = 12
"""Maximum items of a mapping for which each gets its own line."""
_NUMBER_TYPES = frozenset([int, float])


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


def _describe_range(value: range, options: SummaryOptions) -> Iterator[Fact]:
    count = "many numbers" if abs(value.stop - value.start) >> 60 else value_text.format_count(len(value), "number")
    if not value:
        yield Fact("empty")
        return
    ends = f"{value_text.format_integer(value[0])} to {value_text.format_integer(value[-1])}"
    yield Fact(f"{count}, {ends}, step {value_text.format_integer(value.step)}", True, count)


def _collection_describer(base: Any) -> Describe:
    """Create a describer for this collection type and its subclasses, bypassing the methods that they override."""

    def describe(value: Any, options: SummaryOptions) -> Iterator[Fact]:
        plain = base(base.__iter__(value)) if type(value) is not base else value
        if hasattr(type(value), "_fields") and base is tuple:
            yield from _named_tuple_facts(value, plain, options)
            return
        yield from _item_facts(value, plain, options)

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
    yield Fact(_format_first_items(plain, options), shows=True)
    yield from _range_facts(plain, options)


def _sample_note(plain: Any) -> str:
    return f" (as {value_text.SAMPLED_ITEMS} of them are)" if len(plain) > value_text.SAMPLED_ITEMS else ""


def _format_first_items(plain: Any, options: SummaryOptions) -> str:
    """Return the first items on a line, as many as fit."""
    parts: list[str] = []
    for item in islice(plain, 4 * options.rows):
        parts.append(options.short(item))
        if len(parts) > 1 and sum(map(len, parts)) > _MAX_LENGTH:
            parts.pop()
            break
    omitted = len(plain) - len(parts)
    brackets = "[]" if type(plain) is list else "()" if type(plain) is tuple else "{}"
    trailing_comma = "," if type(plain) is tuple and len(plain) == 1 else ""
    items = ", ".join([*parts, f"... {omitted:,} more"] if omitted else parts)
    return f"{brackets[0]}{items}{trailing_comma}{brackets[1]}"


def _range_facts(plain: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe the range and mean of numbers."""
    numbers = value_text.sample_items(plain, options.sample)
    if (
        len(numbers) <= options.rows
        or not {*map(type, numbers)} <= _NUMBER_TYPES
        or any(_is_unformattable(number) for number in numbers)
    ):
        return
    sample_note = f" (of {len(numbers):,} of them)" if len(numbers) < len(plain) else ""
    yield Fact(
        f"min {min(numbers):.6g}, max {max(numbers):.6g}, mean {sum(numbers) / len(numbers):.6g}{sample_note}",
        shows=True,
    )


def _is_unformattable(number: float) -> bool:
    """Return whether the number is NaN or too large to be formatted."""
    return number != number or abs(number) > 1e300


def _describe_mapping(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    plain = value if value_text.is_one_of(type(value), value_text.MAPPINGS) else dict(dict.items(value))
    if not plain:
        yield Fact("empty")
        return
    contents = value_text.describe_contents(plain)
    count = value_text.format_count(len(plain), "item")
    yield Fact(f"{count}: {contents}{_sample_note(plain)}{_format_default(value)}")
    entries = _most_common(value) if "most_common" in dir(type(value)) else plain.items()
    lines = [f"{options.short(key)}: {_format_item(item, options)}" for key, item in islice(entries, options.columns)]
    yield from (
        Fact(line, shows=True) for line in (lines if len(plain) <= _MAX_LINES else _pack_lines(lines, len(plain)))
    )


def _pack_lines(lines: list[str], count: int) -> Iterator[str]:
    """Pack as many entries as fit into each of two lines."""
    shown = 0
    for _ in range(2):
        lengths = accumulate(len(line) + 2 for line in lines[shown:])
        count_fitting = max(1, sum(length <= _MAX_LENGTH for length in lengths))
        yield ", ".join(lines[shown : shown + count_fitting])
        shown += len(lines[shown : shown + count_fitting])
        if shown == len(lines):
            break
    if shown < count:
        yield f"... {count - shown:,} more items"


def _format_item(item: Any, options: SummaryOptions) -> str:
    """Format a value of a mapping: a container by its structure, anything else as it is."""
    is_container = value_text.is_one_of(type(item), (*value_text.COLLECTIONS, *value_text.MAPPINGS))
    short = options.short(item)
    return value_text.describe_structure(item) if is_container and len(short) >= options.cell_width else short


def _format_default(value: Any) -> str:
    factory = getattr(value, "default_factory", None)
    return f", default {getattr(factory, '__name__', 'made')}()" if factory is not None else ""


def _most_common(value: Any) -> list[tuple[Any, Any]]:
    return sorted(dict.items(value), key=lambda entry: entry[1], reverse=True) if len(value) < 10_000 else []


def _describe_by_str(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a value by its `str`, for classes whose `str` is harmless."""
    yield Fact(str(value)[:_MAX_LENGTH], shows=True)


def _describe_time(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    zone = getattr(value, "tzinfo", None)
    yield Fact(str(value), True, f"time zone {zone}" if zone else "no time zone")


def _describe_enum(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{value.name} = {options.short(value.value)}", shows=True)
    members = list(type(value).__members__)
    yield Fact(f"one of {len(members)}: {', '.join(members[:12])}{', ...' if len(members) > 12 else ''}")


def _describe_pattern(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield (
        Fact(value_text.format_string(value.pattern, _MAX_LENGTH), shows=True)
        if isinstance(value.pattern, str)
        else Fact("of bytes")
    )
    group_names = list(value.groupindex)
    groups = f"{value_text.format_count(value.groups, 'group')}{': ' + ', '.join(group_names) if group_names else ''}"
    yield Fact(f"{groups}, flags {int(value.flags)}")


def _describe_match(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{value_text.format_string(str(value.group()), _MAX_LENGTH)} at {value.span()}", True, "a match")
    yield Fact(f"groups {options.short(value.groups())}", True, value_text.format_count(len(value.groups()), "group"))


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


def _exact_types(measure: Measure, *types: type) -> Measure:
    """Restrict a measure to exact types, since the methods of a subclass could do anything."""

    def measure_exact(value: Any) -> str:
        return measure(value) if value_text.is_one_of(type(value), types) else type_path(value)

    return measure_exact


def _describers() -> Iterator[tuple[str, Describe]]:
    yield from streams.DESCRIBERS.items()
    for name, base in {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}.items():
        yield f"builtins.{name}", _collection_describer(base)
    yield "collections.deque", _collection_describer(deque)
    for names, describe in _DESCRIBERS.items():
        yield from ((name, describe) for name in names)


_DESCRIBERS: dict[tuple[str, ...], Callable[..., Iterator[Fact]]] = {
    ("builtins.NoneType", "builtins.ellipsis", "builtins.bool"): _describe_scalar,
    ("builtins.int", "builtins.float", "builtins.complex"): _describe_number,
    ("builtins.str",): _describe_text,
    ("builtins.bytes", "builtins.bytearray", "builtins.memoryview"): _describe_bytes,
    ("builtins.range",): _describe_range,
    ("builtins.dict",): _describe_mapping,
    ("datetime.datetime", "datetime.time"): _describe_time,
    ("datetime.date", "datetime.timedelta", "datetime.timezone", "zoneinfo.ZoneInfo"): _describe_by_str,
    ("decimal.Decimal", "fractions.Fraction", "uuid.UUID"): _describe_by_str,
    ("enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"): _describe_enum,
    ("re.Pattern",): _describe_pattern,
    ("re.Match",): _describe_match,
}
_MEASURES: dict[str, Measure] = {
    "builtins.list": _exact_types(_measure_items, list),
    "builtins.dict": _exact_types(_measure_items, dict),
    "collections.OrderedDict": _exact_types(_measure_items, *value_text.MAPPINGS),
    "collections.defaultdict": _exact_types(_measure_items, *value_text.MAPPINGS),
    "collections.Counter": _exact_types(_measure_items, *value_text.MAPPINGS),
    "collections.deque": _exact_types(_measure_items, deque),
    "builtins.set": _exact_types(_measure_length, set),
    "builtins.bytearray": _exact_types(_measure_bytes, bytearray),
}
FAMILY = TypeFamily(
    {**dict(_describers()), **{f"collections.{kind.__name__}": _describe_mapping for kind in value_text.MAPPINGS[1:]}},
    _MEASURES,
)
