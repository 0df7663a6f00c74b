"""One run as the pages see it: its cells, and its view for the sidebar."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.core.messages import describe_cost, money
from exploracoder_jupyter.core.run_state import Attempt, InputRound, RunState, Section
from exploracoder_jupyter.core.run_state.run_wording import headline
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.core.validation import JsonValue
from exploracoder_jupyter.ipython_extension.jupyter_server import Reach
from exploracoder_jupyter.ipython_extension.result_card.card import card_bundle
from exploracoder_jupyter.protocol.browser_messages import (
    ApiView,
    CandidateView,
    CellChange,
    CellsMessage,
    RunStatus,
    RunView,
    Snapshot,
    StateMessage,
    SubtaskView,
)

if TYPE_CHECKING:
    from exploracoder_jupyter.ipython_extension.browser.browser_controls import Controls


# The view of a run for the sidebar: a pure function from `RunState` to `browser_messages.RunView`.

_MAX_DOC = 600
_MAX_LINE = 300


@dataclass(frozen=True, slots=True)
class RunContext:
    """What the kernel knows about a run besides its records."""

    key: str
    cell: str | None
    """Id of the calling cell."""
    folder: Path | None
    """The notebook's folder."""
    origin: str = ""
    """A description of the run, if it continues another one."""
    owner: str = ""
    """Id of the page that changes the cells."""
    stopping: bool = False
    """Whether the run was asked to stop."""
    cells: bool = True
    """Whether a page shows the run as cells."""
    patched: bool = False
    """Whether the run's patch was applied to its repository."""
    root: Path | None = None
    """The server's root folder, if known: files below it can be opened from any notebook."""


def run_view(state: RunState, context: RunContext) -> RunView:
    """Return the run as the sidebar shows it."""
    solution, limits = state.solution_section, _limits(state)
    tokens, seconds = limits.get("tokens"), limits.get("seconds")
    return RunView(
        key=context.key,
        run_id=state.run_id,
        cell=context.cell,
        owner=context.owner,
        status=_status(state, stopping=context.stopping),
        task=state.task.text,
        setup=state.task.setup,
        origin=context.origin,
        libraries=[*state.task.libraries],
        model=state.model,
        isolation=state.isolation,
        activity="Stopping." if context.stopping and not state.over else headline(state),
        started=state.since,
        ended=_ended(state),
        waited=state.waited,
        waiting_since=state.waiting_since,
        estimate=str(state.estimate or ""),
        calls=state.usage.calls,
        tokens=state.usage.tokens,
        executions=state.usage.executions,
        cost=_money(state),
        budget_tokens=tokens if isinstance(tokens, int) else None,
        budget_seconds=float(seconds) if isinstance(seconds, int | float) else None,
        may_explore_now=state.may_explore_now,
        subtasks=[_subtask(section) for section in state.planned],
        solution=_subtask(solution, selectable=False) if solution.candidates else None,
        code=state.offered_solution,
        patch="" if not state.patch else "applied" if context.patched else "ready",
        notices=[notice.text for notice in state.notices],
        trace=state.trace or "",
        trace_link=relative_link(context.folder, state.trace, context.root),
    )


def relative_link(folder: Path | None, path: str | None, root: Path | None = None) -> str:
    """Return the path relative to the folder, with `/`; empty if it is below neither the folder nor the root."""
    try:
        return Reach(folder, root).link(path) if path else ""
    except OSError:
        return ""


def _ended(state: RunState) -> float | None:
    if not state.over or state.since is None:
        return (state.now or None) if state.over else None
    return state.since + state.waited + state.seconds(state.now)


def _limits(state: RunState) -> dict[str, JsonValue]:
    budget = state.started.settings.get("budget") if state.started else None
    return budget if isinstance(budget, dict) else {}


def _money(state: RunState) -> str:
    usage, limit = state.usage, _limits(state).get("cost")
    parts = [f"{usage.cached_tokens:,} tokens cached"] if usage.cached_tokens else []
    if usage.cost is not None:
        end = f" of {money(limit, usage.currency)}" if isinstance(limit, int | float) and limit else ""
        parts.insert(0, f"{describe_cost(usage.cost, usage.currency)}{end}")
    return ", ".join(parts)


def _status(state: RunState, *, stopping: bool) -> RunStatus:
    if state.verdict and not state.failure:
        return state.verdict.outcome
    if state.failure:
        return "stopped" if stopping else "failed"
    if stopping:
        return "stopping"
    if state.reviewing:
        return "reviewing"
    return "running" if state.run_id else "starting"


