"""Words for the interpreter's own values: scalars as they are, containers by what they hold.

Nothing here runs code of a value's class: only exact built-in types are looked into.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path

LOOKED_AT = 100
"""Items of a container that its structure is told from, evenly spread where it can be indexed."""
_MOST_LOOKED_AT = 5_000
_DEEPEST = 4
_MOST_KINDS = 3
_MOST_FIELDS = 12
_HUGE_BITS = 200

SEQUENCES = (list, tuple)
COLLECTIONS = (*SEQUENCES, set, frozenset, deque)
MAPPINGS = (dict, OrderedDict, defaultdict, Counter)


def counted(number: int, thing: str) -> str:
    """`1 item`, `1,000 items`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def has_plain_repr(kind: type) -> bool:
    """Whether the `repr` of its objects is their address and nothing else."""
    shown: object = kind.__repr__
    return shown is object.__repr__


def whole(number: int) -> str:
    """A whole number; of a huge one how long it is, for to write it out could take minutes."""
    bits = number.bit_length()
    if bits <= _HUGE_BITS:
        return str(number)
    return f"{'-' if number < 0 else ''}(about {int(bits * 0.30103) + 1:,} digits)"


def text(value: str, most: int) -> str:
    """A string as Python writes it, and how much of it is missing."""
    return repr(value) if len(value) <= most else f"{value[:most]!r}...[+{len(value) - most:,} characters]"


def octets(value: bytes | bytearray, most: int) -> str:
    """Bytes as Python writes them, and how many are missing."""
    return repr(value) if len(value) <= most else f"{value[:most]!r}...[+{len(value) - most:,} bytes]"


_SCALARS: dict[type, Callable[[Any, int], str]] = {
    type(None): lambda value, most: "None",
    type(...): lambda value, most: "...",
    bool: lambda value, most: repr(value),
    int: lambda value, most: whole(value),
    float: lambda value, most: repr(value),
    complex: lambda value, most: repr(value),
    str: text,
    bytes: octets,
}
_BY_ID = {id(kind): told for kind, told in _SCALARS.items()}


def scalar(kind: type) -> Callable[[Any, int], str] | None:
    """What writes the values of exactly this type as they are, in about so many characters; none for other types.

    The type is not looked up by its hash or compared: both may be code of its own.
    """
    return _BY_ID.get(id(kind))


def is_one_of(kind: type, kinds: Iterable[type]) -> bool:
    """Whether the type is one of these, and not merely says so."""
    return any(kind is one for one in kinds)


def is_plain(value: Any) -> bool:
    """Whether all that is looked at of a value, itself and what it holds, is built into the interpreter."""
    waiting = [value]
    for _ in range(_MOST_LOOKED_AT):
        if not waiting:
            return True
        one = waiting.pop()
        if type(one) is dict:
            waiting += chain.from_iterable(islice(one.items(), LOOKED_AT))
        elif is_one_of(type(one), COLLECTIONS):
            waiting += [*islice(one, LOOKED_AT), *spread(one)]
        elif not scalar(type(one)):
            return False
    return False


def spread(value: Any, most: int = LOOKED_AT) -> list[Any]:
    """Items of an exact collection: all, or evenly spread ones of a sequence, or else the first."""
    if is_one_of(type(value), SEQUENCES):
        return list(value[:: max(1, -(-len(value) // most))])
    return list(islice(value, most))


def structure(value: Any) -> str:
    """What a value is and holds, without any of it: `list of 100 dict(id: int, tags: list of str)`.

    The keys of a dict are data. They are names of fields where two or more dicts in a list or tuple have the same ones,
    and these are identifiers: keys of a dict of dicts are as well names of people.
    """
    kind = type(value)
    if not is_one_of(kind, (*COLLECTIONS, *MAPPINGS)):
        return type_path(value)
    if not len(value):
        return f"empty {type_path(value)}"
    return f"{type_path(value)} of {len(value):,} {contents(value)}"


def contents(value: Any) -> str:
    """What an exact container holds: `int | str`; of a mapping, `str to int`."""
    if is_one_of(type(value), MAPPINGS):
        entries = list(islice(value.items(), LOOKED_AT))
        return f"{_kinds([key for key, _ in entries], 1)} to {_kinds([item for _, item in entries], 1)}"
    return _kinds(spread(value), 1, in_row=is_one_of(type(value), SEQUENCES))


def _kinds(items: Sequence[Any], depth: int, *, in_row: bool = False) -> str:
    """The kinds of the items, the most frequent first. `in_row`: all that are alike are of lists or tuples."""
    found: dict[int, list[Any]] = {}
    for item in items:
        found.setdefault(id(type(item)), []).append(item)
    groups = sorted(found.values(), key=len, reverse=True)
    told = list(dict.fromkeys(_kind(group, depth, in_row) for group in groups[:_MOST_KINDS]))
    return " | ".join([*told, "..."] if len(groups) > _MOST_KINDS else told) or "nothing"


def _kind(group: list[Any], depth: int, in_row: bool) -> str:
    """The kind of values that are all of one type."""
    kind, name = type(group[0]), type_path(group[0])
    if depth >= _DEEPEST or not is_one_of(kind, (*COLLECTIONS, *MAPPINGS)) or not any(map(len, group)):
        return name
    if is_one_of(kind, MAPPINGS):
        return _mapping(name, group, depth, in_row)
    if kind is tuple and len(group) > 1 and len({*map(len, group)}) == 1 and len(group[0]) <= _MOST_KINDS:
        columns = zip(*group, strict=True)
        return f"tuple({', '.join(_kinds(column, depth + 1, in_row=in_row) for column in columns)})"
    return f"{name} of {_kinds(_together(group), depth + 1, in_row=is_one_of(kind, SEQUENCES))}"


def _mapping(name: str, group: list[Any], depth: int, in_row: bool) -> str:
    if not (in_row and type(group[0]) is dict and _alike(group)):
        keys, values = _together(group), _together([one.values() for one in group])
        return f"{name} of {_kinds(keys, depth + 1)} to {_kinds(values, depth + 1)}"
    names = list(islice(group[0], _MOST_FIELDS))
    fields = [f"{key}: {_kinds([one[key] for one in group], depth + 1)}" for key in names]
    return f"{name}({', '.join([*fields, '...'] if len(group[0]) > len(names) else fields)})"


def _alike(group: list[Any]) -> bool:
    """Whether these are records: the same fields in all of them."""
    if len(group) < 2 or not all(_is_name(key) for one in group for key in islice(one, LOOKED_AT)):
        return False
    return len({len(one) for one in group}) == 1 and all(one.keys() == group[0].keys() for one in group)


def _is_name(key: Any) -> bool:
    return type(key) is str and key.isidentifier()


def _together(group: Iterable[Iterable[Any]]) -> list[Any]:
    return list(islice(chain.from_iterable(islice(one, LOOKED_AT) for one in group), LOOKED_AT))
