"""xarray: data arrays and datasets.

Only what is in memory already is looked at: reading a variable of a file or of a lazy library would load it, and xarray
would keep what was loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.value_spread import begins, plain, sample, sample_places, told
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look, listed, size
from exploracoder_jupyter.kernel_agent.summaries.tables import pandas_columns
from exploracoder_jupyter.kernel_agent.summaries.tables.columns import Told, cell, label, sampled


def _array(array: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"({_sizes(array.sizes, look)}), dtype {array.dtype}, {size(array.nbytes)}{_named(array, look)}")
    yield from _contents(array.variable, look)
    yield from _coordinates(array, look)
    yield from _attributes(array.attrs, look)


def _variable(variable: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"({_sizes(variable.sizes, look)}), dtype {variable.dtype}, {size(variable.nbytes)}")
    yield from _contents(variable, look)
    yield from _attributes(variable.attrs, look)


def _dataset(dataset: Any, look: Look) -> Iterator[Fact]:
    count = len(dataset.data_vars)
    yield Fact(f"({_sizes(dataset.sizes, look)}), {count:,} variables, {size(dataset.nbytes)}")
    for name in list(dataset.data_vars)[: look.columns]:
        yield _line(label(name, look), dataset.variables[name], look)
    if count > look.columns:
        yield Fact(f"... {count - look.columns:,} more variables")
    yield from _coordinates(dataset, look)
    yield from _attributes(dataset.attrs, look)


def _tree(tree: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"{len(tree.groups):,} groups")
    for node in list(tree.subtree)[: look.columns]:
        names = [label(name, look) for name in node.data_vars]
        yield Fact(f"{node.path}: ({_sizes(node.sizes, look)}) {listed(names, 10)}".rstrip())


def _contents(variable: Any, look: Look) -> Iterator[Fact]:
    known, note = _told(variable, look)
    if known.counts or known.values:
        yield known.fact("values", "", note)
    data = _data(variable)
    if type(data).__module__ == "numpy" and data.size:
        yield Fact(begins(plain(data), look), shows=True)


def _coordinates(values: Any, look: Look) -> Iterator[Fact]:
    for name in list(values.coords)[: look.columns]:
        yield _line(f"coordinate {label(name, look)}", values.coords[name].variable, look)


def _line(name: str, variable: Any, look: Look) -> Fact:
    known, note = Told(), ""
    if not look.late:
        known, note = _told(variable, look)
    dims = f"({', '.join(label(name, look) for name in variable.dims)}) " if variable.dims else ""
    return known.fact(name, f"{dims}{variable.dtype}", note)


def _told(variable: Any, look: Look) -> tuple[Told, str]:
    data = _data(variable)
    if data is None:
        return Told((f"not loaded{_chunks(variable)}",)), ""
    if type(data).__module__ == "numpy":
        taken = sample(plain(data), look.sample)
        return told(taken, look, exact=taken.size == data.size), sampled(taken.size, data.size)
    places = sample_places(len(data), look.sample)
    known = pandas_columns.told(data, look, places) if len(data) and not hasattr(data, "levels") else Told()
    return known, pandas_columns.sample_note(places, len(data))


def _data(variable: Any) -> Any:
    """What is in memory: an array of NumPy, or the index of pandas behind a coordinate. None: it would be loaded."""
    data = variable._data
    held = getattr(data, "array", None)
    if type(data) is sys.modules["numpy"].ndarray:
        return data
    return held if isinstance(held, sys.modules["pandas"].Index) else None


def _chunks(variable: Any) -> str:
    chunks = getattr(variable._data, "numblocks", None)
    return f", in {' x '.join(map(str, chunks))} chunks" if chunks else ""


def _sizes(sizes: Mapping[Any, int], look: Look) -> str:
    return ", ".join(f"{label(name, look)}: {length:,}" for name, length in sizes.items())


def _named(array: Any, look: Look) -> str:
    return "" if array.name is None else f", named {label(array.name, look)!r}"


def _attributes(attributes: Mapping[Any, Any], look: Look) -> Iterator[Fact]:
    if attributes:
        names = [label(name, look) for name in attributes]
        shown = [f"{label(name, look)}={cell(value, look)}" for name, value in list(attributes.items())[:10]]
        yield Fact(f"attrs: {listed(shown, 5)}", shows=True, schema=f"attrs: {listed(names, 5)}")


def _array_measure(array: Any) -> str:
    return f"{_plain_sizes(array.sizes)} of {array.dtype}"


def _dataset_measure(dataset: Any) -> str:
    names = [name if type(name) is str else type(name).__name__ for name in dataset.data_vars]
    return f"{_plain_sizes(dataset.sizes)}, {len(names)} variables #{hash(tuple(names)) & 0xFFFFFFFF:08x}"


def _plain_sizes(sizes: Mapping[Any, int]) -> str:
    return " x ".join(map(str, sizes.values())) or "scalar"


FAMILY = Family(
    {
        "xarray.DataArray": _array,
        "xarray.Variable": _variable,
        "xarray.Dataset": _dataset,
        "xarray.DataTree": _tree,
    },
    {
        "xarray.DataArray": _array_measure,
        "xarray.Variable": _array_measure,
        "xarray.Dataset": _dataset_measure,
    },
)
