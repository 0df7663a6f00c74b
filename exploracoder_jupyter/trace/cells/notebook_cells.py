"""The cells of a run in the user's notebook, where they stand below the cell that called it.

Everything that was tried stands under one heading, which says how much that was and collapses at the end of the run.
The next heading of the same level ends it, so that collapsing hides no cell of the user; the solution follows there.
"""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from exploracoder_jupyter.core.message_formatting import describe_tries
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.trace.cells.cell_building import as_dict, markdown_cell, outcome_metadata, with_source
from exploracoder_jupyter.trace.metadata_namespace import NAMESPACE, Cell

Cells = Literal["live", "collapsed", "card"]
"""How much of a run the notebook shows: all cells, open while it goes on; all, collapsed from the start; none."""

COLLAPSED = "jp-MarkdownHeadingCollapsed"
"""The key of JupyterLab in a cell's metadata for a heading that hides the cells below it."""


def tries_cell(run: RunState, cells: Cells) -> Cell:
    """Return the heading above everything that was tried."""
    tries, failed = run.tries
    title = describe_tries(tries, failed) if tries else "Exploration"
    cell = markdown_cell(run, "tries", "", f"### {title}", outcome_metadata(run))
    if run.finished or cells == "collapsed":
        cell["metadata"] = {**as_dict(cell["metadata"]), COLLAPSED: True}
    return cell


def adapt_cell(cell: Cell, caller: str) -> Cell:
    """Adapt a cell of a trace for the user's notebook.

    Headings move below that of the tries. Code cells are marked as trusted: their outputs are sanitized, and one
    untrusted cell would make the whole notebook untrusted. `collapsed` is dropped, because the front end writes it
    itself.
    """
    role, source = as_dict(as_dict(cell["metadata"])[NAMESPACE])["role"], str(cell["source"])
    if role in ("plan", "subtask") and source.startswith("#"):
        cell = with_source(cell, f"#{source}")
    metadata = {name: value for name, value in as_dict(cell["metadata"]).items() if name != "collapsed"}
    marked: dict[str, JsonValue] = {**metadata, NAMESPACE: {**as_dict(metadata[NAMESPACE]), "caller": caller}}
    return {**cell, "metadata": {**marked, "trusted": True} if cell["cell_type"] == "code" else marked}
