"""The live view on a terminal: the plan with its statuses, candidates with their outcomes, cost and time.

The same fold as the panel's computes what is shown; rich redraws it a few times a second, in a thread of its own,
which is safe because a state is never changed, only replaced. Nothing is said by colour alone.
"""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from exploracoder_jupyter.cli.terminal.standard_streams import plain
from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.types import SubtaskStatus
from exploracoder_jupyter.frontend.panel.panel_state import (
    SOLUTION,
    CandidateRow,
    CandidateState,
    State,
    SubtaskRow,
    fold,
    spent,
)

_STATUS: dict[SubtaskStatus, tuple[str, str]] = {
    "planned": ("·", "dim"),
    "exploring": ("▸", "bold cyan"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "skipped": ("–", "yellow"),
}
_OUTCOME: dict[CandidateState, tuple[str, str]] = {
    "running": ("…", "cyan"),
    "not finished": ("not finished", "yellow"),
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
    "check failed": ("check failed", "red"),
    "timeout": ("timeout", "red"),
    "died": ("died", "red"),
    "interrupted": ("interrupted", "yellow"),
    "duplicate": ("same", "dim"),
    "no code": ("no code", "dim"),
}


class _Screen(Console):
    """A console whose reader may go away."""

    def on_broken_pipe(self) -> None:
        """Say nothing more; the run goes on."""
        self.quiet = True


class LiveView:
    """Shows a run on standard error while it is entered."""

    def __init__(self) -> None:
        self._state = State()
        self._live = Live(
            get_renderable=lambda: draw(self._state, now=time.time()),
            console=_Screen(stderr=True),
            refresh_per_second=5,
            redirect_stdout=False,
        )

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def __call__(self, record: Record) -> None:
        """Take a record; it is drawn at the next refresh."""
        self._state = fold(self._state, record)


def draw(state: State, *, now: float) -> RenderableType:
    """The run as it stands at `now`, in seconds since the epoch."""
    parts: list[RenderableType] = [_head(state)]
    parts += [Text(plain(notice), style="yellow") for notice in state.notices[-3:]]
    rows = [*state.subtasks, *([state.solution_row] if state.solution_row.candidates else [])]
    if rows:
        parts.append(_table(rows, over=state.over))
    return Group(*parts, _foot(state, now))


def _head(state: State) -> Text:
    about = (", ".join(state.libraries), state.model, state.isolation)
    return Text(plain("  ".join(part for part in about if part)), style="dim")


def _table(rows: list[SubtaskRow], *, over: bool) -> Table:
    table = Table.grid(padding=(0, 1))
    for row in rows:
        symbol, style = _STATUS[row.status]
        name = plain(_name(row, over=over))
        table.add_row(Text(symbol, style), Text(name, style if row.status == "exploring" else ""))
        if row.candidates:
            table.add_row("", _candidates(row))
    return table


def _name(row: SubtaskRow, *, over: bool) -> str:
    title = row.title if row.id == SOLUTION else f"{row.id}. {row.title}"
    if over and row.status == "exploring":
        return f"{title} (not finished)"
    return title if row.status in ("planned", "exploring") else f"{title} ({row.status})"


def _candidates(row: SubtaskRow) -> Text:
    text = Text()
    for one in row.candidates:
        symbol, style = _OUTCOME[one.state]
        selected = one.id == row.selected
        text.append(f"{one.id} {symbol}", f"bold {style}" if selected else style)
        text.append(" carried forward  " if selected else "  ")
    return text if row.selected else text.append(_last_problem(row.candidates), "dim")


def _last_problem(candidates: tuple[CandidateRow, ...]) -> str:
    """The last error of code that was run; at most 100 characters."""
    told = [one.note for one in candidates if one.note and one.state not in ("duplicate", "no code")]
    return plain(told[-1].splitlines()[0])[:100] if told else ""


def _foot(state: State, now: float) -> Text:
    minutes, seconds = divmod(int(state.seconds(now)), 60)
    parts = [plain(state.activity), f"{spent(state)}, {minutes}:{seconds:02d}"]
    if not state.over:
        parts += [state.estimate, "Ctrl-C stops"]
    return Text("  ".join(part for part in parts if part), style="dim")
