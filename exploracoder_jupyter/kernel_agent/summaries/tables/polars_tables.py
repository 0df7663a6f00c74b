"""Polars data frames, lazy frames and series.

They are described in the kernel's own process: Polars' threads do not exist in a fork, so it would wait for them
forever. Therefore all work is bounded: statistics come from a sample, and only the beginnings of texts and lists are
extracted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import (
    MAX_COMPARED_COLUMNS,
    PREFIX_LENGTH,
    format_label,
)
from exploracoder_jupyter.kernel_agent.summaries.tables.polars_and_arrow_columns import ColumnReader, measure_table


def _describe_series(series: Any, options: SummaryOptions) -> Iterator[Fact]:
    name = format_label(series.name, options) if series.name else "values"
    yield from _READER.describe_column(series, options, name)


def _describe_lazy_frame(frame: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a lazy frame without even its column names: resolving them opens files and calls functions."""
    yield Fact("lazy, not collected; collect_schema() returns its columns")


def _describe_expression(expression: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe an expression. Its text can contain values, such as those in comparisons."""
    yield Fact(truncate(str(expression), 4 * options.cell_width), shows=True, schema="an expression")


def _estimate_size(series: Any) -> int:
    """Estimate the size; of Python objects, only their references, because older versions panic otherwise."""
    return 8 * len(series) if str(series.dtype) == "Object" else int(series.estimated_size())


def _format_type(dtype: Any) -> str:
    name = str(dtype).replace("time_unit=", "").replace(", time_zone=None", "")
    return f"Enum of {len(dtype.categories):,}" if name.startswith("Enum") else truncate(name, 80)


def _to_list(series: Any) -> list[Any]:
    series = series.drop_nulls()
    if series.dtype.is_temporal() and len(series):
        return [series.min(), series.max()]
    is_text = str(series.dtype) == "String"
    values: list[Any] = (series.str.slice(0, PREFIX_LENGTH) if is_text else series).to_list()
    return values


_READER = ColumnReader(
    format_type=lambda series: _format_type(series.dtype),
    size=_estimate_size,
    null_count=lambda series: series.null_count(),
    take=lambda series, positions: series.gather(sys.modules["polars"].Series(positions)),
    is_nested=lambda series: series.dtype.is_nested() or str(series.dtype) in ("Binary", "Object"),
    to_list=_to_list,
)


def _measure_frame(frame: Any) -> str:
    is_wide = frame.width > MAX_COMPARED_COLUMNS
    types = "" if is_wide else f" of {', '.join(sorted(set(map(_format_type, frame.dtypes))))}"
    return measure_table(frame.columns, frame.height, types)


FAMILY = TypeFamily(
    {
        "polars.DataFrame": lambda frame, options: _READER.describe_table(
            frame.columns, frame.get_columns(), frame.height, options
        ),
        "polars.Series": _describe_series,
        "polars.LazyFrame": _describe_lazy_frame,
        "polars.Expr": _describe_expression,
    },
    {
        "polars.DataFrame": _measure_frame,
        "polars.Series": lambda series: f"{len(series)} values of {_format_type(series.dtype)}",
    },
    in_process=True,
    briefs={"polars.Series": _READER.format_brief},
)
