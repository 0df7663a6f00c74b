"""Finds the explorations in a user's notebook: their traces, and the code before each call."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.validator import isvalid

from exploracoder_jupyter.core.configuration.explore_options import split_call
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.trace import generated_metadata, journal_path
from exploracoder_jupyter.trace.comparing.output_comparison import join_lines
from exploracoder_jupyter.trace.edit_detection import edited_cell_names
from exploracoder_jupyter.trace.storage.stored_records import run_metadata
from exploracoder_jupyter.trace.trace_paths import FOLDER

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
        words = shlex.split(split_call(first, rest)[0])
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
