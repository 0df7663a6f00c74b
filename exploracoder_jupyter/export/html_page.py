"""Renders a run as one self-contained HTML file that loads nothing, needs no scripts, and can be printed.

The text is that of the trace's cells (`trace.cells.cell_markdown`); outputs are sanitized as in its cells. A
content security policy in the page blocks scripts and requests, in case something passed the sanitizer.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.export.markdown_html import generated_html
from exploracoder_jupyter.export.output_html import outputs_html
from exploracoder_jupyter.trace.cells import cell_markdown
from exploracoder_jupyter.trace.cells.cell_outputs import SanitizedOutputs, final_solution
from exploracoder_jupyter.trace.cells.escaped_text import clip

GENERATOR: Final = "exploracoder_jupyter"
"""Prefix of the generator in the page's metadata."""

_SYMBOLS: Final = {"ok": "✓", "interrupted": "■"}
"""Symbols by status; the others are failures."""
_CLASSES: Final = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Operator.Word, "k"),
    (Keyword, "k"),
    (Name.Builtin, "b"),
    (Name.Function, "d"),
    (Name.Class, "d"),
    (Name.Decorator, "d"),
)
"""Token types with their class in the style sheet; the first match applies."""
_MAX_TITLE: Final = 80


def render_page(run: RunState, trace: Path) -> str:
    """Render the run as a page, which mentions the name of `trace`."""
    if run.started is None:
        raise UsageError("The trace does not contain the start of its run.", remedy="Use a complete trace.")
    solution, attempts = final_solution(run), run.sections.get(SOLUTION)
    solution_attempt = attempts.attempts.get(solution.candidate) if solution and attempts else None
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            run=run,
            title=clip(f"Exploration of {run.started.task.subject}: {run.started.task.text}", _MAX_TITLE),
            generator=f"{GENERATOR} {__version__}",
            style=Markup(page_style()),
            trace=trace.name,
            contents=[*_contents(run)],
            solution=solution,
            solution_id=SOLUTION,
            solution_attempt=solution_attempt,
            begun=[section for section in run.subtasks if section.started],
            attempts=attempts,
            solution_text=_solution_text(run),
            sanitized=SanitizedOutputs(),
            environment=[*_environment_facts(run.started)],
            package="exploracoder-jupyter" + _version_specifier(run.started.version),
            settings=json.dumps(run.started.settings, indent=2, ensure_ascii=False),
        )
    )


def _contents(run: RunState) -> Iterator[tuple[str, str]]:
    if final_solution(run):
        yield "solution", "Solution"
    yield "plan", "Plan" if run.explores else "Strategy"
    if any(section.started for section in run.sections.values()):
        yield "tried", "What was tried"
    if run.finished:
        yield "cost", "What it cost"
    yield "environment", "What it ran in"
    yield "check", "How to check it"


def _solution_text(run: RunState) -> str:
    """Return the trace's text above the solutions, without its heading."""
    if SOLUTION not in run.sections:
        return ""
    outcome = run.finished.verdict.outcome if run.finished and final_solution(run) else None
    return cell_markdown.solution_markdown(run.sections[SOLUTION], outcome, run.files, over=True).partition("\n\n")[2]


def _environment_facts(started: RunStarted) -> Iterator[tuple[str, str]]:
    environment = started.environment
    facts = {
        "Python": environment.python,
        "Platform": environment.platform,
        "Kernel": environment.kernel,
        "Isolation": environment.confinement,
        "Branching": environment.branching,
        "Hash seed": environment.hash_seed,
        "Time zone": environment.time_zone,
        "Package": f"exploracoder_jupyter {started.version}",
        "Resumes": started.resumes and f"run {started.resumes}",
    }
    yield from ((name, value) for name, value in facts.items() if value)


def _version_specifier(version: str) -> str:
    """Return a version specifier; empty for anything but a plain version, because the trace is untrusted."""
    return f"=={version}" if re.fullmatch(r"\d[\w.!+]{0,40}", version, re.ASCII) else ""


def _attempt_status(attempt: Attempt) -> str:
    observation = attempt.observation
    if observation is None:
        return f"■ {'not run' if attempt.unexecuted else 'not finished'}"
    why = f": {clip(observation.error.headline, 120)}" if observation.error else ""
    status = observation.status
    return f"{_SYMBOLS.get(status, '✗')} {cell_markdown.STATUSES[status]}{why}"


def _inline_markdown(markdown: str) -> Markup:
    """Render one paragraph without its `<p>` element."""
    return Markup(generated_html(markdown).strip().removeprefix("<p>").removesuffix("</p>"))


def code_html(code: str, label: str) -> Markup:
    """Render code as a block that can be scrolled with the keyboard, with a label for screen readers."""
    tokens = PythonLexer(stripnl=False, ensurenl=False).get_tokens(code.strip("\n"))
    spans = "".join(_span(kind, text) for kind, text in tokens)
    return Markup(
        f'<pre class="code" tabindex="0" role="group" aria-label="{escape(label)}"><code>{spans}</code></pre>'
    )


def _span(kind: tuple[str, ...], text: str) -> str:
    name = next((name for known, name in _CLASSES if kind in known), None)
    return escape(text) if name is None or not text.strip() else f'<span class="{name}">{escape(text)}</span>'


@cache
def page_style() -> str:
    """Return the style sheet of all pages."""
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
        md=lambda text, raise_by=0: generated_html(text, raise_by=raise_by),
        md_line=_inline_markdown,
        code=code_html,
        outputs=outputs_html,
        fate=_attempt_status,
        quoted=shlex.quote,
    )
    environment.globals["cells"] = cell_markdown
    return environment
