"""xarray: data arrays, datasets and trees.

Only data already in memory is examined: reading a variable of a file or of a lazy library would load it, and xarray
would keep what was loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import (
    as_ndarray,
    describe_elements,
    first_elements,
    sample_elements,
    sample_indices,
)
from exploracoder_jupyter.kernel_agent.summaries.sampling import sample_note
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, format_list, format_size
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables import pandas_columns
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import ColumnFacts, format_cell, format_label


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    sizes, memory = _format_sizes(array.sizes, options), format_size(array.nbytes)
    yield Fact(f"({sizes}), dtype {array.dtype}, {memory}{_format_name(array, options)}")
    yield from _value_facts(array.variable, options)
    yield from _coordinate_facts(array, options)
    yield from _attribute_facts(array.attrs, options)


def _describe_variable(variable: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"({_format_sizes(variable.sizes, options)}), dtype {variable.dtype}, {format_size(variable.nbytes)}")
    yield from _value_facts(variable, options)
    yield from _attribute_facts(variable.attrs, options)


def _describe_dataset(dataset: Any, options: SummaryOptions) -> Iterator[Fact]:
    count = len(dataset.data_vars)
    yield Fact(f"({_format_sizes(dataset.sizes, options)}), {count:,} variables, {format_size(dataset.nbytes)}")
    for name in list(dataset.data_vars)[: options.columns]:
        yield _variable_fact(format_label(name, options), dataset.variables[name], options)
    if count > options.columns:
        yield Fact(f"... {count - options.columns:,} more variables")
    yield from _coordinate_facts(dataset, options)
    yield from _attribute_facts(dataset.attrs, options)


def _describe_tree(tree: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"{len(tree.groups):,} groups")
    for node in list(tree.subtree)[: options.columns]:
        names = [format_label(name, options) for name in node.data_vars]
        yield Fact(f"{node.path}: ({_format_sizes(node.sizes, options)}) {format_list(names, 10)}".rstrip())


def _value_facts(variable: Any, options: SummaryOptions) -> Iterator[Fact]:
    facts, note = _describe_values(variable, options)
    if facts.counts or facts.values:
        yield facts.fact("values", "", note)
    data = _loaded_data(variable)
    if type(data).__module__ == "numpy" and data.size:
        yield Fact(first_elements(as_ndarray(data), options), shows=True)


def _coordinate_facts(values: Any, options: SummaryOptions) -> Iterator[Fact]:
    for name in list(values.coords)[: options.columns]:
        yield _variable_fact(f"coordinate {format_label(name, options)}", values.coords[name].variable, options)


def _variable_fact(name: str, variable: Any, options: SummaryOptions) -> Fact:
    facts, note = ColumnFacts(), ""
    if not options.out_of_time:
        facts, note = _describe_values(variable, options)
    dims = f"({', '.join(format_label(name, options) for name in variable.dims)}) " if variable.dims else ""
    return facts.fact(name, f"{dims}{variable.dtype}", note)


def _describe_values(variable: Any, options: SummaryOptions) -> tuple[ColumnFacts, str]:
    data = _loaded_data(variable)
    if data is None:
        return ColumnFacts((f"not loaded{_format_chunks(variable)}",)), ""
    if type(data).__module__ == "numpy":
        sample = sample_elements(as_ndarray(data), options.sample)
        facts = describe_elements(sample, options, exact=sample.size == data.size)
        return facts, sample_note(sample.size, data.size)
    positions = sample_indices(len(data), options.sample)
    facts = (
        pandas_columns.describe_values(data, options, positions)
        if len(data) and not hasattr(data, "levels")
        else ColumnFacts()
    )
    return facts, pandas_columns.positions_note(positions, len(data))


def _loaded_data(variable: Any) -> Any:
    """Return the NumPy array in memory or the pandas index behind a coordinate; None if it would have to be loaded."""
    data = variable._data
    index = getattr(data, "array", None)
    if type(data) is sys.modules["numpy"].ndarray:
        return data
    return index if isinstance(index, sys.modules["pandas"].Index) else None


def _format_chunks(variable: Any) -> str:
    chunks = getattr(variable._data, "numblocks", None)
    return f", in {' x '.join(map(str, chunks))} chunks" if chunks else ""


def _format_sizes(sizes: Mapping[Any, int], options: SummaryOptions) -> str:
    return ", ".join(f"{format_label(name, options)}: {length:,}" for name, length in sizes.items())


def _format_name(array: Any, options: SummaryOptions) -> str:
    return "" if array.name is None else f", named {format_label(array.name, options)!r}"


def _attribute_facts(attributes: Mapping[Any, Any], options: SummaryOptions) -> Iterator[Fact]:
    if attributes:
        names = [format_label(name, options) for name in attributes]
        shown = [
            f"{format_label(name, options)}={format_cell(value, options)}"
            for name, value in list(attributes.items())[:10]
        ]
        yield Fact(f"attrs: {format_list(shown, 5)}", shows=True, schema=f"attrs: {format_list(names, 5)}")


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
        "xarray.Variable": _describe_variable,
        "xarray.Dataset": _describe_dataset,
        "xarray.DataTree": _describe_tree,
    },
    {
        "xarray.DataArray": _measure_array,
        "xarray.Variable": _measure_array,
        "xarray.Dataset": _measure_dataset,
    },
)
