"""`jupyter explora history`: what was explored before, newest first, and the removal of its lines."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.terminal.standard_streams import emit, note, say
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.truncate import one_line

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.core.run_history import HistoryStore, PastRun
    from exploracoder_jupyter.core.trace_peek import OlderTrace

_FEW = 20
_HEADS = ("run", "began", "ended as", "calls", "tokens", "executions", "time", "libraries")
_NUMBERS = range(3, 7)
"""Columns that are aligned at their right."""
_LEAST_TASK, _MOST_TASK = 20, 200
"""Characters of a task in a terminal that is very narrow, and where there is none."""
_NOT_TOLD = ("process", "outcome")
"""`status` says what follows from them."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("-n", type=_positive, default=_FEW, metavar="N", help=f"runs that are shown at most ({_FEW})")
    parser.add_argument("--library", metavar="LIB", help="only runs that explored this library")
    removal = parser.add_mutually_exclusive_group()
    removal.add_argument("--forget", metavar="ID", help="remove the line of this run, or `all`; traces stay")
    removal.add_argument(
        "--prune",
        action="store_true",
        help="remove lines beyond the settings' limits, and those of runs whose traces are gone",
    )


def execute(arguments: argparse.Namespace) -> int:
    """List what was explored, or remove lines. Returns the exit status: 1 where there is nothing to list.

    Raises:
        UsageError: there is no such run, or the file cannot be read or changed.
    """
    from exploracoder_jupyter.core.run_history import HistoryStore
    from exploracoder_jupyter.core.settings import history_path
    from exploracoder_jupyter.core.trace_peek import traces_beside

    store = HistoryStore(history_path())
    beside = traces_beside(Path())
    if arguments.forget or arguments.prune:
        return _remove(store, arguments, beside)
    runs = [run for run in _all(store, beside) if not arguments.library or _explored(run, arguments.library)]
    shown, lost = runs[: arguments.n], store.lost()
    if arguments.json:
        emit({"path": str(store.path), "lost": lost or None, "runs": [_object(run) for run in shown]})
    elif shown:
        _list(shown)
        note(f"{len(shown)} of {len(runs)} in {store.path}.")
    else:
        note(f"Nothing{f' of {arguments.library}' if arguments.library else ''} in {store.path}.")
    if lost:
        note(f"{lost} `--forget all` removes that too.")
    return 0 if shown else 1


def _all(store: HistoryStore, beside: Sequence[OlderTrace]) -> list[PastRun]:
    runs = store.all(beside)
    if not runs and (problem := store.problem()):
        raise UsageError(f"{store.path} cannot be read: {problem}.", remedy="End what uses it, or update this package.")
    return runs


def _remove(store: HistoryStore, arguments: argparse.Namespace, beside: Sequence[OlderTrace]) -> int:
    import sqlite3

    try:
        removed = _pruned(store, beside) if arguments.prune else _forgotten(store, arguments.forget)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(
            f"{store.path} cannot be changed: {error}.", remedy="End what uses it, or remove the file."
        ) from error
    if arguments.json:
        emit({"path": str(store.path), "removed": removed})
    else:
        say(f"Removed {removed} from {store.path}. No trace was touched.")
    return 0


def _pruned(store: HistoryStore, beside: Sequence[OlderTrace]) -> int:
    from exploracoder_jupyter.core.settings import resolve

    limits = resolve().history
    return store.prune(days=limits.days, runs=limits.runs, beside=beside)


def _forgotten(store: HistoryStore, named: str) -> int:
    if named == "all":
        return store.clear()
    if not (removed := store.forget([named])):
        raise UsageError(f"There is no run {named!r} in the history.", remedy="See `jupyter explora history`.")
    return removed


def _positive(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"takes a whole number from 1 on, not {text!r}")


def _explored(run: PastRun, library: str) -> bool:
    names = {name for info in run.libraries for name in (info.name, info.distribution)}
    return _spelled(library) in map(_spelled, names)


def _spelled(name: str) -> str:
    return name.lower().replace("_", "-")


def _object(run: PastRun) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {name: value for name, value in asdict(run).items() if name not in _NOT_TOLD}
    return told | {
        "status": run.status,
        "resume_with": run.resumable or None,
        "resumed_by": run.resumed_by or None,
        "libraries": {info.name: info.version for info in run.libraries},
        "trace": run.trace or None,
        "trace_exists": bool(run.trace) and not run.gone,
        **{
            name: _moment(at) for name, at in (("started", run.started), ("updated", run.updated), ("ended", run.ended))
        },
    }


def _moment(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _list(runs: Sequence[PastRun]) -> None:
    """A table, with what does not fit into one below each row: the task, the trace, what can be done."""
    rows = [_HEADS, *map(_row, runs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    room = shutil.get_terminal_size().columns - widths[0] - 2 if sys.stdout.isatty() else _MOST_TASK
    say(_aligned(_HEADS, widths))
    for run, row in zip(runs, rows[1:], strict=True):
        say(_aligned(row, widths))
        for text in _below(run, room):
            say(f"{'':{widths[0]}}  {text}")


def _row(run: PastRun) -> tuple[str, ...]:
    from exploracoder_jupyter.core.run_history import clock
    from exploracoder_jupyter.core.settings import OFFLINE

    began = _told_moment(datetime.fromtimestamp(run.started), date.today())
    asked = ("–", "–") if run.model == OFFLINE else (f"{run.calls:,}", f"{run.tokens:,}")  # that is no language model
    spent = (*asked, f"{run.executions:,}", clock(run.seconds))
    return (run.id, began, run.status, *spent, run.named)


def _told_moment(at: datetime, today: date) -> str:
    """To the minute; the last two days by their names."""
    days = {today: "today", today - timedelta(days=1): "yesterday"}
    return f"{days.get(at.date(), at.date().isoformat())} {at:%H:%M}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        text.rjust(width) if column in _NUMBERS else text.ljust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def _below(run: PastRun, room: int) -> list[str]:
    from_ = f"goes on from {run.resumes}" if run.resumes else ""
    place = f"{run.trace} (gone)" if run.gone else run.trace
    return [text for text in (one_line(run.task, max(room, _LEAST_TASK)), from_, place, _onward(run)) if text]


def _onward(run: PastRun) -> str:
    """How it goes on, or does already; or that it cannot."""
    if run.resumed_by:
        return f"went on as {run.resumed_by}"
    if run.unfinished and not run.trace:
        return "it left no trace to go on from"
    return f"to go on: jupyter explora run {run.resumable}" if run.resumable else ""
