"""A run as one HTML file that stands alone: it fetches nothing, needs no script, and can be printed.

The words are those of the trace's cells (`trace.cells.cell_markdown`); outputs are the sanitized ones of the fold. A
policy in the
page itself lets nothing act and nothing be fetched, whatever should have slipped through.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.export.code_html import code_html
from exploracoder_jupyter.export.markdown_html import generated_html
from exploracoder_jupyter.export.output_html import outputs_html
from exploracoder_jupyter.trace.cells import cell_markdown
from exploracoder_jupyter.trace.cells.cell_layout import final_solution
from exploracoder_jupyter.trace.cells.escaped_text import clip
from exploracoder_jupyter.trace.run_state import SOLUTION, Attempt, Run

GENERATOR: Final = "exploracoder_jupyter"
"""How a page of ours begins to say who made it."""

_FATES: Final = {
    "ok": "✓ ran",
    "error": "✗ failed",
    "timeout": "✗ timed out",
    "died": "✗ its kernel died",
    "interrupted": "■ interrupted",
}
_MOST_TITLE: Final = 80
_WORDS: Final = (
    cell_markdown.task_words,
    cell_markdown.plan_words,
    cell_markdown.heading_words,
    cell_markdown.notice_words,
    cell_markdown.judgement_words,
    cell_markdown.input_words,
    cell_markdown.verdict_words,
    cell_markdown.cost_table,
)


def page(run: Run, trace: Path) -> str:
    """The run as a page; `trace` is named in it.

    Raises:
        UsageError: the record of how it began is missing.
    """
    if run.started is None:
        raise UsageError("The trace does not hold how its run began.", remedy="Name a trace that is whole.")
    solution, attempts = final_solution(run), run.sections.get(SOLUTION)
    given = attempts.attempts.get(solution.candidate) if solution and attempts else None
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            run=run,
            title=clip(f"Exploration of {', '.join(run.started.task.libraries)}: {run.started.task.text}", _MOST_TITLE),
            generator=f"{GENERATOR} {__version__}",
            style=Markup(_style()),
            trace=trace.name,
            contents=[*_contents(run)],
            solution=solution,
            solution_id=SOLUTION,
            given=given,
            begun=[section for section in run.subtasks if section.started],
            attempts=attempts,
            solution_text=_solution_text(run),
            environment=[*_facts(run.started)],
            package="exploracoder-jupyter" + _pin(run.started.version),
            settings=json.dumps(run.started.settings, indent=2, ensure_ascii=False),
        )
    )


def _contents(run: Run) -> Iterator[tuple[str, str]]:
    if final_solution(run):
        yield "solution", "Solution"
    yield "plan", "Plan"
    if any(section.started for section in run.sections.values()):
        yield "tried", "What was tried"
    if run.finished:
        yield "cost", "What it cost"
    yield "environment", "What it ran in"
    yield "check", "How to check it"


def _solution_text(run: Run) -> str:
    """What the trace says above the solutions, without its heading."""
    if SOLUTION not in run.sections:
        return ""
    outcome = run.finished.verdict.outcome if run.finished and final_solution(run) else None
    return cell_markdown.solution_words(run.sections[SOLUTION], outcome, run.files, over=True).partition("\n\n")[2]


def _facts(started: RunStarted) -> Iterator[tuple[str, str]]:
    environment = started.environment
    told = {
        "Python": environment.python,
        "Platform": environment.platform,
        "Kernel": environment.kernel,
        "Isolation": environment.confinement,
        "Branching": environment.branching,
        "Seed of hashes": environment.hash_seed,
        "Time zone": environment.time_zone,
        "Package": f"exploracoder_jupyter {started.version}",
        "Goes on from": started.resumes and f"run {started.resumes}",
    }
    yield from ((name, value) for name, value in told.items() if value)


def _pin(version: str) -> str:
    """What a reader is told to install is nothing but a version, whatever a trace says."""
    return f"=={version}" if re.fullmatch(r"\d[\w.!+]{0,40}", version, re.ASCII) else ""


def _fate(attempt: Attempt) -> str:
    observation = attempt.observation
    if observation is None:
        return "■ not finished"
    why = f": {clip(observation.error.headline, 120)}" if observation.error else ""
    return f"{_FATES[observation.status]}{why}"


def _line(markdown: str) -> Markup:
    """The HTML of one paragraph, without its element."""
    return Markup(generated_html(markdown).strip().removeprefix("<p>").removesuffix("</p>"))


def _markdown(text: str, raise_by: int = 0) -> Markup:
    return generated_html(text, raise_by=raise_by)


@cache
def _style() -> str:
    return files(__package__).joinpath("templates", "page.css").read_text(encoding="utf-8").strip()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("exploracoder_jupyter.export", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    environment.filters.update(
        md=_markdown, md_line=_line, code=code_html, outputs=outputs_html, fate=_fate, quoted=shlex.quote
    )
    environment.globals.update({word.__name__: word for word in _WORDS})
    return environment
