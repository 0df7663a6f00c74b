"""Describes tables and columns of Polars and PyArrow, which differ in how a column is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.number_format import missing_note
from exploracoder_jupyter.kernel_agent.summaries.sampling import sample_note, sample_positions, sample_size
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import BRIEF_LIMIT, Fact, format_size
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.tables.column_facts import (
    MAX_COMPARED_COLUMNS,
    ColumnFacts,
    body_facts,
    column_overview,
    describe_values,
    first_values,
    format_cell,
    format_label,
    row_facts,
    text_prefix,
)

_LONG_VALUE_BYTES = 4_000
"""Bytes of a nested value from which on only its size is shown."""


@dataclass(frozen=True, slots=True)
class ColumnReader:
    """How the columns of a library are read."""

    format_type: Callable[[Any], str]
    size: Callable[[Any], int]
    """In bytes."""
    null_count: Callable[[Any], int]
    take: Callable[[Any, list[int]], Any]
    is_nested: Callable[[Any], bool]
    """Whether the values of a column can be large or of any type."""
    to_list: Callable[[Any], list[Any]]
    """Returns the Python values that are not null; of times only the ends, as converting those with a zone takes long;
    of texts only the first `PREFIX_LENGTH` characters."""

    def describe_table(
        self, names: Sequence[str], columns: Sequence[Any], length: int, options: SummaryOptions
    ) -> Iterator[Fact]:
        """Describe a table of `length` rows."""
        size = sum(map(self.size, columns))
        positions = _sample(size, length, options)
        note = sample_note(len(positions), length) if positions else ""
        yield Fact(f"{length:,} rows x {len(columns):,} columns, {format_size(size)}{note}")
        labels = [format_label(name, options) for name in names]
        types = [self.format_type(column) for column in columns]
        yield from column_overview(list(zip(labels, types, strict=True)), options)
        described = list(zip(labels, types, columns, strict=True))[: options.columns]

        def rows(limit: int) -> Iterator[Fact]:
            cells = [self._format_cells(column, limit, options) for _, _, column in described]
            yield from row_facts(labels[: options.columns], zip(*cells, strict=True), total=length)

        facts = (self._describe(column, options, positions).fact(name, kind) for name, kind, column in described)
        yield from body_facts((length, len(columns)), facts, rows, options)

    def describe_column(
        self, column: Any, options: SummaryOptions, name: str = "values", note: str = ""
    ) -> Iterator[Fact]:
        """Describe a column or an array."""
        length, size = len(column), self.size(column)
        positions = _sample(size, length, options)
        sampled = sample_note(len(positions), length) if positions else ""
        yield Fact(f"{length:,} values{note}, {format_size(size)}{sampled}")
        yield self._describe(column, options, positions).fact(name, self.format_type(column))
        yield from first_values(lambda limit: self._format_cells(column, limit, options), length)

    def format_brief(self, column: Any, options: SummaryOptions) -> str:
        """Format a small column."""
        if not 0 < len(column) <= BRIEF_LIMIT:
            return ""
        return f"[{', '.join(self._format_cells(column, BRIEF_LIMIT, options))}] of {self.format_type(column)}"

    def _describe(self, column: Any, options: SummaryOptions, positions: list[int] | None) -> ColumnFacts:
        if options.out_of_time or not len(column):
            return ColumnFacts()
        counts = missing_note(self.null_count(column), len(column), word="null")
        if self.is_nested(column):
            return ColumnFacts(counts)
        try:
            values = self.to_list(column if positions is None else self.take(column, positions))
        except NotImplementedError:  # Arrow does not implement every function for every type
            return ColumnFacts(counts)
        facts = describe_values(values, options, exact=positions is None)
        return ColumnFacts((*counts, *facts.counts), facts.values)

    def _format_cells(self, column: Any, limit: int, options: SummaryOptions) -> list[str]:
        return [self._format_cell(column.slice(row, 1), options) for row in range(min(limit, len(column)))]

    def _format_cell(self, item: Any, options: SummaryOptions) -> str:
        """Format the only value of a column."""
        if self.null_count(item):
            return "null"
        if self.is_nested(item) and self.size(item) >= _LONG_VALUE_BYTES:
            return f"({format_size(self.size(item))})"
        value = self.to_list(item)[0]
        if type(value) is str:
            return text_prefix(value, options)
        if type(value) is float and self.format_type(item) in ("Float32", "float", "halffloat"):
            return f"{value:.8g}"
        return format_cell(value, options)


def measure_table(names: Sequence[str], length: int, types: str = "") -> str:
    """Return the shape, and a hash of the names of columns."""
    shape = f"{length} rows x {len(names)} columns{types}"
    return shape if len(names) > MAX_COMPARED_COLUMNS else f"{shape} #{hash(tuple(names)) & 0xFFFFFFFF:08x}"


def _sample(size: int, length: int, options: SummaryOptions) -> list[int] | None:
    return sample_positions(length, sample_size(size / max(length, 1), options.sample))
