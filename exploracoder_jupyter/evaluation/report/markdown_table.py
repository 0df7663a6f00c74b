"""The tables of a report as Markdown, for a README."""

from __future__ import annotations

from collections.abc import Iterator

from exploracoder_jupyter.evaluation.measures.summary import Summary
from exploracoder_jupyter.evaluation.report.result_table import Cell, ResultTable, cost_table, pair_table, quality_table
from exploracoder_jupyter.trace.cells.escaped_text import prose


def markdown(summary: Summary) -> str:
    """Render quality, cost and comparison as Markdown tables, with 95 % intervals in parentheses."""
    if not summary.arms:
        return "No results.\n"
    tables = [quality_table(summary), cost_table(summary), *([pair_table(summary)] if summary.pairs else [])]
    parts = [_table(table) for table in tables]
    notes = [*summary.notices, "Parentheses contain 95 % intervals (bootstrap over problems)."]
    return "\n\n".join([*parts, "\n".join(f"- {prose(note)}" for note in notes)]) + "\n"


def _table(table: ResultTable) -> str:
    titles = [table.corner, *(column.title for column in table.columns)]
    rows = ([prose(row.name), *map(_cell, row.cells)] for row in table.rows)
    return "\n".join(_lines(titles, rows))


def _lines(titles: list[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield _line(titles)
    yield _line(["---"] + ["---:"] * (len(titles) - 1))
    yield from map(_line, rows)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    value = f"**{cell.value}**" if cell.best else cell.value
    return f"{value} ({cell.interval})" if cell.interval else value
