"""The tables of a report as data, from which a page and a terminal show them, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from exploracoder_jupyter.evaluation.measures.bootstrap_estimates import Estimate
from exploracoder_jupyter.evaluation.measures.measure_definitions import MEASURES, Unit
from exploracoder_jupyter.evaluation.measures.summary import Summary
from exploracoder_jupyter.evaluation.report.estimate_text import interval_text, p_value_text, value_text
from exploracoder_jupyter.trace.cells.escaped_text import prose

_QUALITY: Final = ("pass@1", "success@1", "test_rate", "invented", "recall", "precision", "faults")
_COST: Final = ("tokens", "tokens_per_solved", "cost", "cost_per_solved", "calls", "seconds", "executions")
_COST_BY_KIND: Final = ("prompt_tokens", "completion_tokens")


class Column(NamedTuple):
    """A column after the first one, which names the arm."""

    title: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, its interval, and the number by which a column is sorted."""

    value: str
    interval: str = ""
    order: float | None = None
    """`None` is sorted last."""
    best: bool = False
    """Whether no other arm has a better value."""


class TableRow(NamedTuple):
    """A row; `name` is its header."""

    name: str
    cells: tuple[Cell, ...]
    on_front: bool = False


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table with a row for each arm."""

    id: str
    caption: str
    corner: str
    """Title of the first column: what the arms are named by."""
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]


def arm_title(summary: Summary) -> str:
    """Return what the arms are named by: strategy, model or both."""
    strategies, models = ({arm.strategy for arm in summary.arms}, {arm.model for arm in summary.arms})
    if len(models) <= 1:
        return "Strategy"
    return "Strategy, model" if len(strategies) > 1 else "Model"


def quality_table(summary: Summary) -> ResultTable:
    """Return what the arms achieve; measures that no arm has are left out."""
    return _measure_table("quality", "Quality", summary, _QUALITY)


def cost_table(summary: Summary) -> ResultTable:
    """Return what a run of the arms costs; measures that no arm has are left out."""
    return _measure_table("cost", "Cost of a run", summary, _COST + _COST_BY_KIND)


def pair_table(summary: Summary) -> ResultTable:
    """Return how the arms differ from the baseline."""
    columns = (
        Column("Problems", "Problems that both arms were run on."),
        Column("Only this", "Problems that only this arm solves, by the majority of its samples."),
        Column("Only baseline", "Problems that only the baseline solves."),
        Column("p", "Of McNemar's exact test whether one of the two solves more, adjusted for all rows (Holm)."),
        Column("pass@1, points", "Difference of pass@1 in percentage points."),
        Column("Tokens", "Difference of the tokens of a run."),
        Column("Times the tokens", "Tokens divided by those of the baseline."),
    )
    return ResultTable(
        "pairs", f"Compared with {summary.baseline}", arm_title(summary), columns, tuple(_pair_rows(summary))
    )


def curve_table(summary: Summary) -> ResultTable:
    """Return pass@k of the arms for each k."""
    ks = list(summary.arms[0].pass_at) if summary.arms else []
    columns = tuple(Column(f"pass@{k}", f"Probability that one of {k} samples passes.") for k in ks)
    best = {k: max(_values(arm.pass_at[k] for arm in summary.arms), default=None) for k in ks}
    rows = (
        TableRow(arm.name, tuple(_cell(arm.pass_at[k], "share", best[k]) for k in ks), arm.on_front)
        for arm in summary.arms
    )
    return ResultTable("pass-at-k", "pass@k", arm_title(summary), columns, tuple(rows))


def _measure_table(identity: str, caption: str, summary: Summary, keys: Sequence[str]) -> ResultTable:
    by_key = {measure.key: measure for measure in MEASURES}
    columns, cells = list[Column](), list[list[Cell]]()
    for measure in (by_key[key] for key in keys):
        estimates = [arm.estimates[measure.key] for arm in summary.arms]
        values = _values(estimates)
        if values:
            columns.append(Column(measure.title, measure.meaning))
            choose = max if measure.better == "higher" else min
            best = choose(values) if len({*values}) > 1 else None
            cells.append([_cell(estimate, measure.unit, best) for estimate in estimates])
    rows = (
        TableRow(arm.name, of_arm, arm.on_front)
        for arm, of_arm in zip(summary.arms, zip(*cells, strict=True), strict=True)
    )
    return ResultTable(identity, caption, arm_title(summary), tuple(columns), tuple(rows))


def _values(estimates: Iterable[Estimate]) -> list[float]:
    return [estimate.value for estimate in estimates if estimate.value is not None]


def _cell(estimate: Estimate, unit: Unit, best: float | None = None) -> Cell:
    is_best = best is not None and estimate.value == best
    return Cell(value_text(estimate, unit), interval_text(estimate, unit), estimate.value, is_best)


def _pair_rows(summary: Summary) -> Iterator[TableRow]:
    fronts = {arm.name: arm.on_front for arm in summary.arms}
    for pair in summary.pairs:
        one = pair.comparison
        counts = (Cell(str(count), order=count) for count in (one.problems, one.only_arm, one.only_baseline))
        cells = (
            *counts,
            Cell(p_value_text(pair.adjusted_p_value), order=pair.adjusted_p_value),
            _signed(_cell(one.pass_difference, "share")),
            _signed(_cell(one.token_difference, "number")),
            _cell(one.token_ratio, "number"),
        )
        yield TableRow(pair.arm, cells, fronts[pair.arm])


def _signed(cell: Cell) -> Cell:
    sign = "+" if cell.order and cell.order > 0 else ""
    value = sign + cell.value.removesuffix(" %")
    return Cell(value.replace("-", "−"), cell.interval.replace("-", "−"), cell.order)


def markdown(summary: Summary) -> str:
    """Render quality, cost and comparison as Markdown tables, with 95 % intervals in parentheses."""
    if not summary.arms:
        return "No results.\n"
    tables = [quality_table(summary), cost_table(summary), *([pair_table(summary)] if summary.pairs else [])]
    notes = [*summary.notices, "Parentheses contain 95 % intervals (bootstrap over problems)."]
    return "\n\n".join([*map(_markdown_table, tables), "\n".join(f"- {prose(note)}" for note in notes)]) + "\n"


def _markdown_table(table: ResultTable) -> str:
    lines = [[table.corner, *(column.title for column in table.columns)], ["---"] + ["---:"] * len(table.columns)]
    for row in table.rows:
        values = ((f"**{cell.value}**" if cell.best else cell.value, cell.interval) for cell in row.cells)
        lines.append([prose(row.name), *(f"{value} ({interval})" if interval else value for value, interval in values)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
