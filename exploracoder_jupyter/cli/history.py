"""`jupyter explora history`: lists past explorations, newest first, and removes them from the history."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from exploracoder_jupyter.cli.output import print_json, print_note, print_result
from exploracoder_jupyter.core.configuration.options import positive
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.messages import money, one_line, plural

if TYPE_CHECKING:
    from pydantic import JsonValue

    from exploracoder_jupyter.core.history import HistoryStore, PastRun, TraceSummary

_DEFAULT_LIMIT = 20
_COLUMNS = ("run", "started", "status", "calls", "tokens", "cost", "executions", "time", "libraries")
_FIRST_NUMBER = 3
"""Index of the first right-aligned column; only the libraries, in the last one, stand to the left again."""
_MIN_TASK, _MAX_TASK = 20, 200
"""Length of a task in a very narrow terminal, and without a terminal."""
_OMITTED_FIELDS = ("process", "outcome")
"""Fields omitted from JSON, because `status` is derived from them."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "-n",
        type=positive,
        default=_DEFAULT_LIMIT,
        metavar="N",
        help=f"maximum number of runs to show ({_DEFAULT_LIMIT})",
    )
    parser.add_argument("--library", metavar="LIB", help="only runs that explored this library")
    parser.add_argument(
        "--calls", action="store_true", help="show what coding agents have called (jupyter explora mcp), not runs"
    )
    removal = parser.add_mutually_exclusive_group()
    removal.add_argument("--forget", metavar="ID", help="remove this run, or `all`, from the history; traces are kept")
    removal.add_argument(
        "--prune",
        action="store_true",
        help="remove runs that exceed the limits in the settings, and runs whose traces no longer exist",
    )


def execute(arguments: argparse.Namespace) -> int:
    """List past runs, or remove entries. Returns the exit status: 1 if there is nothing to list."""
    from exploracoder_jupyter.core.configuration.sources import history_path
    from exploracoder_jupyter.core.history import HistoryStore, list_traces

    if arguments.calls:
        return _show_calls(arguments.n, as_json=arguments.json)
    store = HistoryStore(history_path())
    traces = list_traces(Path())
    if arguments.forget or arguments.prune:
        return _remove(store, arguments, traces)
    runs = store.all(traces)
    if not runs and (problem := store.problem()):
        raise UsageError(
            f"{store.path} cannot be read: {problem}.", remedy="Close programs that use it, or update this package."
        )
    runs = [run for run in runs if not arguments.library or _uses_library(run, arguments.library)]
    shown, lost = runs[: arguments.n], store.lost()
    if arguments.json:
        print_json({"path": str(store.path), "lost": lost or None, "runs": [_run_to_json(run) for run in shown]})
    elif shown:
        _print_runs(shown)
        print_note(f"{len(shown)} of {plural(len(runs), 'run')} in {store.path}.")
    else:
        print_note(f"No runs{f' of {arguments.library}' if arguments.library else ''} in {store.path}.")
    if lost:
        print_note(f"{lost} `--forget all` removes that file too.")
    return 0 if shown else 1


def _show_calls(most: int, *, as_json: bool) -> int:
    """List what agents have called. Returns the exit status: 1 if there is nothing to list."""
    from exploracoder_jupyter.agent_tools.call_log import calls_path, read_calls

    path = calls_path()
    calls = read_calls(path, most)
    if as_json:
        print_json({"path": str(path), "calls": [*calls]})
    else:
        for call in calls:
            print_result(f"{call.get('at')}  {call.get('tool')}  {call.get('seconds')} s  {call.get('outcome')}")
        print_note(
            f"{plural(len(calls), 'call')} in {path}, which contains the code." if calls else f"No calls in {path}."
        )
    return 0 if calls else 1


def _remove(store: HistoryStore, arguments: argparse.Namespace, traces: Sequence[TraceSummary]) -> int:
    import sqlite3

    from exploracoder_jupyter.core.configuration.sources import resolve

    try:
        if arguments.prune:
            limits = resolve().history
            removed = store.prune(days=limits.days, runs=limits.runs, beside=traces)
        else:
            removed = store.clear() if arguments.forget == "all" else store.forget([arguments.forget])
    except (OSError, sqlite3.Error) as error:
        raise UsageError(
            f"{store.path} cannot be changed: {error}.", remedy="Close programs that use it, or remove the file."
        ) from error
    if not removed and arguments.forget not in (None, "all"):
        missing = f"There is no run {arguments.forget!r} in the history."
        raise UsageError(missing, remedy="See `jupyter explora history`.")
    if arguments.json:
        print_json({"path": str(store.path), "removed": removed})
    else:
        print_result(f"Removed {plural(removed, 'run')} from {store.path}. The traces were not changed.")
    return 0


def _uses_library(run: PastRun, library: str) -> bool:
    from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name

    names = {name for info in run.libraries for name in (info.name, info.distribution)}
    return normalize_name(library) in map(normalize_name, names)


def _run_to_json(run: PastRun) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {name: value for name, value in asdict(run).items() if name not in _OMITTED_FIELDS}
    return fields | {
        "status": run.status,
        "resume_with": run.resumable or None,
        "resumed_by": run.resumed_by or None,
        "libraries": {info.name: info.version for info in run.libraries},
        "trace": run.trace or None,
        "trace_exists": bool(run.trace) and not run.gone,
        **{
            name: _iso_time(at)
            for name, at in (("started", run.started), ("updated", run.updated), ("ended", run.ended))
        },
    }


def _iso_time(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _print_runs(runs: Sequence[PastRun]) -> None:
    rows = [_COLUMNS, *map(_row, runs)]
    at = _COLUMNS.index("cost")
    if not any(row[at] for row in rows[1:]):  # most models have no price in the settings
        rows = [row[:at] + row[at + 1 :] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    room = shutil.get_terminal_size().columns - widths[0] - 2 if sys.stdout.isatty() else _MAX_TASK
    print_result(_align(rows[0], widths))
    for run, row in zip(runs, rows[1:], strict=True):
        print_result(_align(row, widths))
        for text in _detail_lines(run, room):
            print_result(f"{'':{widths[0]}}  {text}")


def _row(run: PastRun) -> tuple[str, ...]:
    from exploracoder_jupyter.core.configuration.sections import OFFLINE
    from exploracoder_jupyter.core.history import format_duration

    at, today = datetime.fromtimestamp(run.started), date.today()
    days = {today: "today", today - timedelta(days=1): "yesterday"}
    began = f"{days.get(at.date(), at.date().isoformat())} {at:%H:%M}"
    asked = ("–", "–") if run.model == OFFLINE else (f"{run.calls:,}", f"{run.tokens:,}")  # not a language model
    paid = "" if run.cost is None else money(run.cost, run.currency)
    spent = (*asked, paid, f"{run.executions:,}", format_duration(run.seconds))
    return (run.id, began, run.status, *spent, run.named)


def _align(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        text.rjust(width) if _FIRST_NUMBER <= column < len(row) - 1 else text.ljust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def _detail_lines(run: PastRun, room: int) -> list[str]:
    from_ = f"resumes {run.resumes}" if run.resumes else ""
    place = f"{run.trace} (deleted)" if run.gone else run.trace
    return [text for text in (one_line(run.task, max(room, _MIN_TASK)), from_, place, _resume_text(run)) if text]


def _resume_text(run: PastRun) -> str:
    if run.resumed_by:
        return f"resumed as {run.resumed_by}"
    if run.unfinished and not run.trace:
        return "it left no trace to resume"
    return f"to resume: jupyter explora run {run.resumable}" if run.resumable else ""
