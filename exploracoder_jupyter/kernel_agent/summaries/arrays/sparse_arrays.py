"""SciPy's sparse arrays and matrices."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import (
    describe_elements,
    first_elements,
    sample_elements,
)
from exploracoder_jupyter.kernel_agent.summaries.number_format import percentage
from exploracoder_jupyter.kernel_agent.summaries.sampling import sample_note
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, format_size
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_ARRAY_ATTRIBUTES = ("data", "indices", "indptr", "row", "col", "offsets", "rows")


def _describe_sparse(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    stored, total = int(array.nnz), 1
    for length in array.shape:
        total *= length
    density = f" ({percentage(stored, total)})" if total else ""
    memory = f", {format_size(_memory(array))}" if _memory(array) else ""
    yield Fact(f"shape {array.shape}, {array.format} format, dtype {array.dtype}, {stored:,} stored{density}{memory}")
    values = _stored_values(array, options)
    if stored and values.size:
        sample = sample_elements(values, options.sample)
        yield describe_elements(sample, options, exact=sample.size == stored).fact(
            "stored values", "", sample_note(sample.size, stored)
        )
        yield Fact(f"stored values: {first_elements(values, options)}", shows=True)


def _memory(array: Any) -> int:
    return sum(int(getattr(getattr(array, name, None), "nbytes", 0)) for name in _ARRAY_ATTRIBUTES)


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


def _measure_sparse(array: Any) -> str:
    return f"{' x '.join(map(str, array.shape))} of {array.dtype}, {array.nnz:,} stored"


DESCRIBERS = dict.fromkeys(("scipy.sparray", "scipy.spmatrix", "scipy.dok_array", "scipy.dok_matrix"), _describe_sparse)
"""The dictionary-of-keys formats subclass `dict`, so they are listed to be described as sparse arrays first."""
MEASURES = dict.fromkeys(DESCRIBERS, _measure_sparse)
