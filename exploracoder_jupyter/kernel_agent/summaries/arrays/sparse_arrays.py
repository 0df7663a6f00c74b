"""SciPy's sparse arrays and matrices."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.value_spread import begins, sample, told
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Look, size
from exploracoder_jupyter.kernel_agent.summaries.tables.columns import sampled, share

_PARTS = ("data", "indices", "indptr", "row", "col", "offsets", "rows")


def _sparse(array: Any, look: Look) -> Iterator[Fact]:
    stored, cells = int(array.nnz), 1
    for length in array.shape:
        cells *= length
    density = f" ({share(stored, cells)})" if cells else ""
    held = f", {size(_memory(array))}" if _memory(array) else ""
    yield Fact(f"shape {array.shape}, {array.format} format, dtype {array.dtype}, {stored:,} stored{density}{held}")
    values = _stored(array, look)
    if stored and values.size:
        taken = sample(values, look.sample)
        yield told(taken, look, exact=taken.size == stored).fact("stored values", "", sampled(taken.size, stored))
        yield Fact(f"stored values: {begins(values, look)}", shows=True)


def _memory(array: Any) -> int:
    return sum(int(getattr(getattr(array, name, None), "nbytes", 0)) for name in _PARTS)


def _stored(array: Any, look: Look) -> Any:
    """What is stored in one dimension; of the formats that keep it in Python's own containers, the first of it."""
    numpy = sys.modules["numpy"]
    if array.format == "dok":
        values = list(islice(array.values(), look.sample))
    elif array.format == "lil":
        values = [value for row in array.data.flat[: look.sample] for value in islice(row, 10)][: look.sample]
    else:
        return numpy.asarray(array.data).reshape(-1)
    return numpy.asarray(values, dtype=array.dtype)


def _measure(array: Any) -> str:
    return f"{' x '.join(map(str, array.shape))} of {array.dtype}, {array.nnz:,} stored"


KINDS = dict.fromkeys(("scipy.sparray", "scipy.spmatrix", "scipy.dok_array", "scipy.dok_matrix"), _sparse)
"""Those by keys are dictionaries too: they are told as what they are first."""
MEASURES = dict.fromkeys(KINDS, _measure)
