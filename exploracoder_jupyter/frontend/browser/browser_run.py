"""One run as pages see it: its cells in order, numbered changes of them, its state, and the page that shows it.

The engine's changes are kept here even while no page listens, so that one that comes late, or comes back, can be given
all cells as they stand. What the user deleted stays away: it is left out of what is sent, and cells that followed it
follow the one before. Told by whoever follows the run, asked by whoever hears a page; from any thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from exploracoder_jupyter.frontend.browser.sidebar_view import RunContext, relative_link, run_view
from exploracoder_jupyter.frontend.panel.panel_state import State
from exploracoder_jupyter.protocol.browser_messages import (
    CellChange,
    CellsMessage,
    FromKernel,
    RunView,
    Snapshot,
    StateMessage,
)

_BETWEEN_STATES = 0.2
_NAMESPACE = "exploracoder_jupyter"
_UNDER_WAY = ("running", "exploring")
"""Statuses of cells that nothing comes after, once the engine is gone."""

Cell = dict[str, JsonValue]


class Broadcaster(Protocol):
    """The pages."""

    @property
    def has_listeners(self) -> bool:
        """Whether there is anybody to tell."""
        ...

    def broadcast(self, message: FromKernel) -> None:
        """Tell all pages; returns at once, raises nothing, from any thread."""
        ...

    def assign_owner(self, run: LiveRun) -> None:
        """A run is known from now on; its page may have said hello while it was made."""
        ...


class NullBroadcaster:
    """No pages at all."""

    has_listeners = False

    def broadcast(self, message: FromKernel) -> None:
        """Do nothing."""

    def assign_owner(self, run: LiveRun) -> None:
        """Do nothing."""


class LiveRun:
    """The cells and the state of one run."""

    def __init__(self, broadcaster: Broadcaster, place: RunContext, state: State, *, session: str) -> None:
        """`session` is the one of the connection over which the calling cell was sent."""
        self.session = session
        self._broadcaster = broadcaster
        self._context = place
        self._state = state
        self._cells: dict[str, Cell] = {}
        self._order: list[str] = []
        self._removed: set[str] = set()
        self._dismissed: set[str] = set()
        self._all_dismissed = False
        self._seq = 0
        self._told = 0.0
        self._later = False
        self._lock = threading.RLock()

    @property
    def key(self) -> str:
        """The kernel's name for the run."""
        return self._context.key

    @property
    def cell(self) -> str | None:
        """Id of the calling cell."""
        return self._context.cell

    @property
    def origin(self) -> str:
        """What the run is, if it goes on from another; in a few words."""
        return self._context.origin

    @property
    def owner(self) -> str:
        """Id of the page that changes the cells; empty: none does."""
        return self._context.owner

    @property
    def paused_updates(self) -> AbstractContextManager[object]:
        """While this is held, nothing is told of the run: what is sent then is older than any news of it."""
        return self._lock

    @property
    def view(self) -> RunView:
        """The run as it stands."""
        with self._lock:
            return run_view(self._state, self._context).model_copy(update={"now": time.time()})

    def snapshot(self, request: int) -> Snapshot:
        """All cells and the state, as the answer to a request."""
        with self._lock:
            cells = [self._cells[id] for id in self._order if self._shown(id)]
            removed = sorted(self._removed)
            return Snapshot(request=request, run=self.key, seq=self._seq, cells=cells, removed=removed, state=self.view)

    def update_state(self, state: State) -> None:
        """The run has gone on; told at most five times a second, and at the end."""
        with self._lock:
            self._state = state
            if state.failure:
                self._interrupt()
            rest = self._told + _BETWEEN_STATES - time.monotonic()
            if state.over or rest <= 0:
                self._tell_state()
            elif not self._later and self._broadcaster.has_listeners:
                self._later = True
                with suppress(RuntimeError):  # the interpreter is going down
                    # No Timer: a thread of the standard library would be taken for the user's, which a fork lacks.
                    threading.Thread(target=self._tell_later, args=(rest,), daemon=True, name="explora-page").start()

    def mark_stopping(self) -> None:
        """Its end was asked for."""
        with self._lock:
            self._context = replace(self._context, stopping=True)
            self._tell_state()

    def link(self, path: Path) -> str:
        """The path as a page can open it; empty if it is below neither the notebook's folder nor the server's root."""
        return relative_link(self._context.folder, str(path), self._context.root)

    def set_folder(self, folder: Path) -> None:
        """The notebook of the calling cell is in this folder now: links lead from there."""
        with self._lock:
            if folder != self._context.folder:
                self._context = replace(self._context, folder=folder)
                self._tell_state()

    def set_owner(self, page: str) -> None:
        """This page changes the cells from now on; a run without a calling cell has none that could be changed."""
        with self._lock:
            if self._context.cell and page != self._context.owner:
                self._context = replace(self._context, owner=page)
                self._tell_state()

    def update_cells(self, changes: Sequence[CellChange]) -> None:
        """Take the engine's changes and pass them on, in order."""
        with self._lock:
            shown = [change for change in map(self._apply, changes) if change]
            if not shown:
                return
            self._seq += 1
            if self._broadcaster.has_listeners:
                self._broadcaster.broadcast(CellsMessage(run=self.key, seq=self._seq, changes=shown))

    def dismiss(self, cells: Sequence[str]) -> None:
        """The user has deleted these cells (none named: all of them, and any that would come)."""
        with self._lock:
            self._all_dismissed = self._all_dismissed or not cells
            self._dismissed.update(cells)

    def dismiss_solution(self) -> None:
        """The user has got the solution as a cell of their own: a page that comes later does not show it again."""
        with self._lock:
            self._dismissed.update(id for id, cell in self._cells.items() if _role(cell) == "solution")

    def _interrupt(self) -> None:
        """The engine is gone: it will not say any more what became of what was under way."""
        dead = [cell for cell in self._cells.values() if _mark(cell).get("status") in _UNDER_WAY]
        self.update_cells([_interrupted(cell) for cell in dead])

    def _shown(self, id: str) -> bool:
        return not self._all_dismissed and id not in self._dismissed

    def _apply(self, change: CellChange) -> CellChange | None:
        """The change as a page needs it, or nothing if it is about a deleted cell."""
        if change.action == "remove":
            self._removed.add(change.id)
            if change.id in self._cells:
                del self._cells[change.id]
                self._order.remove(change.id)
            return change if self._shown(change.id) else None
        if change.cell is None:
            return None
        self._removed.discard(change.id)
        if change.id not in self._cells:
            self._order.insert(self._order.index(change.after) + 1 if change.after in self._cells else 0, change.id)
        self._cells[change.id] = change.cell
        return change.model_copy(update={"after": self._before(change.id)}) if self._shown(change.id) else None

    def _before(self, id: str) -> str | None:
        """The nearest cell before it that is shown; the calling cell at last."""
        earlier = reversed(self._order[: self._order.index(id)])
        return next((other for other in earlier if self._shown(other)), self._context.cell)

    def _tell_later(self, rest: float) -> None:
        time.sleep(rest)
        with self._lock:
            if self._later:
                self._tell_state()

    def _tell_state(self) -> None:
        with self._lock:
            self._later, self._told = False, time.monotonic()
            if self._broadcaster.has_listeners:
                self._broadcaster.broadcast(StateMessage(state=self.view))


def _role(cell: Cell) -> object:
    return _mark(cell).get("role")


def _mark(cell: Cell) -> dict[str, JsonValue]:
    metadata = cell.get("metadata")
    ours = metadata.get(_NAMESPACE) if isinstance(metadata, dict) else None
    return ours if isinstance(ours, dict) else {}


def _interrupted(cell: Cell) -> CellChange:
    metadata = cell["metadata"]
    assert isinstance(metadata, dict)
    mark = {**_mark(cell), "status": "interrupted"}
    return CellChange(action="replace", id=str(cell["id"]), cell={**cell, "metadata": {**metadata, _NAMESPACE: mark}})
