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
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from exploracoder_jupyter.core.atomic_write import write_atomic
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.evaluation.measures.summary_computation import summarize
from exploracoder_jupyter.evaluation.measures.unit_result import UnitResult
from exploracoder_jupyter.evaluation.report import page_content
from exploracoder_jupyter.evaluation.report.estimate_text import figure
from exploracoder_jupyter.evaluation.report.result_table import cost_table, curve_table, pair_table, quality_table
from exploracoder_jupyter.export.html_page import GENERATOR, code_html, page_style

if TYPE_CHECKING:
    from exploracoder_jupyter.evaluation.report.plot_style import Plot

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
        from exploracoder_jupyter.evaluation.report.plots import draw_plots

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
