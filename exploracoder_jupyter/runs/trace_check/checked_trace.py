"""Reads the trace that is checked, and the user's code that ran before the exploration."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from nbformat import NotebookNode
from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import (
    CandidateProposed,
    LibraryRead,
    Record,
    RunFinished,
    RunStarted,
    SolutionJudged,
)
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.core.types import LibraryInfo
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name
from exploracoder_jupyter.runs.recorded.trace_loader import load_records
from exploracoder_jupyter.runs.trace_check.explored_notebook import (
    code_before_run,
    is_valid_notebook,
    parse_notebook,
    read_notebook,
)
from exploracoder_jupyter.runs.trace_lock import is_active
from exploracoder_jupyter.trace import find_problems
from exploracoder_jupyter.trace.edit_detection import find_edited_cells
from exploracoder_jupyter.trace.recorded_executions import Execution, executions
from exploracoder_jupyter.trace.storage.stored_records import (
    newer_version_message,
    read_records,
    run_metadata,
    version_of,
)


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

    @property
    def sandbox(self) -> dict[str, JsonValue]:
        """The recorded sandbox settings."""
        recorded = self.started.settings.get("sandbox")
        return recorded if isinstance(recorded, dict) else {}

    def setting(self, section: str, name: str) -> JsonValue:
        """Return a recorded setting; `None` if it is missing."""
        values = self.started.settings.get(section)
        return values.get(name) if isinstance(values, dict) else None


def read_subject(path: Path) -> Subject:
    """Read the trace at this path, a notebook or the journal of a run that was cut off.

    Raises:
        UsageError: it is not a trace, is of a later version, or nothing was executed in its run.
    """
    active, content, saved = is_active(path), b"", list[Record]()
    with suppress(OSError, ValueError, RecursionError, UsageError):  # read once: an active run replaces the file
        content = path.read_bytes()
        saved = read_records(json.loads(content))  # of a run that was cut off, its journal has more
    notebook = parse_notebook(content)
    if notebook and (sentence := newer_version_message(version_of(run_metadata(notebook)))):
        raise UsageError(f"{str(path)!r} cannot be checked. {sentence}", remedy="Update exploracoder_jupyter.")
    records = load_records(path)
    run, ran = fold_all(records), executions(records)
    if run.started is None or not ran:
        raise UsageError(f"Nothing was executed in the run of {str(path)!r}.", remedy="There is nothing to check.")
    if run.started.task.repository:
        raise UsageError(
            f"The run of {str(path)!r} wrote code for a repository, which is not executed as cells.",
            remedy="`jupyter explora replay` runs its tests again.",
        )
    solution = run.finished.solution if run.finished else None
    return Subject(
        path,
        run.started,
        datetime.fromtimestamp(records[0].at, UTC).date(),
        run.library.libraries if run.library else (),
        ran,
        {**_find_edits(notebook, saved), **find_unfounded_claims(records, ran)},
        code_before_run(notebook) if notebook and is_valid_notebook(notebook) else (),
        solution.candidate if solution else "",
        complete=records == saved,
        is_active=active,
    )


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
        code = path.read_text(encoding="utf-8-sig")
        ast.parse(code)
    except (OSError, ValueError, SyntaxError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"--before: {str(path)!r} cannot be used: {why}.", remedy="Name a .py or .ipynb.") from error
    return (code,)


def find_unfounded_claims(records: Sequence[Record], ran: Sequence[Execution]) -> dict[str, str]:
    """Describe the claims that the records contradict, by subject: the solution's id, `verdict` or `libraries`."""
    run, events = fold_all(records), [record.event for record in records]
    if run.started is None:
        return {}
    proposed = (event.candidate for event in events if isinstance(event, CandidateProposed))
    codes = {candidate.id: candidate.code for candidate in proposed}
    judged = (event for event in events if isinstance(event, SolutionJudged))
    right = {event.candidate for event in judged if event.judgement.ruling == "right"}
    found = _check_versions(run.library, run.started.environment.packages) if run.library else {}
    if run.finished and not _is_unexecuted(run.finished, codes, ran):
        found |= _check_verdict(run.finished, {one.id: one for one in ran}, right, checked=bool(run.started.task.check))
    return found


def _is_unexecuted(event: RunFinished, proposed: Mapping[str, str], ran: Sequence[Execution]) -> bool:
    """Whether the run claims no more than that it wrote a program, which it never ran."""
    solution = event.solution
    if solution is None or event.verdict.outcome != "unchecked" or any(one.id == solution.candidate for one in ran):
        return False
    return proposed.get(solution.candidate) == solution.code


def _check_verdict(
    event: RunFinished, ran: Mapping[str, Execution], right: set[str], *, checked: bool
) -> dict[str, str]:
    """Describe what is wrong with the verdict that a solution ran."""
    outcome, solution = event.verdict.outcome, event.solution
    if outcome not in ("solved", "unchecked"):
        return {}
    done = ran.get(solution.candidate) if solution else None
    if solution is None or done is None or not done.observation.ran:
        return {"verdict": f"it is {outcome}, but no solution ran"}
    if done.code != solution.code:
        return {done.id: "the solution is not the code that was run"}
    if outcome == "solved" and not (checked or done.id in right):
        return {"verdict": "it is solved, but nothing was checked"}
    return {}


def _check_versions(event: LibraryRead, packages: Sequence[str]) -> dict[str, str]:
    pairs = [(normalize_name(name), version) for name, _, version in (line.partition("==") for line in packages)]
    listed = {name for name, _ in pairs}
    for info in event.libraries:
        name = normalize_name(info.distribution)
        if info.version and name in listed and (name, info.version) not in pairs:
            return {"libraries": f"{info.name} is recorded as {info.version}, the list of packages has another version"}
    return {}
