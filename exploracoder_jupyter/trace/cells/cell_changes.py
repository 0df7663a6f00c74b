"""From events to changes of a notebook's cells.

A `CellView` folds the records, lays the run's cells out anew and gives the difference. Changes go by cell id and can be
applied twice without harm: `insert` of a cell that is there replaces it, `remove` of one that is not does nothing. The
same changes build the trace, the live cells in the browser, and whatever else shows a run as cells.
"""

from __future__ import annotations

from collections.abc import Iterator

from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.protocol.browser_messages import CellChange
from exploracoder_jupyter.trace.cell_metadata import Cell
from exploracoder_jupyter.trace.cells.cell_layout import Layout, Show
from exploracoder_jupyter.trace.run_state import Run, fold


class CellView:
    """The cells of one run.

    Args:
        anchor: id of the calling cell, after which the cells go. Without one the run has a notebook of its own: its
            first cell is the task, and its solution cell keeps the recorded outputs; with one each cell names it.
        show: which candidates get cells.
    """

    def __init__(self, anchor: str | None = None, show: Show = "all") -> None:
        self._anchor = anchor
        self._layout = Layout(show=show, caller=anchor)
        self._run = Run()
        self._cells: dict[str, Cell] = {}

    @property
    def cells(self) -> list[Cell]:
        """The run's cells as they stand, in order: what a front end that missed changes needs."""
        return list(self._cells.values())

    def apply(self, record: Record) -> list[CellChange]:
        """Take one more record; what has to change in the notebook for it."""
        self._run = fold(self._run, record)
        before = self._cells
        self._cells = {str(cell["id"]): cell for cell in self._layout.cells(self._run)}
        return list(self._difference(before))

    def _difference(self, before: dict[str, Cell]) -> Iterator[CellChange]:
        yield from (CellChange(action="remove", id=id) for id in before if id not in self._cells)
        after = self._anchor
        for id, cell in self._cells.items():
            known = before.get(id)
            if known is None:
                yield CellChange(action="insert", id=id, after=after, cell=cell)
            elif known is not cell and known != cell:
                yield CellChange(action="replace", id=id, after=after, cell=cell)
            after = id
