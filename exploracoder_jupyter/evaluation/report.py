"""Writes the report of an evaluation: tables, findings, and one HTML page that loads nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from exploracoder_jupyter.core.files import write_atomic
from exploracoder_jupyter.core.messages import one_line, plural
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.evaluation.results import MEASURES, Unit, UnitResult
from exploracoder_jupyter.evaluation.statistics import Arm, Estimate, ProblemRow, Summary, summarize, summary_as_json
from exploracoder_jupyter.export.html import GENERATOR, code_html, page_style
from exploracoder_jupyter.trace.markdown import prose

if TYPE_CHECKING:
    from exploracoder_jupyter.evaluation.report_plots import Plot

__all__ = ["markdown", "summary_as_json", "write_report"]


# Writes figures and their intervals as text: only as many digits as their precision bears.

UNDEFINED: Final = "–"
_MANY_PROBLEMS: Final = 200
"""From this number of problems on, a tenth of a percent can mean something."""


def value_text(estimate: Estimate, unit: Unit) -> str:
    """Return the value, such as `75 %` or `4,520`; a dash if it is undefined."""
    return UNDEFINED if estimate.value is None else figure(estimate.value, unit, estimate.problems)


def interval_text(estimate: Estimate, unit: Unit) -> str:
    """Return the bounds, such as `60 to 88`; empty if the value is undefined, a sentence if only the interval is."""
    if estimate.value is None:
        return ""
    if estimate.low is None or estimate.high is None:
        return "no interval from one problem"
    low, high = (figure(bound, unit, estimate.problems).removesuffix(" %") for bound in (estimate.low, estimate.high))
    return f"{low} to {high}"


def estimate_text(estimate: Estimate, unit: Unit) -> str:
    """Return the value with its bounds in parentheses."""
    interval = interval_text(estimate, unit)
    return f"{value_text(estimate, unit)} ({interval})" if interval else value_text(estimate, unit)


def figure(value: float, unit: Unit, problems: int = 0) -> str:
    """Return one number: a share as percent, others with three significant digits."""
    if math.isinf(value):
        return "∞"
    if unit == "share":
        digits = 1 if problems >= _MANY_PROBLEMS else 0
        rounded = float(f"{100 * value:.{digits}f}")
        # one that is nearly all or nothing gets a digit more, lest it seem exact
        digits += abs(rounded) in (0, 100) and rounded != 100 * value
        return f"{100 * value:.{digits}f} %"
    places = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.0f}" if value == int(value) and places >= 0 else f"{round(value, places):,.{max(places, 0)}f}"


def p_value_text(value: float) -> str:
    """Return a p-value; very small ones as a bound."""
    return "< 0.001" if value < 0.001 else f"{value:.{3 if value < 0.1 else 2}f}"


# What the report page states beside its tables: findings, the matrix of problems, failures, how to run it again.

_MAX_CELLS: Final = 6000
_MAX_ROWS: Final = 1000
"""Of the matrix of problems and arms, which so takes less than 200 kB."""
_MAX_NAME: Final = 60


def sets(summary: Summary) -> str:
    """Return the names of the problem sets, or else the number of problems."""
    names = dict.fromkeys(row.key.problem_set for row in summary.problems if row.key.problem_set)
    return ", ".join(names) or plural(len(summary.problems), "problem")


def facts(summary: Summary) -> Iterator[str]:
    """Yield what was run."""
    yield plural(len(summary.problems), "problem")
    yield _one_or_many({arm.strategy for arm in summary.arms}, "strategy", "strategies")
    yield _one_or_many({arm.model for arm in summary.arms}, "model", "models")
    yield plural(sum(count[1] for row in summary.problems for count in row.counts if count), "run")


def _one_or_many(names: set[str], one: str, many: str) -> str:
    return f"{one} {next(iter(names))}" if len(names) == 1 else f"{len(names)} {many}"


def findings(summary: Summary) -> Iterator[str]:
    """Yield what the figures show, each one sentence."""
    if len(summary.arms) < 2:
        return
    highest = summary.arms[0].estimates["pass@1"].value
    best = [arm for arm in summary.arms if arm.estimates["pass@1"].value == highest]
    shown = (
        f"{arm.name}, {estimate_text(arm.estimates['pass@1'], 'share')}, "
        f"with {estimate_text(arm.estimates['tokens'], 'number')} tokens a run"
        for arm in best
    )
    yield f"Highest pass@1: {'; '.join(shown)}."
    solving = [arm for arm in summary.arms if arm.estimates["tokens_per_solved"].value is not None]
    if solving:
        cheapest = min(solving, key=lambda arm: arm.estimates["tokens_per_solved"].value or 0)
        tokens = estimate_text(cheapest.estimates["tokens_per_solved"], "number")
        yield f"Fewest tokens per solved problem: {cheapest.name}, {tokens}."
    yield f"Pareto front of pass@1 and tokens: {'; '.join(arm.name for arm in summary.arms if arm.on_front)}."


def contents(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the id and the title of each section."""
    yield from (("results", "Results"), ("costs", "Cost"))
    if summary.pairs:
        yield "pairs", "Compared in pairs"
    if has_curves(summary):
        yield "pass-at-k", "More samples"
    if any(arm.alone for arm in summary.arms):
        yield "alone", "Solved by one arm only"
    yield "problems", "Problems"
    if any(arm.failures for arm in summary.arms):
        yield "failures", "Failures"
    yield "again", "Run it again"