def _subtask(row: Section, *, selectable: bool = True) -> SubtaskView:
    used = row.selected.apis if row.selected else ()
    known = {api.path for api in row.apis}
    others = [ApiView(path=path, recommended=False, used=True) for path in used if path not in known]
    return SubtaskView(
        id=row.id,
        title=row.title,
        status=row.status,
        reason=row.reason,
        hint=row.hint,
        apis=[*(_api(api, used=api.path in used) for api in row.apis), *others],
        candidates=[_candidate(one, row.rounds, selectable=selectable) for one in row.candidates],
        selected=row.selection.candidate if row.selection else None,
        why=[*row.selection.reasons] if row.selection else [],
    )


def _api(api: ApiDoc, *, used: bool) -> ApiView:
    first = " ".join(api.description.strip().split("\n\n", 1)[0].split())
    text = f"Deprecated: {api.deprecated} {first}" if api.deprecated else first
    return ApiView(path=api.path, kind=api.kind, signature=api.signature, doc=_cut(text, _MAX_DOC), used=used)


def _candidate(attempt: Attempt, rounds: Mapping[str, InputRound], *, selectable: bool) -> CandidateView:
    judged = rounds[attempt.id].judgement if attempt.id in rounds else None
    shown = attempt.observation.text.strip() if attempt.observation else ""
    first = shown.splitlines()[0].strip() if shown else ""
    line = attempt.note or (f"judged {judged.summary}" if judged else first)
    return CandidateView(
        id=attempt.id,
        round=attempt.candidate.round,
        repairs=attempt.candidate.repairs,
        status=attempt.state,
        seconds=attempt.observation.seconds if attempt.observation else None,
        line=_cut(line, _MAX_LINE),
        selectable=selectable and attempt.state == "ok",
        apis=[*attempt.apis],
        edits=attempt.candidate.edits,
        agrees_with=attempt.agrees_with,
    )


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# One run as the pages see it: its cells in order, numbered cell changes, its state, and the page that owns it.
#
# The engine's changes are stored here even while no page is connected, so that a page that connects late or again
# can receive all cells as they are. Cells that the user deleted are left out of what is sent, and cells that
# followed them follow the cell before. Thread-safe: the run's follower updates it, and the handler of controls
# reads it.

_STATE_SECONDS = 0.2
_NAMESPACE = "exploracoder_jupyter"
_UNFINISHED = ("running", "exploring")
"""Statuses of cells that are no longer updated once the engine is gone."""

Cell = dict[str, JsonValue]


