"""Notebooks with less in them: without the candidates that were not carried forward, or without the exploration.

Both go by the cells' metadata and return a new notebook. A generated cell that a person has edited is that person's:
it stays, as an ordinary cell.
"""

from __future__ import annotations

from copy import copy, deepcopy

from nbformat import NotebookNode

from exploracoder_jupyter.trace.cell_metadata import NAMESPACE, OUR_TAGS, ours
from exploracoder_jupyter.trace.cells.cell_layout import source_hash

_TRIED = ("candidate", "test", "judgement")
"""Roles of cells about one candidate."""


def without_losers(notebook: NotebookNode, *, run_id: str | None = None) -> NotebookNode:
    """The notebook with the selected candidates (opened), the solution and the summary, of one run or of all.

    The full records of the run, which a trace keeps in its metadata, are left out as well.
    """
    kept = _copy(notebook, [cell for cell in notebook.cells if not _loser(cell, run_id)])
    for cell in kept.cells:
        found = ours(cell, run_id)
        if found and found["role"] in _TRIED:
            for mark in ("jupyter", "collapsed"):
                cell.metadata.pop(mark, None)
    if NAMESPACE in kept.metadata:
        for name in ("records", "clock", "trimmed"):
            kept.metadata[NAMESPACE].pop(name, None)
    return kept


def untouched(notebook: NotebookNode) -> bool:
    """Whether there are cells, and all are generated ones, as they were generated."""
    return bool(notebook.cells) and all(ours(cell) and not _edited(cell) for cell in notebook.cells)


def clean(notebook: NotebookNode, *, keep_solution: bool = False, run_id: str | None = None) -> NotebookNode:
    """The notebook without generated cells, of one run or of all; edited ones stay as ordinary cells.

    Args:
        notebook: any notebook; it is not changed.
        keep_solution: whether solution cells stay.
        run_id: only the cells of this run.
    """
    kept = _copy(notebook, [cell for cell in notebook.cells if _stays(cell, keep_solution, run_id)])
    for cell in kept.cells:
        if ours(cell, run_id) and _edited(cell):
            _adopt(cell)
    return kept


def _loser(cell: NotebookNode, run_id: str | None) -> bool:
    found = ours(cell, run_id)
    return bool(found and found["role"] in _TRIED and not found.get("selected") and not _edited(cell))


def _stays(cell: NotebookNode, keep_solution: bool, run_id: str | None) -> bool:
    found = ours(cell, run_id)
    return found is None or (keep_solution and found["role"] == "solution") or _edited(cell)


def _edited(cell: NotebookNode) -> bool:
    return bool(source_hash(cell.source) != cell.metadata[NAMESPACE].get("source_hash"))


def _adopt(cell: NotebookNode) -> None:
    for mark in (NAMESPACE, "jupyter", "collapsed", "trusted"):
        cell.metadata.pop(mark, None)
    tags = [tag for tag in cell.metadata.pop("tags", []) if tag not in OUR_TAGS]
    if tags:
        cell.metadata["tags"] = tags


def _copy(notebook: NotebookNode, cells: list[NotebookNode]) -> NotebookNode:
    kept = copy(notebook)
    kept.cells = cells
    return deepcopy(kept)
