"""Writes the report of an evaluation as one HTML page, which loads nothing and opens from disk.

It looks like an exported run (`export.html_page`), whose frame and style sheet it shares. Its only script sorts tables;
the content security policy of the page permits no other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from exploracoder_jupyter.core.atomic_write import write_atomic
from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.evaluation.measures.summarize import summarize
from exploracoder_jupyter.evaluation.measures.summary import Arm, ProblemRow, Summary
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.report.figure_text import figure
from exploracoder_jupyter.evaluation.report.plots import Plot, draw_plots
from exploracoder_jupyter.evaluation.report.result_table import cost_table, curve_table, pair_table, quality_table
from exploracoder_jupyter.export.code_html import code_html
from exploracoder_jupyter.export.html_page import GENERATOR, page_style

_MAX_CELLS: Final = 6000
"""Of the matrix of problems and arms: about 200 kB."""
_MAX_ALONE: Final = 20
"""Programs shown of an arm's own problems."""
_MAX_CODE: Final = 3000
"""Characters shown of a program."""


@dataclass(frozen=True, slots=True)
class _Matrix:
    caption: str
    rows: list[tuple[str, list[tuple[str, str]]]]
    """Name of each problem, and class and text of its cells."""


@dataclass(frozen=True, slots=True)
class _Failures:
    kinds: list[str]
    rows: list[tuple[Arm, list[int]]]


def write_report(results: Iterable[UnitResult], folder: Path, path: Path | None = None) -> Path:
    """Write the report of an evaluation as a page, and return its path.

    Without the extra `bench` the page has no plots, and names the extra.

    Args:
        results: of all units.
        folder: the folder of the results, to which the paths of traces are relative.
        path: where to write it; `report.html` in `folder` by default.

    Raises:
        OSError: the page could not be written.
    """
    path = path or folder / "report.html"
    page = render_report(summarize(results), traces=Path(os.path.relpath(folder, path.parent)))
    write_atomic(path, page.encode("utf-8", "replace"))
    return path


def render_report(summary: Summary, *, traces: Path = Path()) -> str:
    """Render a summary as a page.

    Args:
        summary: of the results.
        traces: the folder to which the paths of traces are relative, relative to that of the page.
    """
    plots, missing_plots = _plots(summary)
    return (
        _environment(traces)
        .get_template("report.html.j2")
        .render(
            summary=summary,
            title="Evaluation" + (f" of {_sets(summary)}" if summary.problems else ""),
            facts=[*_facts(summary)],
            contents=[*_contents(summary)],
            plots=plots,
            missing_plots=missing_plots,
            quality=quality_table(summary),
            cost=cost_table(summary),
            pairs=pair_table(summary) if summary.pairs else None,
            curves=curve_table(summary) if _has_curves(summary) else None,
            alone=[
                (arm.name, arm.on_front, len(arm.alone), arm.alone[:_MAX_ALONE]) for arm in summary.arms if arm.alone
            ],
            measured=summary.measured,
            matrix=_matrix(summary),
            failures=_failures(summary),
            total_tokens=figure(sum(arm.total_tokens for arm in summary.arms), "number"),
            total_cost=_total_cost(summary),
            commands=_commands(summary),
            packages=[*_packages(summary)],
            generator=f"{GENERATOR} {__version__}",
            style=Markup(f"{page_style()}\n{_file('report.css')}"),
            script=Markup(_file("sort_table.js")),
            script_hash=_hash(_file("sort_table.js")),
        )
    )


def _plots(summary: Summary) -> tuple[list[Plot], str]:
    try:
        return draw_plots(summary), ""
    except MissingRequirement as missing:
        return [], str(missing)


def _sets(summary: Summary) -> str:
    names = dict.fromkeys(row.key.problem_set for row in summary.problems if row.key.problem_set)
    return ", ".join(names) or _count(len(summary.problems), "problem")


def _facts(summary: Summary) -> Iterator[str]:
    yield _count(len(summary.problems), "problem")
    yield from (
        f"{_count(len(set(names)), kind)}{': ' + next(iter(names)) if len(set(names)) == 1 else ''}"
        for kind, names in (
            ("strategy", [arm.strategy for arm in summary.arms]),
            ("model", [arm.model for arm in summary.arms]),
        )
    )
    yield _count(sum(count[1] for row in summary.problems for count in row.counts if count), "run")


