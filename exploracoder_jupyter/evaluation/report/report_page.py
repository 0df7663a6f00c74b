"""Writes the report of an evaluation as one HTML page, which loads nothing and opens from disk.

It looks like an exported run (`export.html_page`), whose frame and style sheet it shares. Its only script sorts tables;
the content security policy of the page permits no other.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable
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
from exploracoder_jupyter.evaluation.measures.summary import Summary
from exploracoder_jupyter.evaluation.measures.summary_computation import summarize
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.report import page_content
from exploracoder_jupyter.evaluation.report.estimate_text import figure
from exploracoder_jupyter.evaluation.report.plot_style import Plot
from exploracoder_jupyter.evaluation.report.plots import draw_plots
from exploracoder_jupyter.evaluation.report.result_table import cost_table, curve_table, pair_table, quality_table
from exploracoder_jupyter.export.html_page import GENERATOR, code_html, page_style

_MAX_PROGRAMS: Final = 40
"""Programs shown of all arms together."""
_MAX_CODE: Final = 2000
"""Characters shown of a program."""


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
    shown = max(_MAX_PROGRAMS // max(len(summary.arms), 1), 1)
    return (
        _environment(traces)
        .get_template("report.html.j2")
        .render(
            summary=summary,
            title="Evaluation" + (f" of {page_content.sets(summary)}" if summary.problems else ""),
            facts=[*page_content.facts(summary)],
            contents=[*page_content.contents(summary)],
            plots=plots,
            missing_plots=missing_plots,
            quality=quality_table(summary),
            cost=cost_table(summary),
            pairs=pair_table(summary) if summary.pairs else None,
            curves=curve_table(summary) if page_content.has_curves(summary) else None,
            alone=[(arm.name, arm.on_front, len(arm.alone), arm.alone[:shown]) for arm in summary.arms if arm.alone],
            measured=summary.measured,
            matrix=page_content.matrix(summary),
            findings=[*page_content.findings(summary)],
            changed=[arm for arm in summary.arms if any(arm.settings)],
            failures=page_content.failures(summary),
            total_tokens=figure(sum(arm.total_tokens for arm in summary.arms), "number"),
            total_cost=page_content.total_cost(summary),
            commands=page_content.commands(summary),
            packages=[*page_content.packages(summary)],
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
    environment.filters.update(trace_link=lambda row: _trace_link(row, traces), program=_program, json_text=_json_text)
    return environment
