"""A run's solution as a script that runs by itself, with what it needs declared as inline script metadata (PEP 723)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from textwrap import fill
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.types import Observation, Solution, Verdict
from exploracoder_jupyter.export import notebook_needs
from exploracoder_jupyter.export.plain_python import behind_futures, program
from exploracoder_jupyter.export.script_dependencies import Dependencies, dependencies
from exploracoder_jupyter.export.solution_check import main_block
from exploracoder_jupyter.trace.cells.cell_layout import final_solution
from exploracoder_jupyter.trace.needed_packages import imported_at_once
from exploracoder_jupyter.trace.run_state import SOLUTION, Run
from exploracoder_jupyter.trace.trace_paths import FOLDER

_WIDTH: Final = 100
_NO_VERDICT: Final = "The run is under way, or was cut off."
_BLOCK: Final = re.compile(r"^# ///", re.MULTILINE)
"""How a line begins that would be taken for another block of metadata."""
_NOT_FOUND: Final = "Install, or put beside this script, what no package index is known to have"
_FIGURES: Final = "A notebook shows figures by itself; here add `plt.show()`, or save them."


@dataclass(frozen=True, slots=True)
class _Script:
    """What the script is made of."""

    run: Run
    started: RunStarted
    verdict: Verdict
    trace: Path
    observed: Observation
    """What the solution gave in the run."""
    code: str
    main: str
    """The check, ready to be run; empty where there is none, or none that a script can run."""
    lacks: Sequence[str]
    """Variables of the user's notebook."""
    files: Sequence[str]
    absent: Sequence[str]
    """Modules that it cannot do without and no package is known to provide that an index has."""
    needs: Dependencies


def script(run: Run, trace: Path, *, pinned: bool = True) -> str:
    """The solution as a program: what it needs, the task as its docstring, the code, the check.

    Args:
        run: a whole run.
        trace: where its trace is; files that the solution reads are looked for where the run had them.
        pinned: whether to ask for the versions that the run had.

    Raises:
        UsageError: the run has no solution, or one that needs IPython.
    """
    solution = final_solution(run)
    if run.started is None or run.finished is None or solution is None:
        why = run.finished.verdict.reason if run.finished else _NO_VERDICT
        raise UsageError(f"There is no solution to make a script of. {why}", remedy="Export the run with --to html.")
    parts = _parts(run, run.started, run.finished.verdict, solution, trace, pinned)
    guards = [*_modules_guard(parts.absent), *_variables_guard(parts.lacks), *_files_guard(parts.files)]
    body = behind_futures(parts.code, guards)
    return "\n".join([*_header(parts), _docstring(parts), "", body, *([f"\n{parts.main}"] if parts.main else []), ""])


def _parts(run: Run, started: RunStarted, verdict: Verdict, solution: Solution, trace: Path, pinned: bool) -> _Script:
    section = run.sections.get(SOLUTION)
    attempt = section.attempts.get(solution.candidate) if section else None
    observed = attempt.observation if attempt and attempt.observation else Observation("ok")
    code = program(solution.code, shows_last=_shows(observed, "execute_result"))
    main = main_block(started.task, observed)
    whole = f"{code}\n{main}"
    folder = trace.resolve().parent
    workdir = folder.parent if folder.name == FOLDER else folder
    lacks = notebook_needs.variables(whole, started.task.uses)
    libraries = run.library.libraries if run.library else ()
    wanted = dependencies(whole, libraries, started.environment, pinned=pinned, whole=bool(lacks))
    return _Script(
        run=run,
        started=started,
        verdict=verdict,
        trace=trace,
        observed=observed,
        code=code,
        main=main,
        lacks=lacks,
        files=notebook_needs.files(whole, workdir, observed.files),
        absent=[name for name in wanted.unknown if name in imported_at_once(code)],
        needs=wanted,
    )


def _shows(observed: Observation, kind: str, mime: str = "") -> bool:
    """Whether there is an output of this kind, and MIME type."""
    found = [output for output in observed.outputs if output.get("output_type") == kind]
    return (
        any(mime in data for output in found if isinstance(data := output.get("data"), dict)) if mime else bool(found)
    )


def _header(parts: _Script) -> Iterator[str]:
    yield "# /// script"
    if minor := re.match(r"\d+\.\d+", parts.started.environment.python):
        yield f'# requires-python = ">={minor[0]}"'
    yield "# dependencies = ["
    yield from (f'#     "{requirement}",' for requirement in parts.needs.needed)
    if parts.needs.optional:
        yield "#     # Installed in the run as well; take a # away if a function needs it:"
        yield from (f'#     # "{requirement}",' for requirement in parts.needs.optional)
    yield "# ]"
    yield "# ///"


def _docstring(parts: _Script) -> str:
    task = "\n".join(map(_wrapped, parts.started.task.text.strip().expandtabs().splitlines()))
    text = "\n\n".join([task, *map(_wrapped, _told(parts))])
    shown = "".join(map(_shown, _BLOCK.sub(" # ///", text)))
    escaped = shown.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped}\n"""'


def _shown(char: str) -> str:
    return char if char.isprintable() or char == "\n" else " " if char.isspace() else "?"


def _wrapped(line: str) -> str:
    """The line, broken where it is long, with its indentation."""
    if len(line) <= _WIDTH:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    return fill(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _told(parts: _Script) -> Iterator[str]:
    """What a reader of the script has to know of it, a paragraph each."""
    run, started, verdict = parts.run, parts.started, parts.verdict
    when = f"{datetime.fromtimestamp(run.started_at, UTC):%Y-%m-%d}"
    yield (
        f"Explored on {when} by exploracoder_jupyter {started.version}, model {started.model}: run {run.run_id} in "
        f"{parts.trace.name}. {verdict.outcome.capitalize()}: {verdict.reason}"
    )
    if verdict.outcome == "stopped":
        yield "What ran in each subtask, put together: it was not run as a whole."
    if parts.lacks:
        yield f"It uses what was in the notebook of the exploration: {', '.join(parts.lacks)}."
    if parts.files:
        yield f"It reads files: {', '.join(parts.files)}."
    if paths := notebook_needs.at_home(parts.code):
        yield f"Write the whole path in place of ~, where a trace leaves out whose home it is: {', '.join(paths)}."
    if parts.needs.unknown:
        names = ", ".join(parts.needs.unknown)
        yield f"No package index is known to have what it imports as {names}: that has to be where this runs."
    if _shows(parts.observed, "display_data", "image/png") and not re.search(r"\bshow\(|\bsavefig\(", parts.code):
        yield _FIGURES
    if started.task.check and not parts.main:
        yield f"Its check is not in here: `jupyter explora check {parts.trace.name}` runs it."


def _modules_guard(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [
        "from importlib.util import find_spec",
        "",
        f"if _unknown := [name for name in {[*names]!r} if find_spec(name) is None]:",
        f"    raise SystemExit(f\"{_NOT_FOUND}: {{', '.join(_unknown)}}.\")",
    ]


def _variables_guard(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    quoted = ", ".join(f'"{name}"' for name in names)
    return [
        f"# Define {', '.join(names)} here.",
        f"if _missing := {{{quoted}}} - globals().keys():",
        "    raise SystemExit(f\"First define {', '.join(sorted(_missing))}, which the explored notebook had.\")",
    ]


def _files_guard(files: Sequence[str]) -> list[str]:
    if not files:
        return []
    return [
        "from pathlib import Path",
        "",
        f"if _absent := [name for name in {[*files]!r} if not Path(name).exists()]:",
        "    raise SystemExit(f\"Not in the folder where this runs: {', '.join(_absent)}.\")",
    ]
