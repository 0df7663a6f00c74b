"""Renders a run's solution as a standalone script with its requirements as inline script metadata (PEP 723)."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from textwrap import fill
from typing import Final

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import RunStarted
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import Observation, Solution, Verdict
from exploracoder_jupyter.export.pinned_requirements import Dependencies, find_dependencies
from exploracoder_jupyter.export.plain_python import insert_after_futures, to_plain_python
from exploracoder_jupyter.export.solution_check import render_main_block
from exploracoder_jupyter.pipeline.exploring.dependency_slice import ALWAYS_DEFINED, names_in, unbound_names
from exploracoder_jupyter.trace.cells.cell_outputs import final_solution, observation_of
from exploracoder_jupyter.trace.module_distributions import unconditional_imports
from exploracoder_jupyter.trace.trace_paths import FOLDER

_FILE = re.compile(r"[\w .()+@~/\\-]{1,200}\.\w{1,12}")

_WIDTH: Final = 100
_NO_VERDICT: Final = "The run is still active, or was cut off."
_METADATA_START: Final = re.compile(r"^# ///", re.MULTILINE)
"""Start of a line that would be interpreted as another block of metadata."""
_NOT_FOUND: Final = "These modules are missing; install them, or copy them next to this script"
_FIGURES_NOTE: Final = "A notebook shows figures by itself; here add `plt.show()`, or save them."


@dataclass(frozen=True, slots=True)
class _Script:
    code: str
    main: str
    """The code that runs the check; empty if there is none, or if a script cannot run it."""
    observed: Observation
    """The result of the solution in the run."""
    lacks: Sequence[str]
    """Variables of the user's notebook."""
    files: Sequence[str]
    needs: Dependencies


def render_script(run: RunState, trace: Path, *, pinned: bool = True) -> str:
    """Render the solution as a script: requirements, a docstring with the task, the code, the check.

    Files that the solution reads are located relative to the trace; if `pinned`, the versions of the run are required.
    """
    solution = final_solution(run)
    if run.started is None or run.finished is None or solution is None:
        why = run.finished.verdict.reason if run.finished else _NO_VERDICT
        raise UsageError(f"There is no solution to export. {why}", remedy="Export the run with --to html.")
    parts = _build(run, run.started, solution, trace, pinned)
    paragraphs = _docstring_paragraphs(parts, run, run.started, run.finished.verdict, trace.name)
    docstring = _docstring(run.started.task.text, paragraphs)
    body = insert_after_futures(parts.code, [*_guards(parts)])
    head = _metadata(parts.needs, run.started.environment.python)
    return "\n".join([*head, docstring, "", body, *([f"\n{parts.main}"] if parts.main else []), ""])


def _build(run: RunState, started: RunStarted, solution: Solution, trace: Path, pinned: bool) -> _Script:
    observed = observation_of(run, solution) or Observation("ok")
    code = to_plain_python(solution.code, shows_last=_has_output(observed, "execute_result"))
    if started.task.setup:
        code = insert_after_futures(code, to_plain_python(started.task.setup, shows_last=False).splitlines())
    main = render_main_block(started.task, observed)
    whole = f"{code}\n{main}"
    folder = trace.resolve().parent
    workdir = folder.parent if folder.name == FOLDER else folder
    lacks = needed_variables(whole, started.task.uses)
    libraries = run.library.libraries if run.library else ()
    requirements = find_dependencies(whole, libraries, started.environment, pinned=pinned, whole=bool(lacks))
    files = needed_files(whole, workdir, observed.files)
    return _Script(code, main, observed, lacks, files, requirements)


def _has_output(observed: Observation, kind: str, mime: str = "") -> bool:
    found = [output for output in observed.outputs if output.get("output_type") == kind]
    return (
        any(mime in data for output in found if isinstance(data := output.get("data"), dict)) if mime else bool(found)
    )


def _metadata(needs: Dependencies, python: str) -> Iterator[str]:
    yield "# /// script"
    if minor := re.match(r"\d+\.\d+", python):
        yield f'# requires-python = ">={minor[0]}"'
    yield "# dependencies = ["
    yield from (f'#     "{requirement}",' for requirement in needs.needed)
    if needs.optional:
        yield "#     # Optional dependencies that were installed in the run; uncomment if needed:"
        yield from (f'#     # "{requirement}",' for requirement in needs.optional)
    yield "# ]"
    yield "# ///"


