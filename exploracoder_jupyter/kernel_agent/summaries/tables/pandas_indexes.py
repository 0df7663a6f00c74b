"""Describes a pandas index: the labels of the rows, and what is unusual about those of the columns."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.arrays.array_elements import sample_indices
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, format_list
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import ColumnFacts, format_label
from exploracoder_jupyter.kernel_agent.summaries.tables.pandas_columns import describe_values, dtype_name, format_dtype


def index_facts(index: Any, options: SummaryOptions, positions: Any) -> Iterator[Fact]:
    """Describe the row index, unless it only numbers the rows."""
    if is_default_index(index):
        return
    if hasattr(index, "levels"):
        yield from _level_facts(index, options)
        return
    facts = describe_values(index, options, positions) if len(index) else ColumnFacts()
    words = [type(index).__name__, *_format_name(index.name, options)]
    if type(index).__name__ not in ("RangeIndex", "CategoricalIndex"):
        words.append(f"of {dtype_name(index.dtype)}")
    description = f"{' '.join(words)}{_format_frequency(index)}{_duplicates_note(index, positions)}"
    yield facts.fact("index", description)


def is_default_index(index: Any) -> bool:
    """Return whether the index only counts the rows from 0."""
    if type(index).__name__ != "RangeIndex" or index.name is not None:
        return False
    return (index.start, index.step) == (0, 1)


def _format_name(name: Any, options: SummaryOptions) -> list[str]:
    return [] if name is None else [repr(format_label(name, options))]


def _format_frequency(index: Any) -> str:
    if type(index).__name__ == "CategoricalIndex":
        return f", {format_dtype(index.dtype)}"
    if type(index).__name__ == "RangeIndex":
        return f" by {index.step}" if index.step != 1 else ""
    name = getattr(index, "freqstr", None)
    return f", freq {name}" if name else ""


def _duplicates_note(index: Any, positions: Any) -> str:
    """Check the values for duplicates in a new series, since the index itself would cache a hash table."""
    if positions is not None or type(index).__name__ == "RangeIndex":
        return ""
    values = sys.modules["pandas"].Series(index.array)
    return ", with duplicates" if bool(values.duplicated().any()) else ""


def _level_facts(index: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"index: MultiIndex of {len(index.levels)} levels")
    for level in index.levels[: options.columns]:
        name = "unnamed" if level.name is None else format_label(level.name, options)
        positions = sample_indices(len(level), options.sample)
        yield describe_values(level, options, positions).fact(
            f"level {name}", f"{dtype_name(level.dtype)}, {len(level):,} labels"
        )


def column_label_facts(columns: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe what is unusual about the column labels."""
    if hasattr(columns, "levels"):
        names = ["unnamed" if name is None else format_label(name, options) for name in columns.names]
        yield Fact(f"columns of {len(names)} levels: {format_list(names, options.columns)}")
    elif columns.name is not None:
        yield Fact(f"columns are named {format_label(columns.name, options)!r}")
    duplicates = [name for name, count in Counter(columns).items() if count > 1]
    if duplicates:
        yield Fact(f"names that occur more than once: {format_list([format_label(n, options) for n in duplicates], 5)}")
