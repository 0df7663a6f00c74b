"""Finds the describer of a value's type, without importing any library.

The built-in families are found here; `summarizer` finds those of other distributions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.entry_points import own_plugins
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import module_of, mro, qualified_name
from exploracoder_jupyter.kernel_agent.summaries.facts import Brief, Describe, Measure, TypeFamily, visible_measure

FAMILIES: tuple[TypeFamily, ...] = tuple(plugin.load() for plugin in own_plugins() if plugin.group == "summarizers")
"""The built-in families. They are loaded at once, because kernels cannot import this package later."""

_BY_NAME: dict[str, TypeFamily] = {
    name: family for family in FAMILIES for name in (*family.describers, *family.measures)
}


class RegistryEntry(NamedTuple):
    """What the registry has for a type."""

    describe: Describe | None
    measure: Measure | None
    brief: Brief | None
    own: bool
    """Whether the type is the library's own. Otherwise it is a third-party subclass, which may run any code."""
    family: TypeFamily

    def can_describe(self, value: Any, *, in_fork: bool) -> bool:
        """Return whether the value may be described in a fork of the kernel's process, or in that process itself."""
        if in_fork:
            return not (self.own and self.family.in_process)
        return self.own and (self.family.in_process or self.family.is_inert(value))

    def shape(self, value: Any) -> str:
        """Return the visible part of the measure."""
        return visible_measure(self.measure(value)) if self.measure else ""


def find(value: Any) -> RegistryEntry | None:
    """Return the entry for the value's type, or for its nearest registered base class."""
    kind = type(value)
    with suppress(Exception):  # a class may have any object as its name
        for name, cls in qualified_names(kind):
            if family := _BY_NAME.get(name):
                own = _top_package(cls) == _top_package(kind)
                describe, measure = family.describers.get(name), family.measures.get(name)
                return RegistryEntry(describe, measure, family.briefs.get(name), own, family)
    return None


def is_known(name: str) -> bool:
    """Return whether a built-in family has this name of a type."""
    return name in _BY_NAME


def qualified_names(kind: type) -> Iterator[tuple[str, type]]:
    """Yield the type and its base classes, the nearest first, each after its name by top-level package."""
    for cls in mro(kind):
        if cls is not object:
            yield f"{_top_package(cls)}.{qualified_name(cls)}", cls


def _top_package(cls: type) -> str:
    module = module_of(cls)
    return module.partition(".")[0] if type(module) is str else ""
