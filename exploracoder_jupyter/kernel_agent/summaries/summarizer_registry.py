"""Finds what is known of a value's type, without importing a library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.arrays import labelled_arrays, numpy_arrays, tensors
from exploracoder_jupyter.kernel_agent.summaries.charts import chart_specifications, figures, images
from exploracoder_jupyter.kernel_agent.summaries.objects import (
    builtin_values,
    display_objects,
    estimators,
    graphs,
    python_objects,
    workers,
)
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Brief, Describe, Family, Measure, for_people
from exploracoder_jupyter.kernel_agent.summaries.tables import arrow_tables, pandas_tables, polars_tables

FAMILIES: tuple[Family, ...] = (
    numpy_arrays.FAMILY,
    arrow_tables.FAMILY,
    chart_specifications.FAMILY,
    display_objects.FAMILY,
    estimators.FAMILY,
    figures.FAMILY,
    graphs.FAMILY,
    images.FAMILY,
    labelled_arrays.FAMILY,
    python_objects.FAMILY,
    pandas_tables.FAMILY,
    builtin_values.FAMILY,
    polars_tables.FAMILY,
    workers.FAMILY,
    tensors.FAMILY,
)

_BY_NAME: dict[str, Family] = {name: family for family in FAMILIES for name in (*family.kinds, *family.measures)}
_bases = type.__dict__["__mro__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__


class Known(NamedTuple):
    """What is known of a type."""

    describe: Describe | None
    measure: Measure | None
    own: bool
    """Whether the type is the library's own: else a class of others is based on it, and may run anything."""
    family: Family
    brief: Brief | None

    def told(self, value: Any, *, apart: bool) -> bool:
        """Whether the value may be described in a fork of the kernel's process, or else in that process itself."""
        if apart:
            return not (self.own and self.family.here)
        return self.own and (self.family.here or self.family.sure(value))

    def shape(self, value: Any) -> str:
        """What its measure says for people."""
        return for_people(self.measure(value)) if self.measure else ""


def find(value: Any) -> Known | None:
    """What is known of the value's type, or of the nearest class that it is based on."""
    kind = type(value)
    for name, cls in _names(kind):
        family = _BY_NAME.get(name)
        if family is not None:
            own = _root(cls) == _root(kind)
            return Known(family.kinds.get(name), family.measures.get(name), own, family, family.briefs.get(name))
    return None


def _names(kind: type) -> Iterator[tuple[str, type]]:
    for cls in _bases(kind):
        if cls is not object:
            yield f"{_root(cls)}.{_qualname(cls)}", cls


def _root(cls: type) -> str:
    module = _module(cls)
    return module.partition(".")[0] if type(module) is str else ""
