"""Finds the describer of a value's type, without importing any library.

The built-in families are found here; `plugin_summarizers` finds those of other distributions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.plugin_registry import own_plugins
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import (
    Brief,
    Describe,
    Measure,
    TypeFamily,
    visible_measure,
)

FAMILIES: tuple[TypeFamily, ...] = tuple(plugin.load() for plugin in own_plugins() if plugin.group == "summarizers")
"""The built-in families. They are loaded at once, because kernels cannot import this package later."""

_BY_NAME: dict[str, TypeFamily] = {
    name: family for family in FAMILIES for name in (*family.describers, *family.measures)
}
_bases = type.__dict__["__mro__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__


class RegistryEntry(NamedTuple):
    """What the registry has for a type."""

    describe: Describe | None
    measure: Measure | None
    own: bool
    """Whether the type is the library's own. Otherwise it is a third-party subclass, which may run any code."""
    family: TypeFamily
    brief: Brief | None

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
    for name, cls in qualified_names(kind):
        family = _BY_NAME.get(name)
        if family is not None:
            own = _top_package(cls) == _top_package(kind)
            return RegistryEntry(
                family.describers.get(name), family.measures.get(name), own, family, family.briefs.get(name)
            )
    return None


def is_known(name: str) -> bool:
    """Return whether a built-in family has this name of a type."""
    return name in _BY_NAME


def qualified_names(kind: type) -> Iterator[tuple[str, type]]:
    """Yield the type and its base classes, the nearest first, each after its name by top-level package."""
    for cls in _bases(kind):
        if cls is not object:
            yield f"{_top_package(cls)}.{_qualname(cls)}", cls


def _top_package(cls: type) -> str:
    module = _module(cls)
    return module.partition(".")[0] if type(module) is str else ""
