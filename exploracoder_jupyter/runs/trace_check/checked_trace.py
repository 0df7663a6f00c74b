"""Reads the trace that is checked, and the user's code that ran before the exploration."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from nbformat import NotebookNode
from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import LibraryRead, Record, RunFinished, RunStarted
from exploracoder_jupyter.core.types import LibraryInfo
from exploracoder_jupyter.runs.recorded.trace_loader import load_records
from exploracoder_jupyter.runs.trace_check.explored_notebook import (
    code_before_run,
    is_valid_notebook,
    parse_notebook,
    read_notebook,
)
from exploracoder_jupyter.runs.trace_check.recorded_claims import find_unfounded_claims
from exploracoder_jupyter.runs.trace_lock import is_active
from exploracoder_jupyter.trace import find_problems
from exploracoder_jupyter.trace.edit_detection import find_edited_cells
from exploracoder_jupyter.trace.recorded_executions import Execution, executions
from exploracoder_jupyter.trace.storage.migration import newer_version_message, version_of
from exploracoder_jupyter.trace.storage.stored_records import read_records, run_metadata


@dataclass(frozen=True, slots=True)
class Subject:
    """A trace as it is on disk."""

    path: Path
    started: RunStarted
    day: date
    """The day on which the run started."""
    libraries: tuple[LibraryInfo, ...]
    executions: tuple[Execution, ...]
    edited: Mapping[str, str]
    """Descriptions of edits, by id of the cell; `notebook` for the notebook's metadata."""
    before: tuple[str, ...]
    """The user's code cells before the first cell of the run."""
    solution: str
    """Id of the solution that the run ended with, if any."""
    complete: bool
    """Whether the notebook contains the complete run; otherwise its journal has more."""
    is_active: bool
    """Whether the run is still writing it."""

    def setting(self, section: str, name: str) -> JsonValue:
        """Return a recorded setting; `None` if it is missing."""
        values = self.started.settings.get(section)
        return values.get(name) if isinstance(values, dict) else None


def read_subject(path: Path) -> Subject:
    """Read the trace at this path, a notebook or the journal of a run that was cut off.

    Raises:
        UsageError: it is not a trace, is of a later version, or nothing was executed in its run.
    """
    active, content = is_active(path), _read_content(path)
    notebook = parse_notebook(content)
    if notebook and (sentence := newer_version_message(version_of(run_metadata(notebook)))):
        raise UsageError(f"{str(path)!r} cannot be checked. {sentence}", remedy="Update exploracoder_jupyter.")
    records, saved = load_records(path), _parse_saved(content)
    by_kind = {type(record.event): record.event for record in records}
    started, libraries, finished = (by_kind.get(kind) for kind in (RunStarted, LibraryRead, RunFinished))
    ran = executions(records)
    if not isinstance(started, RunStarted) or not ran:
        raise UsageError(f"Nothing was executed in the run of {str(path)!r}.", remedy="There is nothing to check.")
    if started.task.repository:
        raise UsageError(
            f"The run of {str(path)!r} wrote code for a repository, which is not executed as cells.",
            remedy="`jupyter explora replay` runs its tests again.",
        )
    solution = finished.solution if isinstance(finished, RunFinished) else None
    return Subject(
        path,
        started,
        datetime.fromtimestamp(records[0].at, UTC).date(),
        libraries.libraries if isinstance(libraries, LibraryRead) else (),
        ran,
        {**_find_edits(notebook, saved), **find_unfounded_claims(records, ran)},
        code_before_run(notebook) if notebook and is_valid_notebook(notebook) else (),
        solution.candidate if solution else "",
        complete=records == saved,
        is_active=active,
    )


def _read_content(path: Path) -> bytes:
    """Read the file once, because an active run replaces it; empty if it is unreadable."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _parse_saved(content: bytes) -> list[Record]:
    """Return the records in the notebook itself; a run that was cut off has more in its journal."""
    try:
        return read_records(json.loads(content))
    except (ValueError, RecursionError):
        return []


def _find_edits(notebook: NotebookNode | None, saved: Sequence[Record]) -> dict[str, str]:
    """Describe edits of cells, and of the notebook if it is not a valid trace any more."""
    if not saved:
        return {}
    if notebook is None:
        return {"notebook": "it cannot be read as a notebook"}
    broken = find_problems(notebook)
    if not is_valid_notebook(notebook):
        return {"notebook": broken[0]}
    return {**find_edited_cells(notebook, saved), **({"notebook": broken[0]} if broken else {})}


def read_code(path: Path) -> tuple[str, ...]:
    """Return the code in the file named by `--before`.

    This is a Python file, or a notebook, of which the code cells before its first exploration are used.

    Raises:
        UsageError: the file is unreadable, or neither.
    """
    if path.suffix == ".ipynb":
        notebook = read_notebook(path)
        if notebook is None or not is_valid_notebook(notebook):
            raise UsageError(f"--before: {str(path)!r} is not a readable notebook.", remedy="Name another file.")
        return code_before_run(notebook)
    try:
        code = path.read_text(encoding="utf-8")
        ast.parse(code)
    except (OSError, ValueError, SyntaxError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"--before: {str(path)!r} cannot be used: {why}.", remedy="Name a .py or .ipynb.") from error
    return (code,)
