"""NumPy arrays and scalars, and SciPy's sparse arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import (
    as_ndarray,
    describe_elements,
    element_facts,
    fingerprint,
    first_elements,
    format_nested,
    sample_elements,
    sampled_fact,
)
from exploracoder_jupyter.kernel_agent.summaries.number_format import missing_note, percentage
from exploracoder_jupyter.kernel_agent.summaries.sampling import sample_note
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import (
    BRIEF_LIMIT,
    Fact,
    TypeFamily,
    format_size,
    truncate,
)
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import format_label, omitted_note

MAX_MAPPED_ELEMENTS = 1_000
"""Maximum elements read from a memory-mapped file: each can be a page from the disk."""
MAX_DTYPE_LENGTH = 80
"""Characters of a dtype within a dtype."""
_ARRAY_ATTRIBUTES = ("data", "indices", "indptr", "row", "col", "offsets", "rows")


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    values = as_ndarray(array)
    yield Fact(_array_header(values))
    if values.dtype.names and values.size:
        yield from _field_facts(values, options)
    elif values.size:
        yield from element_facts(values, options)


def _array_header(values: Any) -> str:
    parts = [f"shape {values.shape}", f"dtype {_format_dtype(values.dtype)}", format_size(values.nbytes)]
    if values.dtype.names:
        parts[1] = f"{len(values.dtype.names):,} fields"
    if values.size > 1 and 0 in values.strides and values.dtype.itemsize:
        parts.append("broadcast: its elements share memory")
    elif not values.flags.c_contiguous:
        parts.append("Fortran order" if values.flags.f_contiguous else "not contiguous")
    if not values.flags.writeable:
        parts.append("read-only")
    if not values.size:
        parts.append("empty")
    return ", ".join(parts)


def _format_dtype(dtype: Any) -> str:
    return truncate(str(dtype), MAX_DTYPE_LENGTH)


def _field_facts(values: Any, options: SummaryOptions) -> Iterator[Fact]:
    sample = sample_elements(values, options.sample)
    note = sample_note(sample.size, values.size)
    for name in values.dtype.names[: options.columns]:
        column = sample_elements(sample[name].reshape(-1), options.sample)
        facts = describe_elements(column, options, exact=not note, deviation=False)
        yield facts.fact(format_label(name, options), _format_dtype(values.dtype[name]), note)
    yield from omitted_note(len(values.dtype.names), "fields", options)
    yield Fact(first_elements(values, options), shows=True)


def _describe_masked(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    numpy = sys.modules["numpy"]
    values, mask = as_ndarray(numpy.ma.getdata(array)), numpy.ma.getmask(array)
    if values.dtype.names or mask is numpy.ma.nomask:
        yield from _describe_array(values, options)
        return
    masked = missing_note(int(numpy.count_nonzero(mask)), values.size, word="masked")
    yield Fact(", ".join((_array_header(values), *(masked or ("none masked",)))))
    sample = sample_elements(values, options.sample)[~sample_elements(mask, options.sample)]
    facts = describe_elements(sample, options, exact=values.size <= options.sample)
    if facts.values:
        yield facts.fact("values", "", sample_note(min(values.size, options.sample), values.size))
    yield Fact(first_elements(array, options), shows=True)


def _describe_mapped(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    values = as_ndarray(array)
    yield Fact(_array_header(values))
    yield Fact(f"mapped from file {array.filename}, mode {array.mode}", shows=True, schema=f"file, mode {array.mode}")
    if values.size and not values.dtype.names:
        yield from sampled_fact(values, MAX_MAPPED_ELEMENTS, options)
        yield Fact(first_elements(values, options), shows=True)


def _describe_scalar(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    array = as_ndarray(sys.modules["numpy"].asarray(value))
    yield Fact(first_elements(array, options), shows=True, schema=f"scalar of {_format_dtype(value.dtype)}")


def _describe_sparse(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    stored, total = int(array.nnz), 1
    for length in array.shape:
        total *= length
    density = f" ({percentage(stored, total)})" if total else ""
    memory = sum(int(getattr(getattr(array, name, None), "nbytes", 0)) for name in _ARRAY_ATTRIBUTES)
    size = f", {format_size(memory)}" if memory else ""
    yield Fact(f"shape {array.shape}, {array.format} format, dtype {array.dtype}, {stored:,} stored{density}{size}")
    values = _stored_values(array, options)
    if stored and values.size:
        if values.size == stored:
            yield from sampled_fact(values, options.sample, options, "stored values")
        yield Fact(f"stored values: {first_elements(values, options)}", shows=True)


def _stored_values(array: Any, options: SummaryOptions) -> Any:
    """Return the stored values as a flat array; of formats that use Python containers, only the first ones."""
    numpy = sys.modules["numpy"]
    if array.format == "dok":
        values = list(islice(array.values(), options.sample))
    elif array.format == "lil":
        values = [value for row in array.data.flat[: options.sample] for value in islice(row, 10)][: options.sample]
    else:
        return numpy.asarray(array.data).reshape(-1)
    return numpy.asarray(values, dtype=array.dtype)


def _format_brief(array: Any, options: SummaryOptions) -> str:
    values = as_ndarray(array)
    if not values.ndim or not 0 < values.size <= BRIEF_LIMIT:
        return ""
    return f"{format_nested(values, options, BRIEF_LIMIT)} of {_format_dtype(values.dtype)}"


def _measure_array(array: Any) -> str:
    values = as_ndarray(array)
    return f"{_format_shape(values)}{fingerprint(values)}"


def _measure_masked(array: Any) -> str:
    numpy = sys.modules["numpy"]
    values, mask = as_ndarray(numpy.ma.getdata(array)), numpy.ma.getmask(array)
    return f"{_format_shape(values)}{fingerprint(values)}{fingerprint(mask)}"


def _measure_mapped(array: Any) -> str:
    return _format_shape(as_ndarray(array))


def _format_shape(values: Any) -> str:
    return f"{' x '.join(map(str, values.shape)) or 'scalar'} of {values.dtype}"


def _measure_sparse(array: Any) -> str:
    return f"{' x '.join(map(str, array.shape))} of {array.dtype}, {array.nnz:,} stored"


def _is_inert(value: Any) -> bool:
    """Return whether this is an array or scalar without objects, and not mapped from a file that may block."""
    name = type(value).__name__
    return hasattr(value, "dtype") and name != "memmap" and not value.dtype.hasobject


_SPARSE_TYPES = ("scipy.sparray", "scipy.spmatrix", "scipy.dok_array", "scipy.dok_matrix")
"""The dictionary-of-keys formats subclass `dict`, so they are listed to be described as sparse arrays first."""

FAMILY = TypeFamily(
    {
        "numpy.ndarray": _describe_array,
        "numpy.MaskedArray": _describe_masked,
        "numpy.memmap": _describe_mapped,
        "numpy.generic": _describe_scalar,
        "numpy.str_": _describe_scalar,
        "numpy.bytes_": _describe_scalar,
        **dict.fromkeys(_SPARSE_TYPES, _describe_sparse),
    },
    {
        "numpy.ndarray": _measure_array,
        "numpy.MaskedArray": _measure_masked,
        "numpy.memmap": _measure_mapped,
        **dict.fromkeys(_SPARSE_TYPES, _measure_sparse),
    },
    is_inert=_is_inert,
    briefs={"numpy.ndarray": _format_brief},
)
