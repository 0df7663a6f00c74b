"""Describes the elements of a NumPy array, from a sample where there are many."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.number_format import format_range, missing_note
from exploracoder_jupyter.kernel_agent.summaries.sampling import sample_note, sample_positions
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import (
    ColumnFacts,
    describe_objects,
    describe_values,
    format_cell,
    format_timestamp,
)

WHOLE_ARRAY_LIMIT = 24
"""Up to this many elements, an array is shown whole."""
ROW_ELEMENTS = 8
"""Elements shown of a row at the beginning of a larger array."""

MAX_HASHED_BYTES = 64_000
"""Maximum bytes of an array that are hashed to detect changes."""


def as_ndarray(array: Any) -> Any:
    """View the array's memory as the base class, so that methods overridden by a subclass do not run."""
    numpy = sys.modules["numpy"]
    return numpy.ndarray.view(array, numpy.ndarray)


def sample_indices(count: int, limit: int) -> Any:
    """Return the positions of a sample, evenly spread; None: take all."""
    positions = sample_positions(count, limit)
    return None if positions is None else sys.modules["numpy"].asarray(positions)


def sample_elements(array: Any, limit: int) -> Any:
    """Flatten an array, or take elements evenly spread if it has more than `limit`."""
    positions = sample_indices(array.size, limit)
    return array.reshape(-1) if positions is None else array.flat[positions]


def element_facts(array: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Yield a line of facts about the elements of an array, and a line with the elements or the first ones."""
    if array.size > WHOLE_ARRAY_LIMIT or array.dtype.kind in "OV":
        yield from sampled_fact(array, options.sample, options)
    yield Fact(first_elements(array, options), shows=True)


def sampled_fact(array: Any, limit: int, options: SummaryOptions, name: str = "values") -> Iterator[Fact]:
    """Yield a line of facts about the elements of an array, or about `limit` of them."""
    sample = sample_elements(array, limit)
    facts = describe_elements(sample, options, exact=sample.size == array.size)
    if facts.counts or facts.values:
        yield facts.fact(name, "", sample_note(sample.size, array.size))


def describe_elements(
    values: Any, options: SummaryOptions, *, exact: bool = True, deviation: bool = True
) -> ColumnFacts:
    """Describe the values of a flat array; counts in a sample (`exact` false) are given as shares."""
    kind = values.dtype.kind
    if not values.size or kind == "V":
        return ColumnFacts()
    if kind == "O":
        return describe_objects(values.tolist(), options, exact=exact)
    if kind in "mM":
        is_missing = sys.modules["numpy"].isnat(values)
        present = values[~is_missing]
        counts = missing_note(int(is_missing.sum()), values.size, exact=exact, word="NaT")
        ends = [format_timestamp(end) for end in (present.min(), present.max())] if present.size else []
        return ColumnFacts(counts, (format_range(*ends),) if ends else ())
    numbers = values.astype("f8") if kind == "f" else values  # longer floats have no Python type
    return describe_values(numbers.tolist(), options, exact=exact, deviation=deviation)


def first_elements(array: Any, options: SummaryOptions) -> str:
    """Format all elements of a small array, else the first ones of its first rows."""
    if array.ndim == 0:
        return f"value {format_nested(array, options, WHOLE_ARRAY_LIMIT)}"
    if array.size <= WHOLE_ARRAY_LIMIT:
        return f"all: {format_nested(array, options, WHOLE_ARRAY_LIMIT)}"
    first_block = array[(0,) * max(array.ndim - 2, 0)]
    position_note = f" at [{', '.join('0' * (array.ndim - 2))}]" if array.ndim > 2 else ""
    limit = options.rows if first_block.ndim > 1 else ROW_ELEMENTS
    return f"begins{position_note}: {format_nested(first_block, options, limit)}"


def format_nested(array: Any, options: SummaryOptions, limit: int) -> str:
    """Format the first elements along each dimension, in brackets."""
    if array.ndim == 0:
        return _format_element(array[()], options)
    if array.ndim == 1:
        items = [_format_element(value, options) for value in array[:limit]]
    else:
        items = [format_nested(row, options, max(limit, ROW_ELEMENTS)) for row in array[:limit]]
    return f"[{', '.join([*items, '...'] if len(array) > limit else items)}]"


def _format_element(value: Any, options: SummaryOptions) -> str:
    if type(value).__name__ == "MaskedConstant":
        return "masked"
    if isinstance(value, str):
        text = str(value)
        return repr(text) if len(text) <= options.cell_width else f"'{format_cell(text, options)}'"
    return format_cell(value, options)


def fingerprint(array: Any) -> str:
    """Return a short hash of a small array's elements, to detect changes: ` #1f00ba44`; empty for other arrays.

    The hash is salted anew in each process, so it reveals nothing about the elements.
    """
    if array.nbytes > MAX_HASHED_BYTES or array.dtype.hasobject:
        return ""
    return f" #{hash(array.tobytes()) & 0xFFFFFFFF:08x}"
