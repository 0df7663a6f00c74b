"""The live view on a terminal: the plan with its statuses, candidates with their outcomes, cost and time.

Rich redraws it a few times per second in a separate thread, which is safe because a state is never mutated, only
replaced. Color is never the only carrier of information.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from exploracoder_jupyter.core.events import Record
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, CandidateState, RunState, Section, fold
from exploracoder_jupyter.core.run_state.run_wording import describe_usage
from exploracoder_jupyter.core.types import SubtaskStatus
from exploracoder_jupyter.text.terminal_text import printable

_STATUS_STYLES: dict[SubtaskStatus, tuple[str, str]] = {
    "planned": ("·", "dim"),
    "exploring": ("▸", "bold cyan"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "skipped": ("–", "yellow"),
}
_OUTCOME_STYLES: dict[CandidateState, tuple[str, str]] = {
    "running": ("…", "cyan"),
    "not finished": ("not finished", "yellow"),
    "not run": ("not run", "dim"),
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
    "check failed": ("check failed", "red"),
    "timeout": ("timeout", "red"),
    "died": ("died", "red"),
    "interrupted": ("interrupted", "yellow"),
    "duplicate": ("same", "dim"),
    "no code": ("no code", "dim"),
}


class _PipeSafeConsole(Console):
    def on_broken_pipe(self) -> None:
        """Stop printing; the run continues."""
        self.quiet = True


class LiveView:
    """Context manager that displays a run on standard error."""

    def __init__(self) -> None:
        self._state = RunState()
        self._live = Live(
            get_renderable=lambda: render_view(self._state, now=time.time()),
            console=_PipeSafeConsole(stderr=True),
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
        """Add a record, to be displayed at the next refresh."""
        self._state = fold(self._state, record)


def render_view(state: RunState, *, now: float) -> RenderableType:
    """Render the state of the run at `now`, in seconds since the epoch."""
    about = (state.task.subject, state.model, state.isolation)
    parts: list[RenderableType] = [Text(printable("  ".join(part for part in about if part)), style="dim")]
    parts += [Text(printable(notice.text), style="yellow") for notice in state.notices[-3:]]
    if state.shown_sections:
        parts.append(_render_table(state.shown_sections, over=state.over))
    return Group(*parts, _render_footer(state, now))


def _render_table(rows: Sequence[Section], *, over: bool) -> Table:
    table = Table.grid(padding=(0, 1))
    for row in rows:
        symbol, style = _STATUS_STYLES[row.status]
        name = printable(_row_title(row, over=over))
        table.add_row(Text(symbol, style), Text(name, style if row.status == "exploring" else ""))
        if row.candidates:
            table.add_row("", _render_candidates(row))
    return table


def _row_title(row: Section, *, over: bool) -> str:
    title = row.title if row.id == SOLUTION else f"{row.id}. {row.title}"
    if over and row.status == "exploring":
        return f"{title} (not finished)"
    return title if row.status in ("planned", "exploring") else f"{title} ({row.status})"


def _render_candidates(row: Section) -> Text:
    text = Text()
    for candidate in row.candidates:
        symbol, style = _OUTCOME_STYLES[candidate.state]
        selected = candidate is row.selected
        text.append(f"{candidate.id} {symbol}", f"bold {style}" if selected else style)
        text.append(" carried forward  " if selected else "  ")
    return text if row.selected else text.append(_last_problem(row.candidates), "dim")


def _last_problem(candidates: tuple[Attempt, ...]) -> str:
    problems = [
        candidate.note for candidate in candidates if candidate.note and candidate.state not in ("duplicate", "no code")
    ]
    return printable(problems[-1].splitlines()[0])[:100] if problems else ""


def _render_footer(state: RunState, now: float) -> Text:
    minutes, seconds = divmod(int(state.seconds(now)), 60)
    parts = [printable(state.activity), f"{describe_usage(state)}, {minutes}:{seconds:02d}"]
    if not state.over:
        parts += [str(state.estimate or ""), "Ctrl-C stops"]
    return Text("  ".join(part for part in parts if part), style="dim")
