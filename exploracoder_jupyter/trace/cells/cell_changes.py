"""Converts the states of a run to changes of a notebook's cells.

A `CellView` lays out the run's cells again for each state and returns the difference. Changes refer to cells by id
and are idempotent: `insert` of an existing cell replaces it, `remove` of a missing one does nothing. The same changes
build the trace, the live cells in the browser, and any other view of a run as cells.
"""

from __future__ import annotations

from collections.abc import Iterator

from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.protocol.browser_messages import CellChange
from exploracoder_jupyter.trace.cells.cell_layout import Layout, Show
from exploracoder_jupyter.trace.cells.notebook_cells import Cells
from exploracoder_jupyter.trace.metadata_namespace import Cell


class CellView:
    """The cells of one run.

    Args:
        anchor: id of the calling cell, after which the cells are inserted; each cell's metadata names it. Without an
            anchor the cells form a separate notebook: its first cell is the task, and its solution cell keeps the
            recorded outputs.
        show: which candidates get cells.
        cells: how much of the run the user's notebook shows as cells.
    """

    def __init__(self, anchor: str | None = None, show: Show = "all", cells: Cells = "live") -> None:
        self._anchor = anchor
        self._layout = Layout(show=show, caller=anchor, cells=cells)
        self._cells: dict[str, Cell] = {}

    @property
    def cells(self) -> list[Cell]:
        """All current cells of the run, in order, for a front end that missed changes."""
        return list(self._cells.values())

    def update(self, state: RunState) -> list[CellChange]:
        """Return the changes in the notebook from the last state to this one."""
        before = self._cells
        self._cells = {str(cell["id"]): cell for cell in self._layout.cells(state)}
        return list(self._difference(before))

    def _difference(self, before: dict[str, Cell]) -> Iterator[CellChange]:
        yield from (CellChange(action="remove", id=id) for id in before if id not in self._cells)
        after = self._anchor
        for id, cell in self._cells.items():
            old = before.get(id)
            if old is None:
                yield CellChange(action="insert", id=id, after=after, cell=cell)
            elif old is not cell and old != cell:
                yield CellChange(action="replace", id=id, after=after, cell=cell)
            after = id