def has_curves(summary: Summary) -> bool:
    """Return whether problems have several samples."""
    return any(len(arm.pass_at) > 1 for arm in summary.arms)


def total_cost(summary: Summary) -> str:
    """Return the cost of all runs; empty if that of any is unknown."""
    costs = [arm.total_cost for arm in summary.arms if arm.total_cost is not None]
    return figure(sum(costs), "number") if costs and len(costs) == len(summary.arms) else ""


def matrix(summary: Summary) -> tuple[str, list[tuple[str, list[tuple[str, str]]]]]:
    """Return what the matrix of problems and arms shows, and its rows: each a name, and classes and texts of cells.

    Problems that most arms solve come first; if there are too many, those on which arms differ are preferred.
    """
    most = min(_MAX_CELLS // max(len(summary.arms), 1), _MAX_ROWS)
    chosen = sorted(summary.problems, key=lambda row: abs(_solved_share(row) - 0.5))[:most]
    chosen.sort(key=lambda row: -_solved_share(row))
    left_out = len(summary.problems) - len(chosen)
    about = (
        "✓ passed, ✗ failed, 2/5 passed in two of five samples, · not run. "
        "The problems that are solved most often come first."
    )
    if left_out:
        about += f" {plural(left_out, 'problem')} with the least difference between arms left out."
    several = len({row.key.problem_set for row in summary.problems}) > 1
    names = (f"{row.key.problem_set}: {row.key.problem}" if several else row.key.problem for row in chosen)
    cells = ([_mark(count) for count in row.counts] for row in chosen)
    return about, [(one_line(name, _MAX_NAME), marks) for name, marks in zip(names, cells, strict=True)]


def _solved_share(row: ProblemRow) -> float:
    shares = [passed / samples for passed, samples in filter(None, row.counts)]
    return sum(shares) / len(shares)


def _mark(count: tuple[int, int] | None) -> tuple[str, str]:
    match count:
        case None:
            return "o", "·"
        case (0, 1):
            return "x", "✗"
        case (1, 1):
            return "y", "✓"
        case (passed, samples):
            return "x" if not passed else "y" if passed == samples else "p", f"{passed}/{samples}"


def failures(summary: Summary) -> tuple[list[str], list[tuple[Arm, list[int]]]]:
    """Return the kinds of failures, the most frequent first, and how many of each an arm has."""
    counts = [{kind.kind or "unknown": kind.count for kind in arm.failures} for arm in summary.arms]
    kinds = [kind for kind, _ in sum(map(Counter, counts), Counter[str]()).most_common()]
    return kinds, [
        (arm, [of_arm.get(kind, 0) for kind in kinds]) for arm, of_arm in zip(summary.arms, counts, strict=True)
    ]


def commands(summary: Summary) -> str:
    """Return the commands that run the evaluation again."""
    files = dict.fromkeys(f"{row.key.problem_set or 'PROBLEMS'}.jsonl" for row in summary.problems)
    samples = max((count[1] for row in summary.problems for count in row.counts if count), default=1)
    options = [("--strategy", name) for name in dict.fromkeys(arm.strategy for arm in summary.arms)]
    options += [("--model", name) for name in dict.fromkeys(arm.model for arm in summary.arms)]
    options += [("--samples", str(samples))] if samples > 1 else []
    lines = [shlex.join(["jupyter", "explora", "bench", *files]), *(shlex.join(option) for option in options)]
    return "pip install 'exploracoder-jupyter[bench]'\n" + " \\\n    ".join(lines)


def packages(summary: Summary) -> Iterator[str]:
    """Yield each package with its versions."""
    found: dict[str, dict[str, None]] = {}
    for arm in summary.arms:
        for package, versions in arm.packages.items():
            found.setdefault(package, {}).update(dict.fromkeys(versions))
    yield from (f"{package} {', '.join(found[package])}" for package in sorted(found))


# The tables of a report as data, from which a page and a terminal show them, and as Markdown.

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


# Writes the report of an evaluation as one HTML page, which loads nothing and opens from disk.
#
# It looks like an exported run (`export.html`), whose frame and style sheet it shares. Its only script sorts
# tables; the content security policy of the page permits no other.

_MAX_PROGRAMS: Final = 40
"""Programs shown of all arms together."""
_MAX_CODE: Final = 2000
"""Characters shown of a program."""


def write_report(results: Iterable[UnitResult], folder: Path, path: Path | None = None) -> Path:
    """Write the report of an evaluation as a page, and return its path: by default `report.html` in the folder.

    `folder` is that of the results, to which the paths of traces are relative. Without the extra `bench` the page has
    no plots, and names the extra.
    """
    path = path or folder / "report.html"
    summary, traces = summarize(results), Path(os.path.relpath(folder, path.parent))
    plots: list[Plot] = []
    missing_plots = ""
    try:
        from exploracoder_jupyter.evaluation.report_plots import draw_plots

        plots = draw_plots(summary)
    except ImportError:
        missing_plots = "Plots need the extra `bench`: pip install 'exploracoder-jupyter[bench]'."
    digest = hashlib.sha256(_file("sort_table.js").encode()).digest()
    shown = max(_MAX_PROGRAMS // max(len(summary.arms), 1), 1)
    page = (
        _environment(traces)
        .get_template("report.html.j2")
        .render(
            summary=summary,
            title="Evaluation" + (f" of {sets(summary)}" if summary.problems else ""),
            facts=[*facts(summary)],
            contents=[*contents(summary)],
            plots=plots,
            missing_plots=missing_plots,
            quality=quality_table(summary),
            cost=cost_table(summary),
            pairs=pair_table(summary) if summary.pairs else None,
            curves=curve_table(summary) if has_curves(summary) else None,
            alone=[(arm.name, arm.on_front, len(arm.alone), arm.alone[:shown]) for arm in summary.arms if arm.alone],
            measured=summary.measured,
            matrix=matrix(summary),
            findings=[*findings(summary)],
            changed=[arm for arm in summary.arms if any(arm.settings)],
            failures=failures(summary),
            total_tokens=figure(sum(arm.total_tokens for arm in summary.arms), "number"),
            total_cost=total_cost(summary),
            commands=commands(summary),
            packages=[*packages(summary)],
            generator=f"{GENERATOR} {__version__}",
            style=Markup(f"{page_style()}\n{_file('report.css')}"),
            script=Markup(_file("sort_table.js")),
            script_hash=f"sha256-{base64.b64encode(digest).decode()}",
        )
    )
    write_atomic(path, page.encode("utf-8", "replace"))
    return path


def _trace_link(row: UnitResult, traces: Path) -> str:
    """Return a relative link to the trace; empty if the trace is not below the folder of the results."""
    trace = PurePosixPath(row.trace)
    if not row.trace or trace.is_absolute() or ".." in trace.parts:
        return ""
    return quote((PurePosixPath(traces.as_posix()) / trace).as_posix())


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8").strip()


def _environment(traces: Path) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(__package__, "templates"), PackageLoader("exploracoder_jupyter.export")]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )

    def program(row: UnitResult) -> Markup:
        more = f"\n# … {len(row.code):,} characters in all" if len(row.code) > _MAX_CODE else ""
        return code_html(f"{row.code[:_MAX_CODE]}{more}", f"Solution of {row.problem}")

    environment.filters.update(
        trace_link=lambda row: _trace_link(row, traces),
        program=program,
        json_text=lambda value: json.dumps(value, ensure_ascii=False),
    )
    return environment


# The report: a page that stands alone, Markdown and JSON.
