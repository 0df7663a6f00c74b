"""What is checked: a trace, read; and what a person ran before the exploration that it holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from pydantic import JsonValue

from exploracoder_jupyter.errors import UsageError
from exploracoder_jupyter.events import LibraryRead, Record, RunFinished, RunStarted
from exploracoder_jupyter.notebook import load, ours, problems
from exploracoder_jupyter.notebook.edited import edited_cells
from exploracoder_jupyter.notebook.executions import Execution, executions
from exploracoder_jupyter.notebook.parts import joined
from exploracoder_jupyter.notebook.paths import FOLDER
from exploracoder_jupyter.types import LibraryInfo

_CALLS = re.compile(r"^%%explora\b", re.MULTILINE)
_OURS = re.compile(r"^\s*(?:%explora\b|%(?:re)?load_ext +exploracoder_jupyter\b).*$", re.MULTILINE)
_OUT = re.compile(r"--out[= ]+['\"]?([^\s'\"]+\.ipynb)")


@dataclass(frozen=True, slots=True)
class Subject:
    """A trace as it is on disk."""

    path: Path
    started: RunStarted
    day: date
    """On which the run began."""
    libraries: tuple[LibraryInfo, ...]
    executions: tuple[Execution, ...]
    edited: Mapping[str, str]
    """Cells that are not what the records tell, by id, with what is different; `notebook` for the whole of it."""
    before: tuple[str, ...]
    """Code cells of a person that stand before the first of the run."""
    solution: str
    """Id of the solution that the run ended with, if any."""

    @property
    def workdir(self) -> Path:
        """Where the run had its files: the trace's folder, or the one that holds the folder of traces."""
        folder = self.path.resolve().parent
        return folder.parent if folder.name == FOLDER else folder

    def setting(self, section: str, name: str) -> JsonValue:
        """A recorded setting; `None` where there is none."""
        values = self.started.settings.get(section)
        return values.get(name) if isinstance(values, dict) else None


def read(path: Path) -> Subject:
    """The trace at this path, a notebook or the journal of a run that was cut off.

    Raises:
        UsageError: it is no trace, or nothing was executed in its run.
    """
    notebook = _notebook(path)
    try:
        records = load(path)
    except UsageError:
        raise _no_trace(path, notebook) from None
    by_kind = {type(record.event): record.event for record in records}
    started, libraries, finished = (by_kind.get(kind) for kind in (RunStarted, LibraryRead, RunFinished))
    ran = executions(records)
    if not isinstance(started, RunStarted) or not ran:
        raise UsageError(f"In the run of {str(path)!r} nothing was executed.", remedy="There is nothing to check.")
    solution = finished.solution if isinstance(finished, RunFinished) else None
    return Subject(
        path,
        started,
        datetime.fromtimestamp(records[0].at, UTC).date(),
        libraries.libraries if isinstance(libraries, LibraryRead) else (),
        ran,
        _edited(notebook, records) if notebook else {},
        before_the_run(notebook) if notebook else (),
        solution.candidate if solution else "",
    )


def _edited(notebook: NotebookNode, records: Sequence[Record]) -> dict[str, str]:
    """What is not as the run wrote it: cells, and the notebook where it is no valid trace any more."""
    broken = problems(notebook)
    return {**edited_cells(notebook, records), **({"notebook": broken[0]} if broken else {})}


def code_of(path: Path) -> tuple[str, ...]:
    """What `--before` names: a Python file, or the code cells of a notebook that stand before its first exploration.

    Raises:
        UsageError: it cannot be read, or is neither.
    """
    if path.suffix == ".ipynb":
        notebook = _notebook(path)
        if notebook is None:
            raise UsageError(f"--before: {str(path)!r} is not a notebook that can be read.", remedy="Name another.")
        return before_the_run(notebook)
    try:
        code = path.read_text(encoding="utf-8")
        ast.parse(code)
    except (OSError, ValueError, SyntaxError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"--before: {str(path)!r} cannot be used: {why}.", remedy="Name a .py or .ipynb.") from error
    return (code,)


def before_the_run(notebook: NotebookNode) -> tuple[str, ...]:
    """The code cells that a person has written before the first cell of an exploration, without our own commands."""
    codes: list[str] = []
    for cell in notebook.cells:
        source = joined(cell.source)
        if ours(cell) or _CALLS.match(source):
            break
        if cell.cell_type == "code" and (code := _OURS.sub("", source).strip()):
            codes.append(code)
    return tuple(codes)


def _notebook(path: Path) -> NotebookNode | None:
    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except Exception:  # of whatever kind: a torn one may have a journal beside it
        return None
    return notebook


def _no_trace(path: Path, notebook: NotebookNode | None) -> UsageError:
    """What to say of a file without records: where the trace is, if it is a notebook that explored."""
    if not path.exists():
        return UsageError(f"There is no file {str(path)!r}.", remedy="Name the trace of a run.")
    if notebook is None or not any(ours(cell) or _CALLS.match(joined(cell.source)) for cell in notebook.cells):
        return UsageError(f"{str(path)!r} is not the trace of a run.", remedy="Name a notebook that a run wrote.")
    traces = [str(found) for found in _traces_of(path, notebook)]
    remedy = f"Check {' or '.join(traces)}." if traces else f"Traces are written to {FOLDER}/ beside it."
    return UsageError(f"{str(path)!r} has explored, but is not the trace itself.", remedy=remedy)


def _traces_of(path: Path, notebook: NotebookNode) -> Sequence[Path]:
    """The traces of the explorations that a notebook has called, as far as they are there."""
    named = [out for cell in notebook.cells for out in _OUT.findall(joined(cell.source))]
    run_ids = {str(mark["run_id"]) for cell in notebook.cells if (mark := ours(cell))}
    beside = [found for found in path.parent.glob(f"{FOLDER}/*.ipynb") if _run_id(found) in run_ids]
    return list(dict.fromkeys([found for out in named if (found := path.parent / out).is_file()] + beside))


def _run_id(path: Path) -> str:
    notebook = _notebook(path)
    marks = [mark for cell in notebook.cells if (mark := ours(cell))] if notebook else []
    return str(marks[0]["run_id"]) if marks else ""
