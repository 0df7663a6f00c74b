"""Reduces notebooks: without the candidates that were not carried forward, or without the exploration.

Cells are identified by their metadata, and a new notebook is returned. A generated cell that a person has edited
belongs to that person: it stays, as an ordinary cell.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy

from nbformat import NotebookNode

from exploracoder_jupyter.trace.cells.cell_building import source_hash
from exploracoder_jupyter.trace.metadata_namespace import NAMESPACE, OUR_TAGS, generated_metadata

_CANDIDATE_ROLES = ("candidate", "test", "judgement")
"""Roles of cells about one candidate."""


def without_unselected(notebook: NotebookNode, *, run_id: str | None = None) -> NotebookNode:
    """Return the notebook with only the selected candidates (expanded), the solution and the summary.

    The run's records in the metadata of a trace are removed as well. `run_id` restricts this to one run.
    """

    def stays(cell: NotebookNode) -> bool:
        found = generated_metadata(cell, run_id)
        return not found or found["role"] not in _CANDIDATE_ROLES or bool(found.get("selected")) or _is_edited(cell)

    reduced = _copy_with_cells(notebook, stays)
    for cell in reduced.cells:
        found = generated_metadata(cell, run_id)
        if found and found["role"] in _CANDIDATE_ROLES:
            for mark in ("jupyter", "collapsed"):
                cell.metadata.pop(mark, None)
    if NAMESPACE in reduced.metadata:
        for name in ("records", "clock", "content", "trimmed"):
            reduced.metadata[NAMESPACE].pop(name, None)
    return reduced


def is_untouched(notebook: NotebookNode) -> bool:
    """Whether the notebook has cells, and all of them are generated and unedited."""
    return bool(notebook.cells) and all(generated_metadata(cell) and not _is_edited(cell) for cell in notebook.cells)


def clean(notebook: NotebookNode, *, keep_solution: bool = False, run_id: str | None = None) -> NotebookNode:
    """Return the notebook without generated cells; edited ones stay as ordinary cells.

    Args:
        notebook: any notebook; it is not changed.
        keep_solution: whether solution cells stay.
        run_id: removes only the cells of this run; by default those of all runs.
    """

    def stays(cell: NotebookNode) -> bool:
        found = generated_metadata(cell, run_id)
        return found is None or (keep_solution and found["role"] == "solution") or _is_edited(cell)

    cleaned = _copy_with_cells(notebook, stays)
    for cell in cleaned.cells:
        if generated_metadata(cell, run_id) and _is_edited(cell):  # it becomes an ordinary cell
            for mark in (NAMESPACE, "jupyter", "collapsed", "trusted"):
                cell.metadata.pop(mark, None)
            if tags := [tag for tag in cell.metadata.pop("tags", []) if tag not in OUR_TAGS]:
                cell.metadata["tags"] = tags
    return cleaned


def _is_edited(cell: NotebookNode) -> bool:
    return bool(source_hash(cell.source) != cell.metadata[NAMESPACE].get("source_hash"))


def _copy_with_cells(notebook: NotebookNode, stays: Callable[[NotebookNode], bool]) -> NotebookNode:
    result = copy(notebook)
    result.cells = [cell for cell in notebook.cells if stays(cell)]
    return deepcopy(result)
