"""Finds what is known of a value's type, without importing a library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from exploracoder_jupyter.inside.summaries import (
    arrays,
    arrow_tables,
    charts,
    estimators,
    figures,
    graphs,
    images,
    labelled_arrays,
    pandas_tables,
    plain,
    polars_tables,
    tensors,
)
from exploracoder_jupyter.inside.summaries.facts import Describe, Family, Measure

FAMILIES: tuple[Family, ...] = (
    arrays.FAMILY,
    arrow_tables.FAMILY,
    charts.FAMILY,
    estimators.FAMILY,
    figures.FAMILY,
    graphs.FAMILY,
    images.FAMILY,
    labelled_arrays.FAMILY,
    pandas_tables.FAMILY,
    plain.FAMILY,
    polars_tables.FAMILY,
    tensors.FAMILY,
)

_bases = type.__dict__["__mro__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__


class Known(NamedTuple):
    """What is known of a type."""

    describe: Describe | None
    measure: Measure | None
    own: bool
    """Whether the type is the library's own: else a class of others is based on it, and may run anything."""
    here: bool


def find(value: Any) -> Known | None:
    """What is known of the value's type, or of the nearest class that it is based on."""
    kind = type(value)
    for name, cls in _names(kind):
        for family in FAMILIES:
            describe, measure = family.kinds.get(name), family.measures.get(name)
            if describe or measure:
                own = _root(cls) == _root(kind)
                return Known(describe, measure, own, family.here and own)
    return None


def _names(kind: type) -> Iterator[tuple[str, type]]:
    for cls in _bases(kind):
        if cls is not object:
            yield f"{_root(cls)}.{_qualname(cls)}", cls


def _root(cls: type) -> str:
    module = _module(cls)
    return module.partition(".")[0] if isinstance(module, str) else ""
