"""Detects what a cell did to names: new ones, rebound ones, and objects that have visibly changed.

Objects of known types are compared by a cheap measure (`summaries.summarizer_registry`), those of the user's own
classes by their attributes. No code of a value is run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import (
    bound_names,
    imported_names,
    is_public,
    mentioned_names,
)
from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.objects import python_objects
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import visible_measure

_SECONDS_MENTIONED = 0.02
_SECONDS_OTHERS = 0.005
"""Processor time: on a busy machine the clock would end before anything is measured."""


class Snapshot(NamedTuple):
    """What was recorded about a value."""

    identity: int
    measure: str | None
    """See `summary_facts.Measure`; None if nothing is known or time ran out."""


class NameChange(NamedTuple):
    """A name that is new, or whose value is new or different."""

    name: str
    how: Literal["new", "rebound", "mutated"]
    value: Any
    before: str
    """Previous shape or size, if known and different."""
    imported: bool


def take_snapshot(namespace: Mapping[str, Any], code: str) -> dict[str, Snapshot]:
    """Measure the public names as time allows: first those mentioned in the code, then the most recently bound."""
    others = {name: value for name, value in reversed(list(namespace.items())) if is_public(name)}
    mentioned = {name: others.pop(name) for name in mentioned_names(code) if name in others}
    found = {}
    for values, seconds in ((mentioned, _SECONDS_MENTIONED), (others, _SECONDS_OTHERS)):
        deadline = time.thread_time() + seconds
        found.update({name: Snapshot(id(value), _measure(value, deadline)) for name, value in values.items()})
    return found


def _measure(value: Any, deadline: float) -> str | None:
    if time.thread_time() >= deadline:
        return None
    try:
        known = summarizer_registry.find(value)
        if known is None:
            return python_objects.fingerprint(value)
        return known.measure(value) if known.measure and known.own else None
    except Exception:  # partly loaded library, or a class with an odd name
        return None


def find_changes(before: Mapping[str, Snapshot], namespace: Mapping[str, Any], code: str) -> list[NameChange]:
    """Return the changes since the snapshot: names that the code mentions last come first, imports come last."""
    bound, imported = bound_names(code), imported_names(code)
    after = take_snapshot(namespace, code)
    changes = []
    for name, new in after.items():
        old = before.get(name)
        how = _change_kind(old, new, name in bound)
        if how and name in namespace:
            shapes = [visible_measure(one.measure or "") if one else "" for one in (old, new)]
            shape = shapes[0] if shapes[0] != shapes[1] else ""
            changes.append(NameChange(name, how, namespace[name], shape, name in imported))
    rank = {name: position for position, name in enumerate(mentioned_names(code))}
    return sorted(changes, key=lambda change: (change.imported, -rank.get(change.name, -1)))


def _change_kind(old: Snapshot | None, new: Snapshot, bound: bool) -> Literal["new", "rebound", "mutated"] | None:
    if old is None:
        return "new"
    if bound or old.identity != new.identity:
        return "rebound"
    differs = old.measure is not None and new.measure is not None and old.measure != new.measure
    return "mutated" if differs else None