def _count(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def _contents(summary: Summary) -> Iterator[tuple[str, str]]:
    yield from (("results", "Results"), ("costs", "Cost"))
    if summary.pairs:
        yield "pairs", "Compared in pairs"
    if _has_curves(summary):
        yield "pass-at-k", "More samples"
    if any(arm.alone for arm in summary.arms):
        yield "alone", "Solved by one arm only"
    yield "problems", "Problems"
    if any(arm.failures for arm in summary.arms):
        yield "failures", "Failures"
    yield "again", "Run it again"


def _has_curves(summary: Summary) -> bool:
    return any(len(arm.pass_at) > 1 for arm in summary.arms)


def _total_cost(summary: Summary) -> str:
    costs = [arm.total_cost for arm in summary.arms if arm.total_cost is not None]
    return figure(sum(costs), "money") if costs and len(costs) == len(summary.arms) else ""


def _matrix(summary: Summary) -> _Matrix:
    """Order the problems from those that most arms solve; if there are too many, prefer those on which arms differ."""
    most = _MAX_CELLS // max(len(summary.arms), 1)
    chosen = sorted(summary.problems, key=_agreement)[:most]
    chosen.sort(key=lambda row: -_solved_share(row))
    left_out = len(summary.problems) - len(chosen)
    caption = (
        "✓ passed, ✗ failed, 2/5 passed in two of five samples, · not run. The problems most often solved come first."
    )
    if left_out:
        caption += f" {_count(left_out, 'problem')} with the least difference between arms left out."
    named = len({row.key.problem_set for row in summary.problems}) > 1
    return _Matrix(caption, [(_name(row, named), [_mark(count) for count in row.counts]) for row in chosen])


def _solved_share(row: ProblemRow) -> float:
    shares = [passed / samples for passed, samples in filter(None, row.counts)]
    return sum(shares) / len(shares)


def _agreement(row: ProblemRow) -> float:
    return abs(_solved_share(row) - 0.5)


def _name(row: ProblemRow, with_set: bool) -> str:
    return f"{row.key.problem_set}: {row.key.problem}" if with_set else row.key.problem


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


def _failures(summary: Summary) -> _Failures | None:
    totals: dict[str, int] = {}
    for arm in summary.arms:
        for kind in arm.failures:
            totals[kind.kind] = totals.get(kind.kind, 0) + kind.count
    kinds = sorted(totals, key=lambda kind: -totals[kind])
    counts = [{kind.kind: kind.count for kind in arm.failures} for arm in summary.arms]
    rows = [(arm, [of_arm.get(kind, 0) for kind in kinds]) for arm, of_arm in zip(summary.arms, counts, strict=True)]
    return _Failures([kind or "unknown" for kind in kinds], rows) if kinds else None


def _commands(summary: Summary) -> str:
    versions = {version for arm in summary.arms for version in arm.packages.get("exploracoder-jupyter", ())}
    package = "exploracoder-jupyter[bench]" + (f"=={versions.pop()}" if len(versions) == 1 else "")
    sets = dict.fromkeys(row.key.problem_set or "PROBLEMS" for row in summary.problems)
    samples = max((count[1] for row in summary.problems for count in row.counts if count), default=1)
    options = [("--strategy", name) for name in dict.fromkeys(arm.strategy for arm in summary.arms)]
    options += [("--model", name) for name in dict.fromkeys(arm.model for arm in summary.arms)]
    options += [("--samples", str(samples))] if samples > 1 else []
    lines = [shlex.join(["jupyter", "explora", "bench", *sets]), *(shlex.join(option) for option in options)]
    return f"pip install {shlex.quote(package)}\n" + " \\\n    ".join(lines)


def _packages(summary: Summary) -> Iterator[str]:
    found: dict[str, dict[str, None]] = {}
    for arm in summary.arms:
        for package, versions in arm.packages.items():
            found.setdefault(package, {}).update(dict.fromkeys(versions))
    yield from (f"{package} {', '.join(found[package])}" for package in sorted(found))


def _trace_link(row: UnitResult, traces: Path) -> str:
    """Return a relative link to the trace; empty if the trace is not below the folder of the results."""
    trace = PurePosixPath(row.trace)
    if not row.trace or trace.is_absolute() or ".." in trace.parts:
        return ""
    return quote((PurePosixPath(traces.as_posix()) / trace).as_posix())


def _program(row: UnitResult) -> Markup:
    code = (
        row.code if len(row.code) <= _MAX_CODE else f"{row.code[:_MAX_CODE]}\n# … {len(row.code):,} characters in all"
    )
    return code_html(code, f"Solution of {row.problem}")


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


@cache
def _file(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8").strip()


def _hash(script: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _environment(traces: Path) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(__package__, "templates"), PackageLoader("exploracoder_jupyter.export")]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    environment.filters.update(
        trace_link=lambda row: _trace_link(row, traces), program=_program, tojson_text=_json_text
    )
    return environment