def _docstring(task: str, paragraphs: Iterable[str]) -> str:
    wrapped = "\n".join(map(_wrap, task.strip().expandtabs().splitlines()))
    text = "\n\n".join([wrapped, *map(_wrap, paragraphs)])
    shown = "".join(map(_printable, _METADATA_START.sub(" # ///", text)))
    escaped = shown.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped}\n"""'


def _printable(char: str) -> str:
    return char if char.isprintable() or char == "\n" else " " if char.isspace() else "?"


def _wrap(line: str) -> str:
    if len(line) <= _WIDTH:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    return fill(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _docstring_paragraphs(
    parts: _Script, run: RunState, started: RunStarted, verdict: Verdict, trace: str
) -> Iterator[str]:
    when = f"{datetime.fromtimestamp(run.started_at, UTC):%Y-%m-%d}"
    yield (
        f"Explored on {when} by exploracoder_jupyter {started.version}, model {started.model}: run {run.run_id} in "
        f"{trace}. {verdict.outcome.capitalize()}: {verdict.reason}"
    )
    if verdict.outcome == "stopped":
        yield "This is the code that ran in each subtask, put together; it was not run as a whole."
    if parts.lacks:
        yield f"It uses variables of the explored notebook: {', '.join(parts.lacks)}."
    if parts.files:
        yield f"It reads files: {', '.join(parts.files)}."
    if paths := home_paths(parts.code):
        yield f"Replace ~, which stands for a home folder omitted from the trace, by the full path: {', '.join(paths)}."
    if parts.needs.unknown:
        names = ", ".join(parts.needs.unknown)
        yield f"No package index is known to provide the imported {names}; install it separately."
    if _has_output(parts.observed, "display_data", "image/png") and not re.search(r"\bshow\(|\bsavefig\(", parts.code):
        yield _FIGURES_NOTE
    if started.task.check and not parts.main:
        yield f"The check is not included; run it with `jupyter explora check {trace}`."


def _guards(parts: _Script) -> Iterator[str]:
    """Yield code that ends the script with a sentence if what it needs is not there: modules, variables, files."""
    if absent := [name for name in parts.needs.unknown if name in unconditional_imports(parts.code)]:
        yield "from importlib.util import find_spec\n"
        yield f"if _unknown := [name for name in {absent!r} if find_spec(name) is None]:"
        yield f"    raise SystemExit(f\"{_NOT_FOUND}: {{', '.join(_unknown)}}.\")"
    if parts.lacks:
        quoted = ", ".join(f'"{name}"' for name in parts.lacks)
        yield f"# Define {', '.join(parts.lacks)} here."
        yield f"if _missing := {{{quoted}}} - globals().keys():"
        yield "    raise SystemExit(f\"First define {', '.join(sorted(_missing))}, which the explored notebook had.\")"
    if parts.files:
        yield "from pathlib import Path\n"
        yield f"if _absent := [name for name in {[*parts.files]!r} if not Path(name).exists()]:"
        yield "    raise SystemExit(f\"Not in the folder where this runs: {', '.join(_absent)}.\")"


def needed_variables(code: str, uses: Container[str]) -> list[str]:
    """Return the names that the code reads but never binds, and those of `uses` that it reads before binding them."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(parse_python(code))):
        return sorted(
            name for name in unbound_names(code) or () if name in uses
        )  # the rest may come from the star import
    names = names_in(code)
    before = {name for name in unbound_names(code) or () if name in uses}
    return sorted((names.read - names.bound - ALWAYS_DEFINED) | before)


def needed_files(code: str, folder: Path, written: Container[str]) -> list[str]:
    """Return relative paths in the code's strings that are files in the folder and were not written by the code."""
    found = dict.fromkeys(
        text for text in _string_constants(code) if _FILE.fullmatch(text) and not PurePosixPath(text).is_absolute()
    )
    return [text for text in found if text not in written and (folder / text).is_file()]


def home_paths(code: str) -> list[str]:
    """Return paths in the code's strings that start with `~`, by which traces replace home folders.

    Empty if the code calls `expanduser`, because it then handles `~` itself.
    """
    found = dict.fromkeys(text for text in _string_constants(code) if re.match(r"~[/\\]\w", text))
    return [] if "expanduser" in code else [" ".join(text.split())[:200] for text in found]


def _string_constants(code: str) -> Iterator[str]:
    for node in ast.walk(parse_python(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
