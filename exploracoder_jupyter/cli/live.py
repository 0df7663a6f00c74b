"""The live view on a terminal: the plan with its statuses, candidates with their outcomes, cost and time.

Rich redraws it from the board a few times a second, in a thread of its own; a lock keeps board and drawing apart.
Symbols are always accompanied by words or ids, so that nothing is said by colour alone.
"""

from __future__ import annotations

import time
from threading import Lock
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from exploracoder_jupyter.cli.board import Board, Fate, Row, Tried
from exploracoder_jupyter.cli.output import plain
from exploracoder_jupyter.events import Record
from exploracoder_jupyter.types import SubtaskStatus

_STATUS: dict[SubtaskStatus, tuple[str, str]] = {
    "planned": ("·", "dim"),
    "exploring": ("▸", "bold cyan"),
    "done": ("✓", "green"),
    "failed": ("✗", "red"),
    "skipped": ("–", "yellow"),
}
_FATE: dict[Fate, tuple[str, str]] = {
    "running": ("…", "cyan"),
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
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
    """Shows a board on standard error while it is entered."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._lock = Lock()
        self._live = Live(
            get_renderable=self._draw,
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
        with self._lock:
            self._board.apply(record)

    def _draw(self) -> RenderableType:
        with self._lock:
            return draw(self._board, now=time.time())


def draw(board: Board, *, now: float) -> RenderableType:
    """The board as it stands at `now`, in seconds since the epoch."""
    parts: list[RenderableType] = [_head(board)]
    parts += [Text(plain(notice), style="yellow") for notice in board.notices[-3:]]
    if board.rows or board.solutions.tried:
        parts.append(_table(board))
    return Group(*parts, _foot(board, now))


def _head(board: Board) -> Text:
    libraries = ", ".join(f"{library.name} {library.version}" for library in board.libraries)
    known = f"{libraries}: {board.apis:,} APIs" if libraries else ""
    return Text(plain("  ".join(part for part in (known, board.model, board.isolation) if part)), style="dim")


def _table(board: Board) -> Table:
    table = Table.grid(padding=(0, 1))
    for row in [*board.rows, *([board.solutions] if board.solutions.tried else [])]:
        symbol, style = _STATUS[row.status]
        table.add_row(Text(symbol, style), Text(plain(_name(row)), style if row.status == "exploring" else ""))
        if row.tried:
            table.add_row("", _candidates(row.tried))
    return table


def _name(row: Row) -> str:
    title = row.title if row.id == "solution" else f"{row.id}. {row.title}"
    return title if row.status in ("planned", "exploring") else f"{title} ({row.status})"


def _candidates(tried: list[Tried]) -> Text:
    text = Text()
    for one in tried:
        symbol, style = _FATE[one.fate]
        text.append(f"{one.id} {symbol}", f"bold {style}" if one.selected else style)
        text.append(" carried forward  " if one.selected else "  ")
    if not any(one.selected for one in tried):
        text.append(_last_problem(tried), "dim")
    return text


def _last_problem(tried: list[Tried]) -> str:
    """The last error of code that ran, else the last thing that was wrong with a reply; at most 100 characters."""
    told = sorted((one for one in tried if one.headline), key=lambda one: one.fate != "no code")
    return plain(told[-1].headline.splitlines()[0])[:100] if told else ""


def _foot(board: Board, now: float) -> Text:
    minutes, seconds = divmod(int(max(0.0, now - board.began)) if board.began else 0, 60)
    spent = board.usage
    counts = (_count(spent.calls, "call"), _count(spent.tokens, "token"), _count(spent.executions, "execution"))
    cost = f"{', '.join(counts)}, {minutes}:{seconds:02d}"
    expected = (
        f" (about {_count(board.estimate.calls, 'call')} expected)" if board.estimate and not board.verdict else ""
    )
    stop = "  Ctrl-C stops" if not board.verdict else ""
    return Text(f"{plain(board.activity)}{'  ' if board.activity else ''}{cost}{expected}{stop}", style="dim")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
