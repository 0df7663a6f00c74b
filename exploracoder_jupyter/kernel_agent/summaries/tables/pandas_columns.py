"""Describes the values of a pandas column or series."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import describe_elements as describe_elements
from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import sample_indices
from exploracoder_jupyter.kernel_agent.summaries.missing_values import missing_note
from exploracoder_jupyter.kernel_agent.summaries.number_format import format_range, percentage
from exploracoder_jupyter.kernel_agent.summaries.sampling import sample_note, sample_size
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import (
    ColumnFacts,
    describe_objects,
    describe_texts,
    format_cell,
    format_timestamp,
    most_frequent,
)


def describe_column(name: str, values: Any, options: SummaryOptions, positions: Any) -> Fact:
    """Describe a series or an array on one line."""
    return describe_values(values, options, positions).fact(name, format_dtype(values.dtype))


def format_dtype(dtype: Any) -> str:
    """Format a dtype for people."""
    categories = getattr(dtype, "categories", None)
    if categories is None:
        return dtype_name(dtype)
    return f"{'ordered ' if dtype.ordered else ''}category of {len(categories):,}"


def dtype_name(dtype: Any) -> str:
    """Format a dtype as pandas does, without the fill value of sparse dtypes, which is data."""
    return f"Sparse[{dtype.subtype}]" if type(dtype).__name__ == "SparseDtype" else str(dtype)


def positions_note(positions: Any, count: int) -> str:
    """Return a note of how many of the values are sampled, or an empty string if all are."""
    return "" if positions is None else sample_note(len(positions), count)


def describe_values(values: Any, options: SummaryOptions, positions: Any) -> ColumnFacts:
    """Describe the values at these positions, or all of them if `positions` is None."""
    pandas = sys.modules["pandas"]
    array = getattr(values, "array", values)
    positions = _limit_positions(array, positions)
    sample = array if positions is None else array.take(positions)
    series = pandas.Series(sample, dtype=values.dtype)
    is_missing = series.isna().to_numpy(dtype=bool)
    exact = positions is None
    counts = (*missing_note(int(is_missing.sum()), len(series), exact=exact), *_density_note(values, array))
    if is_missing.all():
        return ColumnFacts(counts)
    facts = _describe_present(series[~is_missing] if is_missing.any() else series, options, exact)
    return ColumnFacts((*facts.counts, *counts), facts.values)


def _limit_positions(array: Any, positions: Any) -> Any:
    limit = sample_size(array.nbytes / max(len(array), 1))
    return positions if len(array if positions is None else positions) <= limit else sample_indices(len(array), limit)


def _density_note(values: Any, array: Any) -> tuple[str, ...]:
    if type(values.dtype).__name__ != "SparseDtype":
        return ()
    return (f"{percentage(int(array.npoints), len(array))} stored",) if len(array) else ()


def _describe_present(series: Any, options: SummaryOptions, exact: bool) -> ColumnFacts:
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        return ColumnFacts(values=(_describe_categories(series, options, exact),))
    if type(dtype).__name__ == "IntervalDtype":
        return ColumnFacts(
            values=(
                format_range(
                    format_cell(series.array.left.min(), options), format_cell(series.array.right.max(), options)
                ),
            )
        )
    dtype_kind = getattr(dtype, "kind", "O")
    if dtype_kind in "iufcb":
        values = series.to_numpy(dtype=getattr(dtype, "numpy_dtype", None))
        return describe_elements(values, options, exact=exact, deviation=False)
    if dtype_kind in "mM" or type(dtype).__name__ == "PeriodDtype":
        return ColumnFacts(values=(format_range(format_timestamp(series.min()), format_timestamp(series.max())),))
    if type(dtype).__name__ == "StringDtype" or "string" in str(dtype).partition("[")[0]:
        return ColumnFacts(values=describe_texts(series.tolist(), options, exact=exact))
    return describe_objects(series.tolist(), options, exact=exact)


def _describe_categories(series: Any, options: SummaryOptions, exact: bool) -> str:
    codes = Counter(series.array.codes.tolist()).most_common(3)
    names = Counter({format_cell(series.array.categories[code], options): count for code, count in codes})
    return most_frequent(names, len(series), options, exact=exact)
