"""A notebook in which a person has explored: the traces of that, and what stands before each call."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.validator import isvalid

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.trace import journal_path, ours
from exploracoder_jupyter.trace.comparing.output_parts import joined
from exploracoder_jupyter.trace.edit_detection import edited_since
from exploracoder_jupyter.trace.stored_records import facts_of
from exploracoder_jupyter.trace.trace_paths import FOLDER

_CALL = re.compile(r"%%explora\b")
_OURS = re.compile(r"^\s*(?:%explora\b|%(?:re)?load_ext +exploracoder_jupyter\b).*$", re.MULTILINE)
_TOLD = re.compile(r"\bTrace: (?:<code>)?([^<>\n]+?\.ipynb)")
"""Where the result of a call says that its trace is."""


@dataclass(frozen=True, slots=True)
class Exploration:
    """One that a notebook holds the call of, or what it gave."""

    trace: Path
    notebook: Path
    before: tuple[str, ...]
    """The code cells of a person that stand before its call."""
    edited: tuple[str, ...]
    """Cells of explorations in the notebook that somebody has edited since."""


def explorations(path: Path) -> tuple[Exploration, ...]:
    """What a notebook has explored; nothing where it is a trace itself, was made from one that is not there, or has not
    explored.

    Raises:
        UsageError: no trace of what it has explored is there.
    """
    notebook = notebook_at(path)
    if notebook is None or facts_of(notebook).get("records") or journal_path(path).exists() or not is_whole(notebook):
        return ()
    calls = list(_calls(notebook))
    if not calls:
        return ()
    places = _by_run(path.parent, {run_id for _, run_id, _ in calls} - {""})
    found: dict[Path, tuple[str, ...]] = {}
    for names, run_id, before in calls:
        named = [path.parent / Path(name).expanduser() for name in names]
        for trace in [*named, *([places[run_id]] if run_id in places else [])]:
            if trace.is_file():
                found.setdefault(trace, before)
    if not found and not facts_of(notebook):
        remedy = f"Name that; traces are written to {FOLDER}/ beside the notebook, if --out names no other place."
        raise UsageError(f"{str(path)!r} has explored, but the trace of that is not there.", remedy=remedy)
    edited = edited_since(notebook)
    return tuple(Exploration(trace, path, before, edited) for trace, before in found.items())


def before_the_run(notebook: NotebookNode) -> tuple[str, ...]:
    """The code cells that a person has written before the first exploration, without our own commands."""
    first = (number for number, cell in enumerate(notebook.cells) if ours(cell) or _is_call(cell))
    return _codes(notebook.cells[: next(first, len(notebook.cells))])


def _calls(notebook: NotebookNode) -> Iterator[tuple[Sequence[str], str, tuple[str, ...]]]:
    """What tells of an exploration: names of its trace, the id of its run, and the code that stood before its call."""
    before = before_the_run(notebook)
    for number, cell in enumerate(notebook.cells):
        if mark := ours(cell):
            yield (), str(mark.get("run_id")), before
        elif _is_call(cell):
            before = _codes(notebook.cells[:number])
            yield [*_out(joined(cell.source)), *_told(cell)], "", before


def _is_call(cell: NotebookNode) -> bool:
    return bool(_CALL.match(joined(cell.source)))


def _codes(cells: Iterable[NotebookNode]) -> tuple[str, ...]:
    """The code of a person in these cells."""
    person = (cell for cell in cells if cell.cell_type == "code" and not ours(cell) and not _is_call(cell))
    return tuple(code for cell in person if (code := _OURS.sub("", joined(cell.source)).strip()))


def _out(source: str) -> list[str]:
    """What `--out` names in the line of a call."""
    try:
        words = shlex.split(source.partition("\n")[0])
    except ValueError:
        return []
    named = [after for word, after in itertools.pairwise(words) if word == "--out"]
    return [*named, *(word.removeprefix("--out=") for word in words if word.startswith("--out="))]


def _told(cell: NotebookNode) -> list[str]:
    """Which trace the outputs of a call name."""
    outputs = cell.get("outputs", [])
    texts = [joined(text) for output in outputs for text in (output.get("text"), *output.get("data", {}).values())]
    return [unescape(name) for text in texts for name in _TOLD.findall(text)]


def _by_run(folder: Path, run_ids: Set[str]) -> dict[str, Path]:
    """The traces of these runs in this folder and in the one for traces below it."""
    found: dict[str, Path] = {}
    for path in sorted([*folder.glob("*.ipynb"), *folder.glob(f"{FOLDER}/*.ipynb")]) if run_ids else ():
        try:
            content = path.read_bytes()
            facts = facts_of(json.loads(content)) if any(run_id.encode() in content for run_id in run_ids) else {}
        except (OSError, ValueError, RecursionError):
            continue
        if facts.get("records") and facts.get("run_id") in run_ids:
            found[facts["run_id"]] = path
    return found


def notebook_at(path: Path) -> NotebookNode | None:
    """The notebook in this file, if there is one that can be read."""
    try:
        return notebook_in(path.read_bytes())
    except OSError:
        return None


def notebook_in(content: bytes) -> NotebookNode | None:
    """The notebook that this is, if it can be read as one."""
    try:
        notebook: NotebookNode = nbformat.reads(content.decode(), as_version=4)  # type: ignore[no-untyped-call]
    except Exception:  # of whatever kind: a torn one may have a journal beside it
        return None
    return notebook


def is_whole(notebook: NotebookNode) -> bool:
    """Whether it is a valid notebook: else its cells may lack what makes them cells."""
    return bool(isvalid(notebook))  # type: ignore[no-untyped-call]
