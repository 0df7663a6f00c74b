"""What a cell did to the names: new ones, others bound anew, and objects that can be seen to have changed.

Objects are compared by what is known cheaply of their type (`summaries.registry`), and those of the user's own classes
by what their attributes are. No code of a value is run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import bound_by, imported_by, is_public, mentioned_by
from exploracoder_jupyter.kernel_agent.summaries import summarizer_registry
from exploracoder_jupyter.kernel_agent.summaries.objects import python_objects
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import for_people

_SECONDS_MENTIONED = 0.02
_SECONDS_OTHERS = 0.005


class Seen(NamedTuple):
    """What was seen of a value."""

    identity: int
    measure: str | None
    """See `summary_facts.Measure`; none where nothing is known, or there was no time."""

    @property
    def shape(self) -> str:
        """The part of the measure that is for people."""
        return for_people(self.measure or "")


class Changed(NamedTuple):
    """A name that is new, or has a value that is new or different."""

    name: str
    how: Literal["new", "rebound", "mutated"]
    value: Any
    before: str
    """Shape or size before, where it is known and differs."""
    imported: bool


def look(namespace: Mapping[str, Any], code: str) -> dict[str, Seen]:
    """The public names, measured as time allows: those that the code mentions, then those that were bound last."""
    found = {name: value for name, value in reversed(list(namespace.items())) if is_public(name)}
    mentioned = {name: found.pop(name) for name in mentioned_by(code) if name in found}
    return _seen(mentioned, _SECONDS_MENTIONED) | _seen(found, _SECONDS_OTHERS)


def _seen(values: Mapping[str, Any], seconds: float) -> dict[str, Seen]:
    until = time.monotonic() + seconds
    return {name: Seen(id(value), _measure(value, until)) for name, value in values.items()}


def _measure(value: Any, until: float) -> str | None:
    if time.monotonic() >= until:
        return None
    try:
        known = summarizer_registry.find(value)
        if known is None:
            return python_objects.fingerprint(value)
        return known.measure(value) if known.measure and known.own else None
    except Exception:  # a library that is half loaded, a class that is named by anything
        return None


def changed(before: Mapping[str, Seen], namespace: Mapping[str, Any], code: str) -> list[Changed]:
    """What has changed since the look before, the most telling first: what the code mentions last, imports last."""
    bound, imported = bound_by(code), imported_by(code)
    after = look(namespace, code)
    found = []
    for name, now in after.items():
        then = before.get(name)
        how = _how(then, now, name in bound)
        if how and name in namespace:
            shape = then.shape if then and then.shape != now.shape else ""
            found.append(Changed(name, how, namespace[name], shape, name in imported))
    rank = {name: place for place, name in enumerate(mentioned_by(code))}
    return sorted(found, key=lambda one: (one.imported, -rank.get(one.name, -1)))


def _how(then: Seen | None, now: Seen, bound: bool) -> Literal["new", "rebound", "mutated"] | None:
    if then is None:
        return "new"
    if bound or then.identity != now.identity:
        return "rebound"
    differs = then.measure is not None and now.measure is not None and then.measure != now.measure
    return "mutated" if differs else None
