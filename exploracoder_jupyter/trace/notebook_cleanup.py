"""Reduces a trace to the candidates that were carried forward.

Cells are identified by their metadata, and a new notebook is returned. A generated cell that a person has edited
belongs to that person: it stays, as an ordinary cell.
"""

from __future__ import annotations

from copy import copy, deepcopy

from nbformat import NotebookNode

from exploracoder_jupyter.trace.cells.cell_building import source_hash
from exploracoder_jupyter.trace.metadata_namespace import NAMESPACE, generated_metadata

_CANDIDATE_ROLES = ("candidate", "test", "judgement")
"""Roles of cells about one candidate."""


def without_unselected(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with only the selected candidates (expanded), the solution and the summary.

    The run's records in the metadata of a trace are removed as well.
    """

    def stays(cell: NotebookNode) -> bool:
        found = generated_metadata(cell)
        return not found or found["role"] not in _CANDIDATE_ROLES or bool(found.get("selected")) or _is_edited(cell)

    reduced = copy(notebook)
    reduced.cells = [cell for cell in notebook.cells if stays(cell)]
    reduced = deepcopy(reduced)
    for cell in reduced.cells:
        found = generated_metadata(cell)
        if found and found["role"] in _CANDIDATE_ROLES:
            for mark in ("jupyter", "collapsed"):
                cell.metadata.pop(mark, None)
    if NAMESPACE in reduced.metadata:
        for name in ("records", "trimmed"):
            reduced.metadata[NAMESPACE].pop(name, None)
    return reduced


def is_untouched(notebook: NotebookNode) -> bool:
    """Whether the notebook has cells, and all of them are generated and unedited."""
    return bool(notebook.cells) and all(generated_metadata(cell) and not _is_edited(cell) for cell in notebook.cells)


def _is_edited(cell: NotebookNode) -> bool:
    return bool(source_hash(cell.source) != cell.metadata[NAMESPACE].get("source_hash"))
