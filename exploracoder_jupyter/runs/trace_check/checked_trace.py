"""Reads the trace that is checked, or finds the explorations of a user's notebook."""

from __future__ import annotations

import ast
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from html import unescape
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.validator import isvalid
from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.options import split_call
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import (
    CandidateProposed,
    LibraryRead,
    Record,
    RunFinished,
    RunStarted,
    SolutionJudged,
)
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.run_state import fold_all
from exploracoder_jupyter.core.types import LibraryInfo
from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name
from exploracoder_jupyter.runs.order import is_active, load_records
from exploracoder_jupyter.trace import find_problems, generated_metadata, journal_path
from exploracoder_jupyter.trace.comparison import join_lines
from exploracoder_jupyter.trace.edits import edited_cell_names, find_edited_cells
from exploracoder_jupyter.trace.paths import FOLDER
from exploracoder_jupyter.trace.reading import Execution, executions
from exploracoder_jupyter.trace.storage import newer_version_message, read_records, run_metadata, version_of

# Finds the explorations in a user's notebook: their traces, and the code before each call.

_CALL = re.compile(r"%%explora\b")
_OURS = re.compile(r"^\s*(?:%explora\b|%(?:re)?load_ext +exploracoder_jupyter\b).*$", re.MULTILINE)
_TRACE = re.compile(r"\bTrace: (?:<code>)?([^<>\n]+?\.ipynb)")
"""The path of the trace in the output of a call."""


@dataclass(frozen=True, slots=True)
class Exploration:
    """An exploration whose call or generated cells are in a notebook."""

    trace: Path
    notebook: Path
    before: tuple[str, ...]
    """The user's code cells before the call."""
    edited: tuple[str, ...]
    """Names of generated cells in the notebook that were edited."""


def find_explorations(path: Path) -> tuple[Exploration, ...]:
    """Find the explorations in a notebook.

    Empty if the notebook is a trace itself, was exported from a trace that does not exist any more, or contains no
    exploration.

    Raises:
        UsageError: the notebook contains explorations, but none of their traces exists.
    """
    notebook = read_notebook(path)
    if notebook is None or run_metadata(notebook).get("records") or journal_path(path).exists():
        return ()
    calls = list(_calls(notebook)) if is_valid_notebook(notebook) else []
    if not calls:
        return ()
    places = _find_traces(path.parent, {run_id for _, run_id, _ in calls} - {""})
    found: dict[Path, tuple[str, ...]] = {}
    for names, run_id, before in calls:
        candidates = [path.parent / os.path.expanduser(name) for name in names]  # noqa: PTH111  (raises nothing)
        for trace in [*candidates, *([places[run_id]] if run_id in places else [])]:
            if trace.is_file():
                found.setdefault(trace, before)
    if not found and not run_metadata(notebook):
        remedy = f"Name the trace; by default, traces are in {FOLDER}/ beside the notebook."
        raise UsageError(f"{str(path)!r} contains explorations, but their traces were not found.", remedy=remedy)
    edited = edited_cell_names(notebook)
    return tuple(Exploration(trace, path, before, edited) for trace, before in found.items())


def code_before_run(notebook: NotebookNode) -> tuple[str, ...]:
    """Return the user's code cells before the first exploration, without the commands of this package."""
    first = (number for number, cell in enumerate(notebook.cells) if generated_metadata(cell) or _is_call(cell))
    return _user_code(notebook.cells[: next(first, len(notebook.cells))])


def _calls(notebook: NotebookNode) -> Iterator[tuple[Sequence[str], str, tuple[str, ...]]]:
    """Yield for each exploration possible names of its trace, the id of its run, and the code before its call."""
    before = code_before_run(notebook)
    for number, cell in enumerate(notebook.cells):
        if mark := generated_metadata(cell):
            yield (), str(mark.get("run_id")), before
        elif _is_call(cell):
            before = _user_code(notebook.cells[:number])
            outputs = cell.get("outputs", [])
            texts = [text for one in outputs for text in (one.get("text"), *one.get("data", {}).values())]
            named = [unescape(name) for text in texts for name in _TRACE.findall(join_lines(text))]
            yield [*_out_options(join_lines(cell.source)), *named], "", before


def _is_call(cell: NotebookNode) -> bool:
    return bool(_CALL.match(join_lines(cell.source)))


def _user_code(cells: Iterable[NotebookNode]) -> tuple[str, ...]:
    users = (cell for cell in cells if cell.cell_type == "code" and not generated_metadata(cell) and not _is_call(cell))
    return tuple(code for cell in users if (code := _OURS.sub("", join_lines(cell.source)).strip()))


def _out_options(source: str) -> list[str]:
    first, _, rest = source.partition("\n")
    try:
        words = system.split_words(split_call(first, rest)[0])
    except ValueError:
        return []
    separate = [after for word, after in itertools.pairwise(words) if word == "--out"]
    return [*separate, *(word.removeprefix("--out=") for word in words if word.startswith("--out="))]


def _find_traces(folder: Path, run_ids: Set[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted([*folder.glob("*.ipynb"), *folder.glob(f"{FOLDER}/*.ipynb")]) if run_ids else ():
        if not path.is_file():  # reading a named pipe would never end
            continue
        try:
            content = path.read_bytes()
            facts = run_metadata(json.loads(content)) if any(run_id.encode() in content for run_id in run_ids) else {}
        except (OSError, ValueError, RecursionError):
            continue
        if facts.get("records") and facts.get("run_id") in run_ids:
            found[facts["run_id"]] = path
    return found


def read_notebook(path: Path) -> NotebookNode | None:
    """Read the notebook in this file; `None` if it is unreadable."""
    try:
        return parse_notebook(path.read_bytes())
    except OSError:
        return None


def parse_notebook(content: bytes) -> NotebookNode | None:
    """Parse a notebook; `None` if it is unreadable."""
    try:
        notebook: NotebookNode = nbformat.reads(content.decode(), as_version=4)  # type: ignore[no-untyped-call]
    except Exception:  # any error: a damaged notebook may have a journal beside it
        return None
    return notebook


def is_valid_notebook(notebook: NotebookNode) -> bool:
    """Whether the notebook is valid; otherwise its cells may lack required fields."""
    return bool(isvalid(notebook))  # type: ignore[no-untyped-call]


# Reads the trace that is checked, and the user's code that ran before the exploration.


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