class LiveRun:
    """The cells and the state of one run."""

    def __init__(self, controls: Controls, context: RunContext, state: RunState, *, session: str) -> None:
        """`session` is the one of the connection over which the calling cell was sent."""
        self.session = session
        self.context = context
        self._controls = controls
        self._state = state
        self._cells: dict[str, Cell] = {}
        self._order: list[str] = []
        self._removed: set[str] = set()
        self._dismissed: set[str] = set()
        self._dismissed_all = False
        self._seq = 0
        self._last_sent = 0.0
        self._send_scheduled = False
        self._lock = threading.RLock()

    @property
    def owner(self) -> str:
        """Id of the page that changes the cells; empty if there is none."""
        return self.context.owner

    @property
    def paused_updates(self) -> AbstractContextManager[object]:
        """A lock that pauses updates of the run: what is sent while it is held is older than any later update."""
        return self._lock

    @property
    def view(self) -> RunView:
        """The present view of the run, with the result card once it has ended."""
        with self._lock:
            card = {}
            if self._state.over:
                state, context = self._state, self.context
                card = card_bundle(state, state.now, "", cells=context.cells, in_page=True, folder=context.folder)
            return self.listed_view.model_copy(update={"card": card})

    @property
    def listed_view(self) -> RunView:
        """The view without the card, which may contain images: for lists of runs."""
        with self._lock:
            return run_view(self._state, self.context).model_copy(update={"now": time.time()})

    def snapshot(self, request: int) -> Snapshot:
        """Return all cells and the state, as the answer to a request."""
        with self._lock:
            cells = [self._cells[id] for id in self._order if self._is_visible(id)]
            key, removed = self.context.key, sorted(self._removed)
            return Snapshot(request=request, run=key, seq=self._seq, cells=cells, removed=removed, state=self.view)

    def update_state(self, state: RunState) -> None:
        """Set the state of the run; it is sent at most five times a second, and always at the end."""
        with self._lock:
            self._state = state
            if state.failure:  # the engine is gone and will not report the outcome of unfinished cells
                cells = self._cells.values()
                unfinished = [cell for cell in cells if _exploration_metadata(cell).get("status") in _UNFINISHED]
                self.update_cells([_interrupted(cell) for cell in unfinished])
            rest = self._last_sent + _STATE_SECONDS - time.monotonic()
            if state.over or rest <= 0:
                self._send_state()
            elif not self._send_scheduled and self._controls.has_listeners:
                self._send_scheduled = True
                with suppress(RuntimeError):  # the interpreter is shutting down
                    # Not a Timer: the standard library's thread would be mistaken for the user's, which forks lack.
                    threading.Thread(
                        target=self._send_state_later, args=(rest,), daemon=True, name="explora-page"
                    ).start()

    def mark_stopping(self) -> None:
        """Note that the run was asked to stop."""
        with self._lock:
            self.context = replace(self.context, stopping=True)
            self._send_state()

    def mark_patched(self, patched: bool) -> None:
        """Note whether the run's patch is applied to its repository."""
        with self._lock:
            self.context = replace(self.context, patched=patched)
            self._send_state()

    def link(self, path: Path) -> str:
        """Return the path as a page can open it; empty if it is below neither the notebook's folder nor the root."""
        return relative_link(self.context.folder, str(path), self.context.root)

    def set_folder(self, folder: Path) -> None:
        """Set the folder of the calling cell's notebook, to which links are relative."""
        with self._lock:
            if folder != self.context.folder:
                self.context = replace(self.context, folder=folder)
                self._send_state()

    def set_owner(self, page: str) -> None:
        """Let this page change the cells; a run without a calling cell has no cells that could be changed."""
        with self._lock:
            if self.context.cell and page != self.context.owner:
                self.context = replace(self.context, owner=page)
                self._send_state()

    def update_cells(self, changes: Sequence[CellChange]) -> None:
        """Apply the engine's changes and send them to the pages, in order."""
        with self._lock:
            shown = [change for change in map(self._apply_change, changes) if change]
            if not shown:
                return
            self._seq += 1
            if self._controls.has_listeners:
                self._controls.broadcast(CellsMessage(run=self.context.key, seq=self._seq, changes=shown))

    def dismiss(self, cells: Sequence[str]) -> None:
        """Note that the user deleted these cells (if empty: all of them, and all future ones)."""
        with self._lock:
            self._dismissed_all = self._dismissed_all or not cells
            self._dismissed.update(cells)

    def dismiss_solution(self) -> None:
        """Note that the user has the solution as a cell of their own: a page that connects later does not show it."""
        with self._lock:
            solutions = (
                id for id, cell in self._cells.items() if _exploration_metadata(cell).get("role") == "solution"
            )
            self._dismissed.update(solutions)

    def _is_visible(self, id: str) -> bool:
        return not self._dismissed_all and id not in self._dismissed

    def _apply_change(self, change: CellChange) -> CellChange | None:
        """Apply the change and return it as a page needs it, or `None` if it is about a deleted cell."""
        if change.action == "remove":
            self._removed.add(change.id)
            if change.id in self._cells:
                del self._cells[change.id]
                self._order.remove(change.id)
            return change if self._is_visible(change.id) else None
        if change.cell is None:
            return None
        self._removed.discard(change.id)
        if change.id not in self._cells:
            self._order.insert(self._order.index(change.after) + 1 if change.after in self._cells else 0, change.id)
        self._cells[change.id] = change.cell
        return (
            change.model_copy(update={"after": self._visible_predecessor(change.id)})
            if self._is_visible(change.id)
            else None
        )

    def _visible_predecessor(self, id: str) -> str | None:
        """Return the nearest visible cell before this one, or else the calling cell."""
        earlier = reversed(self._order[: self._order.index(id)])
        return next((other for other in earlier if self._is_visible(other)), self.context.cell)

    def _send_state_later(self, rest: float) -> None:
        time.sleep(rest)
        with self._lock:
            if self._send_scheduled:
                self._send_state()

    def _send_state(self) -> None:
        with self._lock:
            self._send_scheduled, self._last_sent = False, time.monotonic()
            if self._controls.has_listeners:
                self._controls.broadcast(StateMessage(state=self.view))


def _exploration_metadata(cell: Cell) -> dict[str, JsonValue]:
    metadata = cell.get("metadata")
    ours = metadata.get(_NAMESPACE) if isinstance(metadata, dict) else None
    return ours if isinstance(ours, dict) else {}


def _interrupted(cell: Cell) -> CellChange:
    metadata = cell["metadata"]
    assert isinstance(metadata, dict)
    mark = {**_exploration_metadata(cell), "status": "interrupted"}
    return CellChange(action="replace", id=str(cell["id"]), cell={**cell, "metadata": {**metadata, _NAMESPACE: mark}})
