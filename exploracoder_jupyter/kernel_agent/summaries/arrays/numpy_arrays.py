"""NumPy arrays and scalars, and SciPy's sparse arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays import sparse_arrays
from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import (
    as_ndarray,
    describe_elements,
    element_facts,
    fingerprint,
    first_elements,
    format_nested,
    sample_elements,
)
from exploracoder_jupyter.kernel_agent.summaries.missing_values import missing_note
from exploracoder_jupyter.kernel_agent.summaries.sampling import sample_note
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import (
    BRIEF_LIMIT,
    Fact,
    TypeFamily,
    format_list,
    format_size,
    truncate,
)
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import format_label

MAX_MAPPED_ELEMENTS = 1_000
"""Maximum elements read from a memory-mapped file: each can be a page from the disk."""
MAX_DTYPE_LENGTH = 80
"""Characters of a dtype within a dtype."""


def _describe_array(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    values = as_ndarray(array)
    yield Fact(_array_header(values))
    if not values.size:
        return
    if values.dtype.names:
        yield from _field_facts(values, options)
    else:
        yield from element_facts(values, options)


def _array_header(values: Any) -> str:
    return ", ".join(
        [f"shape {values.shape}", _format_dtype(values.dtype), format_size(values.nbytes), *_layout_notes(values)]
    )


def _format_dtype(dtype: Any) -> str:
    return f"{len(dtype.names):,} fields" if dtype.names else f"dtype {truncate(str(dtype), MAX_DTYPE_LENGTH)}"


def _layout_notes(values: Any) -> Iterator[str]:
    if values.size > 1 and 0 in values.strides and values.dtype.itemsize:
        yield "broadcast: its elements share memory"
    elif not values.flags.c_contiguous:
        yield "Fortran order" if values.flags.f_contiguous else "not contiguous"
    if not values.flags.writeable:
        yield "read-only"
    if not values.size:
        yield "empty"


def _field_facts(values: Any, options: SummaryOptions) -> Iterator[Fact]:
    sample = sample_elements(values, options.sample)
    for name in values.dtype.names[: options.columns]:
        column = sample[name].reshape(-1)
        facts = describe_elements(
            sample_elements(column, options.sample), options, exact=sample.size == values.size, deviation=False
        )
        yield facts.fact(
            format_label(name, options),
            truncate(str(values.dtype[name]), MAX_DTYPE_LENGTH),
            sample_note(sample.size, values.size),
        )
    if len(values.dtype.names) > options.columns:
        yield Fact(f"... {len(values.dtype.names) - options.columns:,} more fields")
    yield Fact(first_elements(values, options), shows=True)


def _describe_masked(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    numpy = sys.modules["numpy"]
    values, mask = as_ndarray(numpy.ma.getdata(array)), numpy.ma.getmask(array)
    if values.dtype.names or mask is numpy.ma.nomask:
        yield from _describe_array(values, options)
        return
    masked_count = int(numpy.count_nonzero(mask))
    yield Fact(
        ", ".join(
            (_array_header(values), *(missing_note(masked_count, values.size, word="masked") or ("none masked",)))
        )
    )
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
        sample = sample_elements(values, MAX_MAPPED_ELEMENTS)
        yield describe_elements(sample, options, exact=False).fact("values", "", sample_note(sample.size, values.size))
        yield Fact(first_elements(values, options), shows=True)


def _describe_scalar(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    numpy = sys.modules["numpy"]
    kind = f"scalar of {truncate(str(value.dtype), MAX_DTYPE_LENGTH)}"
    yield Fact(first_elements(as_ndarray(numpy.asarray(value)), options), shows=True, schema=kind)


def _describe_dtype(dtype: Any, options: SummaryOptions) -> Iterator[Fact]:
    if not dtype.names:
        yield Fact(f"{dtype}, {dtype.itemsize:,} bytes an element")
        return
    yield Fact(f"{len(dtype.names):,} fields, {dtype.itemsize:,} bytes an element")
    fields = [f"{format_label(name, options)} {truncate(str(dtype[name]), MAX_DTYPE_LENGTH)}" for name in dtype.names]
    yield Fact(format_list(fields, options.columns))


def _describe_generator(generator: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a random generator without its state.

    Drawing from it would change it, and the state reveals the numbers to come.
    """
    yield Fact(f"random numbers, by {type(generator.bit_generator).__name__}")


def _describe_legacy_generator(generator: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact("random numbers, the older interface")


def _format_brief(array: Any, options: SummaryOptions) -> str:
    values = as_ndarray(array)
    if not values.ndim or not 0 < values.size <= BRIEF_LIMIT:
        return ""
    return f"{format_nested(values, options, BRIEF_LIMIT)} of {truncate(str(values.dtype), MAX_DTYPE_LENGTH)}"


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


def _is_inert(value: Any) -> bool:
    """Return whether this is an array or scalar without objects, and not mapped from a file that may block."""
    name = type(value).__name__
    return hasattr(value, "dtype") and name != "memmap" and not value.dtype.hasobject


FAMILY = TypeFamily(
    {
        "numpy.ndarray": _describe_array,
        "numpy.MaskedArray": _describe_masked,
        "numpy.memmap": _describe_mapped,
        "numpy.generic": _describe_scalar,
        "numpy.str_": _describe_scalar,
        "numpy.bytes_": _describe_scalar,
        "numpy.dtype": _describe_dtype,
        "numpy.Generator": _describe_generator,
        "numpy.RandomState": _describe_legacy_generator,
        **sparse_arrays.DESCRIBERS,
    },
    {
        "numpy.ndarray": _measure_array,
        "numpy.MaskedArray": _measure_masked,
        "numpy.memmap": _measure_mapped,
        **sparse_arrays.MEASURES,
    },
    is_inert=_is_inert,
    briefs={"numpy.ndarray": _format_brief},
)
