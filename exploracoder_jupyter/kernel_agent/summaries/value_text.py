"""Formats the interpreter's own values: scalars as literals, containers by their structure.

Nothing here runs code of a value's class: only exact built-in types are inspected.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path

SAMPLED_ITEMS = 100
"""Items of a container from which its structure is derived, evenly spread where it can be indexed."""
_MAX_VISITED = 5_000
_MAX_DEPTH = 4
_MAX_TYPES = 3
_MAX_FIELDS = 12
_HUGE_BITS = 200

SEQUENCES = (list, tuple)
COLLECTIONS = (*SEQUENCES, set, frozenset, deque)
MAPPINGS = (dict, OrderedDict, defaultdict, Counter)


def format_count(number: int, noun: str) -> str:
    """Format a count with its noun: `1 item`, `1,000 items`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def has_plain_repr(kind: type) -> bool:
    """Return whether the `repr` of the type's objects is the default one, which shows only their address."""
    method: object = kind.__repr__
    return method is object.__repr__


def _format_integer(number: int) -> str:
    """Format an integer; a huge one by its number of digits, because formatting it could take minutes."""
    bits = number.bit_length()
    if bits <= _HUGE_BITS:
        return str(number)
    return f"{'-' if number < 0 else ''}(about {int(bits * 0.30103) + 1:,} digits)"


def _format_sized(value: Any, limit: int) -> str:
    """Return the literal of a text or of bytes, truncated with a note of how much is missing."""
    unit = "characters" if type(value) is str else "bytes"
    return repr(value) if len(value) <= limit else f"{value[:limit]!r}...[+{len(value) - limit:,} {unit}]"


_SCALARS: dict[type, Callable[[Any, int], str]] = {
    **dict.fromkeys((type(None), bool, float, complex), lambda value, limit: repr(value)),
    type(...): lambda value, limit: "...",
    int: lambda value, limit: _format_integer(value),
    str: _format_sized,
    bytes: _format_sized,
}
_BY_ID = {id(kind): format_scalar for kind, format_scalar in _SCALARS.items()}


def scalar_formatter(kind: type) -> Callable[[Any, int], str] | None:
    """Return the formatter for values of exactly this type, or None; it takes the value and a maximum length.

    The type is not hashed or compared, since both could run its own code.
    """
    return _BY_ID.get(id(kind))


def is_one_of(kind: type, kinds: Iterable[type]) -> bool:
    """Return whether the type is identical to one of these, without trusting its `__eq__`."""
    return any(kind is one for one in kinds)


def is_builtin(value: Any) -> bool:
    """Return whether a value and the items sampled from it are all of built-in types."""
    pending = [value]
    for _ in range(_MAX_VISITED):
        if not pending:
            return True
        item = pending.pop()
        if type(item) is dict:
            pending += chain.from_iterable(islice(item.items(), SAMPLED_ITEMS))
        elif is_one_of(type(item), COLLECTIONS):
            pending += [*islice(item, SAMPLED_ITEMS), *sample_items(item)]
        elif not scalar_formatter(type(item)):
            return False
    return False


def sample_items(value: Any, limit: int = SAMPLED_ITEMS) -> list[Any]:
    """Return items of an exact collection: all, or evenly spread ones of a sequence, or else the first."""
    if is_one_of(type(value), SEQUENCES):
        return list(value[:: max(1, -(-len(value) // limit))])
    return list(islice(value, limit))


def describe_structure(value: Any) -> str:
    """Describe a value's type and structure without its data: `list of 100 dict(id: int, tags: list of str)`.

    The keys of a dict are data. They count as field names only where two or more dicts in a list or tuple have the same
    keys and these are identifiers: the keys of a dict of dicts could as well be names of people.
    """
    kind = type(value)
    if not is_one_of(kind, (*COLLECTIONS, *MAPPINGS)):
        return type_path(value)
    if not len(value):
        return f"empty {type_path(value)}"
    return f"{type_path(value)} of {len(value):,} {describe_contents(value)}"


def describe_contents(value: Any) -> str:
    """Describe the items of an exact container: `int | str`; of a mapping, `str to int`."""
    if is_one_of(type(value), MAPPINGS):
        keys, items = list(islice(value, SAMPLED_ITEMS)), list(islice(value.values(), SAMPLED_ITEMS))
        return f"{_describe_types(keys, 1)} to {_describe_types(items, 1)}"
    return _describe_types(sample_items(value), 1, in_sequence=is_one_of(type(value), SEQUENCES))


def _describe_types(items: Sequence[Any], depth: int, *, in_sequence: bool = False) -> str:
    """Describe the types of the items, the most frequent first.

    `in_sequence`: the items come from lists or tuples, so that dicts among them may be records.
    """
    found: dict[int, list[Any]] = {}
    for item in items:
        found.setdefault(id(type(item)), []).append(item)
    groups = sorted(found.values(), key=len, reverse=True)
    descriptions = list(dict.fromkeys(_describe_group(group, depth, in_sequence) for group in groups[:_MAX_TYPES]))
    return " | ".join([*descriptions, "..."] if len(groups) > _MAX_TYPES else descriptions) or "nothing"


def _describe_group(group: list[Any], depth: int, in_sequence: bool) -> str:
    """Describe values that are all of one type."""
    kind, name = type(group[0]), type_path(group[0])
    if depth >= _MAX_DEPTH or not is_one_of(kind, (*COLLECTIONS, *MAPPINGS)) or not any(map(len, group)):
        return name
    if is_one_of(kind, MAPPINGS):
        return _describe_mappings(name, group, depth, in_sequence)
    if kind is tuple and len(group) > 1 and len({*map(len, group)}) == 1 and len(group[0]) <= _MAX_TYPES:
        columns = zip(*group, strict=True)
        return f"tuple({', '.join(_describe_types(column, depth + 1, in_sequence=in_sequence) for column in columns)})"
    return f"{name} of {_describe_types(_flatten(group), depth + 1, in_sequence=is_one_of(kind, SEQUENCES))}"


def _describe_mappings(name: str, group: list[Any], depth: int, in_sequence: bool) -> str:
    if not (in_sequence and type(group[0]) is dict and _are_records(group)):
        keys, values = _flatten(group), _flatten([mapping.values() for mapping in group])
        return f"{name} of {_describe_types(keys, depth + 1)} to {_describe_types(values, depth + 1)}"
    names = list(islice(group[0], _MAX_FIELDS))
    fields = [f"{key}: {_describe_types([mapping[key] for mapping in group], depth + 1)}" for key in names]
    return f"{name}({', '.join([*fields, '...'] if len(group[0]) > len(names) else fields)})"


def _are_records(group: list[Any]) -> bool:
    """Return whether these dicts are records: they all have the same fields."""
    keys = [key for mapping in group for key in islice(mapping, SAMPLED_ITEMS)]
    if len(group) < 2 or not all(type(key) is str and key.isidentifier() for key in keys):
        return False
    return all(len(mapping) == len(group[0]) and mapping.keys() == group[0].keys() for mapping in group)


def _flatten(group: Iterable[Iterable[Any]]) -> list[Any]:
    return list(islice(chain.from_iterable(islice(one, SAMPLED_ITEMS) for one in group), SAMPLED_ITEMS))
