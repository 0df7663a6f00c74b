"""Lists what can be done with the objects that were at hand when code failed: their types with their public members.

The source of this file runs in the branch, after the failure: standard library only. Nothing of a value is shown.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from types import ModuleType
from typing import Any

_MOST_TYPES = 3
_MOST_MEMBERS = 60
_LONGEST_SIGNATURE = 80


def describe_failing_objects(packages: Collection[str], namespace: Mapping[str, Any]) -> str:
    """Return one line for each of a few types, that of the object whose attribute is missing first; may be empty.

    Args:
        packages: top-level packages whose objects are described.
        namespace: the namespace of the cells.
    """
    error = getattr(sys, "last_value", None)
    owner = getattr(error, "obj", None)
    found: dict[str, Any] = {}
    for value in (owner, *_values_at_hand(error, namespace)):
        subject = value if isinstance(value, type | ModuleType) else type(value)
        path = _path(subject)
        if path.partition(".")[0] in packages and (value is owner or not isinstance(value, type | ModuleType)):
            found.setdefault(path, subject)
    return "\n".join(f"{path} has: {_members(subject)}" for path, subject in islice(found.items(), _MOST_TYPES))


def _values_at_hand(error: BaseException | None, namespace: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the variables of the failing function in a cell, then those of the cells, the latest first."""
    frames, traceback = [], error.__traceback__ if error else None
    while traceback:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    own = [frame for frame in frames if frame.f_globals is namespace]
    yield from reversed([*own[-1].f_locals.values()] if own else [])
    yield from reversed([*namespace.values()])


def _path(subject: type | ModuleType) -> str:
    return subject.__name__ if isinstance(subject, ModuleType) else f"{subject.__module__}.{subject.__qualname__}"


def _members(subject: type | ModuleType) -> str:
    names = [name for name in dir(subject) if not name.startswith("_")]
    shown = [f"{name}{_signature(inspect.getattr_static(subject, name, None))}" for name in names[:_MOST_MEMBERS]]
    more = [f"and {len(names) - len(shown)} more"] if len(names) > len(shown) else []
    return ", ".join([*shown, *more]) or "no public names"


def _signature(member: Any) -> str:
    function = getattr(member, "__func__", member)
    if not inspect.isroutine(function):
        return ""
    try:
        text = str(inspect.signature(function))
    except (TypeError, ValueError):  # a builtin without one
        return "(...)"
    return text if len(text) <= _LONGEST_SIGNATURE else "(...)"
