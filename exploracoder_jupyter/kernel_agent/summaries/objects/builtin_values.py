"""Values of the interpreter itself and of its standard library.

Containers are told by their structure, not dumped. The keys of a dict are data, but for the names of fields that the
dicts in a list have in common (`value_text.structure`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import value_text
from exploracoder_jupyter.kernel_agent.summaries.objects import streams
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Describe, Fact, Family, Look, Measure, size

_LONGEST = 200
"""Characters of a text, or of a line of items."""
_WHOLE = 1000
"""Items of a container up to which a replaced one is noticed."""
_FEW = 12
"""Items of a mapping that have a line each."""
_NUMBERS = frozenset([int, float])


def _as_is(value: Any) -> str:
    told = value_text.scalar(type(value))
    return told(value, _LONGEST) if told else type_path(value)


def _scalar(value: Any, look: Look) -> Iterator[Fact]:
    yield Fact(_as_is(value), shows=True)


def _number(value: Any, look: Look) -> Iterator[Fact]:
    base: Any = next(kind for kind in (int, float, complex) if isinstance(value, kind))
    yield Fact(_as_is(base.__add__(value, base())), shows=True)


def _text(value: str, look: Look) -> Iterator[Fact]:
    text = str.__str__(value)
    count = value_text.counted(len(text), "character")
    if len(text) <= _LONGEST:
        yield Fact(repr(text), shows=True, schema=count)
        return
    yield Fact(f"{count}, {text.count(chr(10)) + 1:,} lines" if "\n" in text else count)
    yield Fact(f"begins {text[:_LONGEST]!r}", shows=True)
    yield Fact(f"ends {text[-_LONGEST // 4 :]!r}", shows=True)


def _bytes(value: Any, look: Look) -> Iterator[Fact]:
    data = value[: _LONGEST // 4]
    yield Fact(size(value.nbytes if isinstance(value, memoryview) else len(value)))
    yield Fact(f"begins {bytes(data)!r}", shows=True)


def _range(value: range, look: Look) -> Iterator[Fact]:
    count = "many numbers" if abs(value.stop - value.start) >> 60 else value_text.counted(len(value), "number")
    if not value:
        yield Fact("empty")
        return
    ends = f"{value_text.whole(value[0])} to {value_text.whole(value[-1])}"
    yield Fact(f"{count}, {ends}, step {value_text.whole(value.step)}", True, count)


def _collection(base: Any) -> Describe:
    """A describer of what is based on this collection, whatever the class has put over its methods."""

    def describe(value: Any, look: Look) -> Iterator[Fact]:
        plain = base(base.__iter__(value)) if type(value) is not base else value
        if hasattr(type(value), "_fields") and base is tuple:
            yield from _named(value, plain, look)
            return
        yield from _items(value, plain, look)

    return describe


def _named(value: Any, plain: tuple[Any, ...], look: Look) -> Iterator[Fact]:
    yield Fact(f"named tuple, {value_text.counted(len(plain), 'field')}")
    for name, item in islice(zip(type(value)._fields, plain, strict=False), look.columns):
        yield Fact(f"{name}: {look.short(item)}", True, f"{name}: {value_text.structure(item)}")


def _items(value: Any, plain: Any, look: Look) -> Iterator[Fact]:
    if not plain:
        yield Fact("empty")
        return
    most = getattr(value, "maxlen", None)
    room = f", room for {most:,}" if type(most) is int else ""
    yield Fact(f"{value_text.counted(len(plain), 'item')}: {value_text.contents(plain)}{_looked_at(plain)}{room}")
    yield Fact(_line(plain, look), shows=True)
    yield from _extent(plain, look)


def _looked_at(plain: Any) -> str:
    return f" (as {value_text.LOOKED_AT} of them are)" if len(plain) > value_text.LOOKED_AT else ""


def _line(plain: Any, look: Look) -> str:
    """The first items on a line, as many as fit."""
    parts: list[str] = []
    for item in islice(plain, 4 * look.rows):
        parts.append(look.short(item))
        if len(parts) > 1 and sum(map(len, parts)) > _LONGEST:
            parts.pop()
            break
    left = len(plain) - len(parts)
    brackets = "[]" if type(plain) is list else "()" if type(plain) is tuple else "{}"
    last = "," if type(plain) is tuple and len(plain) == 1 else ""
    return f"{brackets[0]}{', '.join([*parts, f'... {left:,} more'] if left else parts)}{last}{brackets[1]}"


def _extent(plain: Any, look: Look) -> Iterator[Fact]:
    """Extent and mean of numbers."""
    found = value_text.spread(plain, look.sample)
    if len(found) <= look.rows or not {*map(type, found)} <= _NUMBERS or any(_odd(number) for number in found):
        return
    of = f" (of {len(found):,} of them)" if len(found) < len(plain) else ""
    yield Fact(f"min {min(found):.6g}, max {max(found):.6g}, mean {sum(found) / len(found):.6g}{of}", shows=True)


def _odd(number: float) -> bool:
    """Whether it is too large to be formatted, or not a number."""
    return number != number or abs(number) > 1e300


def _mapping(value: Any, look: Look) -> Iterator[Fact]:
    plain = value if value_text.is_one_of(type(value), value_text.MAPPINGS) else dict(dict.items(value))
    if not plain:
        yield Fact("empty")
        return
    yield Fact(
        f"{value_text.counted(len(plain), 'item')}: {value_text.contents(plain)}{_looked_at(plain)}{_default(value)}"
    )
    entries = _most_common(value) if "most_common" in dir(type(value)) else plain.items()
    told = [f"{look.short(key)}: {_inner(item, look)}" for key, item in islice(entries, look.columns)]
    yield from (Fact(line, shows=True) for line in (told if len(plain) <= _FEW else _filled(told, len(plain))))


def _filled(told: list[str], count: int) -> Iterator[str]:
    """As many entries as fit on a line each, for two lines."""
    shown = 0
    for _ in range(2):
        sizes = accumulate(len(one) + 2 for one in told[shown:])
        fit = max(1, sum(size <= _LONGEST for size in sizes))
        yield ", ".join(told[shown : shown + fit])
        shown += len(told[shown : shown + fit])
        if shown == len(told):
            break
    if shown < count:
        yield f"... {count - shown:,} more items"


def _inner(item: Any, look: Look) -> str:
    """A value of a mapping: containers by their structure, the rest as it is."""
    container = value_text.is_one_of(type(item), (*value_text.COLLECTIONS, *value_text.MAPPINGS))
    short = look.short(item)
    return value_text.structure(item) if container and len(short) >= look.letters else short


def _default(value: Any) -> str:
    made = getattr(value, "default_factory", None)
    return f", default {getattr(made, '__name__', 'made')}()" if made is not None else ""


def _most_common(value: Any) -> list[tuple[Any, Any]]:
    return sorted(dict.items(value), key=lambda entry: entry[1], reverse=True) if len(value) < 10_000 else []


def _written(value: Any, look: Look) -> Iterator[Fact]:
    """What is best told as its `str`, of classes whose `str` is harmless."""
    yield Fact(str(value)[:_LONGEST], shows=True)


def _moment(value: Any, look: Look) -> Iterator[Fact]:
    zone = getattr(value, "tzinfo", None)
    yield Fact(str(value), True, f"time zone {zone}" if zone else "no time zone")


def _enum(value: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{value.name} = {look.short(value.value)}", shows=True)
    members = list(type(value).__members__)
    yield Fact(f"one of {len(members)}: {', '.join(members[:12])}{', ...' if len(members) > 12 else ''}")


def _pattern(value: Any, look: Look) -> Iterator[Fact]:
    yield (
        Fact(value_text.text(value.pattern, _LONGEST), shows=True)
        if isinstance(value.pattern, str)
        else Fact("of bytes")
    )
    named = list(value.groupindex)
    groups = f"{value_text.counted(value.groups, 'group')}{': ' + ', '.join(named) if named else ''}"
    yield Fact(f"{groups}, flags {int(value.flags)}")


def _match(value: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{value_text.text(str(value.group()), _LONGEST)} at {value.span()}", True, "a match")
    yield Fact(f"groups {look.short(value.groups())}", True, value_text.counted(len(value.groups()), "group"))


def _length(value: Any) -> str:
    return value_text.counted(len(value), "item")


def _of_items(value: Any) -> str:
    """The length, and which objects it holds."""
    if len(value) > _WHOLE:
        return _length(value)
    items = (*value.keys(), *value.values()) if isinstance(value, dict) else value
    return f"{_length(value)} #{hash(tuple(map(id, items)))}"


def _of_bytes(value: bytearray) -> str:
    return f"{size(len(value))} #{hash(bytes(value[:_WHOLE]))}"


def _exactly(measure: Measure, *kinds: type) -> Measure:
    """The measure, of exact types alone: methods of a class based on them could be anything."""

    def measured(value: Any) -> str:
        return measure(value) if value_text.is_one_of(type(value), kinds) else type_path(value)

    return measured


def _kinds() -> Iterator[tuple[str, Describe]]:
    yield from streams.KINDS.items()
    for name, base in {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}.items():
        yield f"builtins.{name}", _collection(base)
    yield "collections.deque", _collection(deque)
    for names, describe in _GROUPS.items():
        yield from ((name, describe) for name in names)


_GROUPS: dict[tuple[str, ...], Callable[..., Iterator[Fact]]] = {
    ("builtins.NoneType", "builtins.ellipsis", "builtins.bool"): _scalar,
    ("builtins.int", "builtins.float", "builtins.complex"): _number,
    ("builtins.str",): _text,
    ("builtins.bytes", "builtins.bytearray", "builtins.memoryview"): _bytes,
    ("builtins.range",): _range,
    ("builtins.dict",): _mapping,
    ("datetime.datetime", "datetime.time"): _moment,
    ("datetime.date", "datetime.timedelta", "datetime.timezone", "zoneinfo.ZoneInfo"): _written,
    ("decimal.Decimal", "fractions.Fraction", "uuid.UUID"): _written,
    ("enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"): _enum,
    ("re.Pattern",): _pattern,
    ("re.Match",): _match,
}
_MEASURES: dict[str, Measure] = {
    "builtins.list": _exactly(_of_items, list),
    "builtins.dict": _exactly(_of_items, dict),
    "collections.OrderedDict": _exactly(_of_items, *value_text.MAPPINGS),
    "collections.defaultdict": _exactly(_of_items, *value_text.MAPPINGS),
    "collections.Counter": _exactly(_of_items, *value_text.MAPPINGS),
    "collections.deque": _exactly(_of_items, deque),
    "builtins.set": _exactly(_length, set),
    "builtins.bytearray": _exactly(_of_bytes, bytearray),
}
FAMILY = Family(
    {**dict(_kinds()), **{f"collections.{kind.__name__}": _mapping for kind in value_text.MAPPINGS[1:]}}, _MEASURES
)
