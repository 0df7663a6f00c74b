"""Describes pandas columns, row indexes, and what is unusual about column labels."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import describe_elements, sample_indices
from exploracoder_jupyter.kernel_agent.summaries.number_format import format_range, missing_note, percentage
from exploracoder_jupyter.kernel_agent.summaries.sampling import sample_note, sample_size
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, format_list
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import (
    ColumnFacts,
    describe_objects,
    describe_texts,
    format_cell,
    format_label,
    format_timestamp,
    most_frequent,
)


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
    if options.out_of_time or not len(values):
        return ColumnFacts()
    array = getattr(values, "array", values)
    limit = sample_size(array.nbytes / len(array))
    if len(array if positions is None else positions) > limit:
        positions = sample_indices(len(array), limit)
    exact = positions is None
    series = sys.modules["pandas"].Series(array if exact else array.take(positions), dtype=values.dtype)
    is_missing = series.isna().to_numpy(dtype=bool)
    counts = missing_note(int(is_missing.sum()), len(series), exact=exact)
    if type(values.dtype).__name__ == "SparseDtype":
        counts = (*counts, f"{percentage(int(array.npoints), len(array))} stored")
    if is_missing.all():
        return ColumnFacts(counts)
    facts = _describe_present(series[~is_missing] if is_missing.any() else series, options, exact)
    return ColumnFacts((*facts.counts, *counts), facts.values)


def _describe_present(series: Any, options: SummaryOptions, exact: bool) -> ColumnFacts:
    dtype, name = series.dtype, type(series.dtype).__name__
    if name == "CategoricalDtype":
        codes = Counter(series.array.codes.tolist()).most_common(3)
        names = Counter({format_cell(series.array.categories[code], options): count for code, count in codes})
        return ColumnFacts(values=(most_frequent(names, len(series), options, exact=exact),))
    if name == "IntervalDtype":
        ends = (series.array.left.min(), series.array.right.max())
        return ColumnFacts(values=(format_range(*(format_cell(end, options) for end in ends)),))
    dtype_kind = getattr(dtype, "kind", "O")
    if dtype_kind in "iufcb":
        values = series.to_numpy(dtype=getattr(dtype, "numpy_dtype", None))
        return describe_elements(values, options, exact=exact, deviation=False)
    if dtype_kind in "mM" or name == "PeriodDtype":
        return ColumnFacts(values=(format_range(format_timestamp(series.min()), format_timestamp(series.max())),))
    if name == "StringDtype" or "string" in str(dtype).partition("[")[0]:
        return ColumnFacts(values=describe_texts(series.tolist(), options, exact=exact))
    return describe_objects(series.tolist(), options, exact=exact)


def index_facts(index: Any, options: SummaryOptions, positions: Any) -> Iterator[Fact]:
    """Describe the row index, unless it only numbers the rows."""
    if is_default_index(index):
        return
    if hasattr(index, "levels"):
        yield Fact(f"index: MultiIndex of {len(index.levels)} levels")
        for level in index.levels[: options.columns]:
            facts = describe_values(level, options, sample_indices(len(level), options.sample))
            name = "unnamed" if level.name is None else format_label(level.name, options)
            yield facts.fact(f"level {name}", f"{dtype_name(level.dtype)}, {len(level):,} labels")
        return
    kind = type(index).__name__
    name = "" if index.name is None else f" {format_label(index.name, options)!r}"
    if kind == "RangeIndex":
        details = f" by {index.step}" if index.step != 1 else ""
    else:
        details = f", {format_dtype(index.dtype)}" if kind == "CategoricalIndex" else f" of {dtype_name(index.dtype)}"
        details += f", freq {index.freqstr}" if getattr(index, "freqstr", None) else ""
        # A new series, since the index itself would cache a hash table.
        if positions is None and sys.modules["pandas"].Series(index.array).duplicated().any():
            details += ", with duplicates"
    yield describe_values(index, options, positions).fact("index", f"{kind}{name}{details}")


def is_default_index(index: Any) -> bool:
    """Return whether the index only counts the rows from 0."""
    return type(index).__name__ == "RangeIndex" and (index.name, index.start, index.step) == (None, 0, 1)


def column_label_facts(columns: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe what is unusual about the column labels."""
    if hasattr(columns, "levels"):
        names = ["unnamed" if name is None else format_label(name, options) for name in columns.names]
        yield Fact(f"columns of {len(names)} levels: {format_list(names, options.columns)}")
    elif columns.name is not None:
        yield Fact(f"columns are named {format_label(columns.name, options)!r}")
    duplicates = [format_label(name, options) for name, count in Counter(columns).items() if count > 1]
    if duplicates:
        yield Fact(f"names that occur more than once: {format_list(duplicates, 5)}")
