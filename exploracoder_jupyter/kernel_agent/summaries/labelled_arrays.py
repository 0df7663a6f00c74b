"""xarray: data arrays, datasets and trees.

Only data already in memory is examined: reading a variable of a file or of a lazy library would load it, and xarray
would keep what was loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries import pandas_tables
from exploracoder_jupyter.kernel_agent.summaries.arrays import (
    as_ndarray,
    describe_elements,
    first_elements,
    sample_elements,
    sample_indices,
)
from exploracoder_jupyter.kernel_agent.summaries.columns import ColumnFacts, attribute_facts, format_label, omitted_note
from exploracoder_jupyter.kernel_agent.summaries.facts import (
    Fact,
    SummaryOptions,
    TypeFamily,
    format_list,
    format_size,
    sample_note,
)


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe an array, or the variable that is in one."""
    name = getattr(array, "name", None)
    named = "" if name is None else f", named {format_label(name, options)!r}"
    yield Fact(f"({_format_sizes(array.sizes, options)}), dtype {array.dtype}, {format_size(array.nbytes)}{named}")
    variable = getattr(array, "variable", array)
    facts, note = _describe_values(variable, options)
    if facts.counts or facts.values:
        yield facts.fact("values", "", note)
    data = _loaded_data(variable)
    if type(data).__module__ == "numpy" and data.size:
        yield Fact(first_elements(as_ndarray(data), options), shows=True)
    yield from _coordinate_facts(array, options)
    yield from attribute_facts(array.attrs, options)


def _describe_dataset(dataset: Any, options: SummaryOptions) -> Iterator[Fact]:
    count = len(dataset.data_vars)
    yield Fact(f"({_format_sizes(dataset.sizes, options)}), {count:,} variables, {format_size(dataset.nbytes)}")
    for name in list(dataset.data_vars)[: options.columns]:
        yield _variable_fact(format_label(name, options), dataset.variables[name], options)
    yield from omitted_note(count, "variables", options)
    yield from _coordinate_facts(dataset, options)
    yield from attribute_facts(dataset.attrs, options)


def _describe_tree(tree: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{len(tree.groups):,} groups")
    for node in list(tree.subtree)[: options.columns]:
        names = [format_label(name, options) for name in node.data_vars]
        yield Fact(f"{node.path}: ({_format_sizes(node.sizes, options)}) {format_list(names, 10)}".rstrip())


def _coordinate_facts(values: Any, options: SummaryOptions) -> Iterator[Fact]:
    coordinates = getattr(values, "coords", {})
    for name in list(coordinates)[: options.columns]:
        yield _variable_fact(f"coordinate {format_label(name, options)}", coordinates[name].variable, options)


def _variable_fact(name: str, variable: Any, options: SummaryOptions) -> Fact:
    facts, note = (ColumnFacts(), "") if options.out_of_time else _describe_values(variable, options)
    dims = f"({', '.join(format_label(name, options) for name in variable.dims)}) " if variable.dims else ""
    return facts.fact(name, f"{dims}{variable.dtype}", note)


def _describe_values(variable: Any, options: SummaryOptions) -> tuple[ColumnFacts, str]:
    data = _loaded_data(variable)
    if data is None:
        chunks = " x ".join(map(str, getattr(variable._data, "numblocks", ())))
        return ColumnFacts(("not loaded" + (f", in {chunks} chunks" if chunks else ""),)), ""
    if type(data).__module__ == "numpy":
        sample = sample_elements(as_ndarray(data), options.sample)
        facts = describe_elements(sample, options, exact=sample.size == data.size)
        return facts, sample_note(sample.size, data.size)
    positions = sample_indices(len(data), options.sample)
    has_levels = hasattr(data, "levels")
    facts = ColumnFacts() if has_levels else pandas_tables.describe_values(data, options, positions)
    return facts, pandas_tables.positions_note(positions, len(data))


def _loaded_data(variable: Any) -> Any:
    """Return the NumPy array in memory or the pandas index behind a coordinate; None if it would have to be loaded."""
    data = variable._data
    index = getattr(data, "array", None)
    if type(data) is sys.modules["numpy"].ndarray:
        return data
    return index if isinstance(index, sys.modules["pandas"].Index) else None


def _format_sizes(sizes: Mapping[Any, int], options: SummaryOptions) -> str:
    return ", ".join(f"{format_label(name, options)}: {length:,}" for name, length in sizes.items())


def _measure_array(array: Any) -> str:
    return f"{_format_shape(array.sizes)} of {array.dtype}"


def _measure_dataset(dataset: Any) -> str:
    names = [name if type(name) is str else type(name).__name__ for name in dataset.data_vars]
    return f"{_format_shape(dataset.sizes)}, {len(names)} variables #{hash(tuple(names)) & 0xFFFFFFFF:08x}"


def _format_shape(sizes: Mapping[Any, int]) -> str:
    return " x ".join(map(str, sizes.values())) or "scalar"


FAMILY = TypeFamily(
    {
        "xarray.DataArray": _describe_array,
        "xarray.Variable": _describe_array,
        "xarray.Dataset": _describe_dataset,
        "xarray.DataTree": _describe_tree,
    },
    {
        "xarray.DataArray": _measure_array,
        "xarray.Variable": _measure_array,
        "xarray.Dataset": _measure_dataset,
    },
)
