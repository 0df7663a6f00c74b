"""The user's history of runs, and the summary of a run that its trace file states."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.files import LOCK_TIMEOUT, SHORT_LOCK_TIMEOUT, SqliteStore
from exploracoder_jupyter.core.messages import describe_cost, one_line, plural
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.process_id import ProcessId
from exploracoder_jupyter.core.types import LibraryInfo, Outcome
from exploracoder_jupyter.core.validation import TypeAdapter, ValidationError

# Reads a run's summary from the beginning or end of its trace file: fast, however many records the trace holds.
#
# The content is untrusted, because a trace may come from another user.

PEEK_BYTES = 32_768
"""Bytes to read at either end of a trace file, enough for the run's task and its verdict."""
REPLAYED_SUFFIX = "-replayed"
"""Suffix of the stem of a trace that is a replay of another one."""
_MAX_TASK = 80
_EXPORT_SUFFIX = "-selected.ipynb"
"""Suffix of notebooks that were exported from traces."""


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """Summary of a trace file."""

    path: Path
    changed: float
    """Modification time, in seconds since the epoch."""
    started: float | None = None
    """When the run started, in seconds since the epoch; `None` if the file does not contain it."""
    task: str = ""
    """The beginning of the task, on one line."""
    outcome: str = ""
    """As in a verdict; empty if the file does not contain it."""
    run: str = ""
    """Id of the run; empty if the file does not contain it."""


def path_exists(path: Path | str) -> bool:
    """Return whether the file exists; False if that cannot be determined (no permission, a disconnected disk)."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def read_facts(path: Path, *names: str, most: int = PEEK_BYTES) -> dict[str, Any]:
    """Read these metadata fields from `most` bytes of a trace; a field not completely contained in them is `None`.

    The fields are at the end of a trace, after the long records. Raises OSError.
    """
    with path.open("rb") as file:
        file.seek(-min(most, path.stat().st_size), os.SEEK_END)
        tail = file.read().decode("utf-8", "replace")
    return {name: _decode_after(*tail.rpartition(f'"{name}": ')) for name in names}


def list_traces(folder: Path) -> list[TraceSummary]:
    """List the traces of the notebooks in this folder, oldest first, without broken links and exported notebooks."""
    found = []
    for path in (folder / "explorations").glob("*.ipynb"):
        with suppress(OSError):
            if path.is_file() and not path.name.endswith(_EXPORT_SUFFIX):  # reading a named pipe would never end
                found.append(_read_summary(path))
    return sorted(found, key=lambda trace: trace.changed)


def _decode_after(_: str, found: str, rest: str) -> Any:
    """Decode the JSON value after a field's name. A quoted name within a string is escaped, so it does not match."""
    with suppress(ValueError, RecursionError):
        return json.JSONDecoder().raw_decode(rest)[0] if found else None
    return None


def _read_summary(path: Path) -> TraceSummary:
    found = read_facts(path, "task", "verdict", "started", "run_id")
    task, verdict = found["task"], found["verdict"]
    return TraceSummary(
        path,
        path.stat().st_mtime,
        _parse_time(found["started"]),
        _clean_text(task.get("text")) if isinstance(task, dict) else "",
        _clean_text(verdict.get("outcome")) if isinstance(verdict, dict) else "",
        _clean_text(found["run_id"]),
    )


def _clean_text(value: object) -> str:
    """Return the text on one line, truncated, without control characters: the file is untrusted."""
    line = one_line(value, PEEK_BYTES) if isinstance(value, str) else ""
    return one_line("".join(filter(str.isprintable, line)), _MAX_TASK)


def _parse_time(moment: object) -> float | None:
    with suppress(ValueError, OverflowError, OSError):
        seconds = datetime.fromisoformat(str(moment)).timestamp()
        datetime.fromtimestamp(seconds)  # some times can be parsed but not formatted
        return seconds
    return None


# The user's history of runs: one entry per run, in a file in the user's state folder that processes share.
#
# An entry is written when a run starts and updated as it proceeds, so runs that died are listed too; its process
# shows whether it died. Entries are removed by age and count, or on request; traces are never touched.

RUNNING, CUT_OFF = "running", "cut off"
"""Status of a run without a verdict."""
DAY = 86_400.0
_RESUMABLE_OUTCOMES = (CUT_OFF, "stopped", "unsolved")
"""Statuses of runs that can be resumed."""
_MIGRATIONS = (
    "CREATE TABLE runs (id TEXT PRIMARY KEY, started REAL NOT NULL, body TEXT NOT NULL)",
    "CREATE INDEX runs_started ON runs (started)",
)


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run in the state in which its entry was last written."""

    id: str
    started: float
    """Seconds since the epoch, like all times here."""
    updated: float
    process: ProcessId
    task: str
    """First line of the task, truncated."""
    libraries: tuple[LibraryInfo, ...]
    """The libraries; as the user named them, without versions, until they have been read."""
    model: str = ""
    ended: float | None = None
    outcome: str = ""
    """As in a verdict; empty until there is one."""
    reason: str = ""
    calls: int = 0
    tokens: int = 0
    cost: float | None = None
    """Amount of money; None if the model has no price."""
    currency: str = ""
    seconds: float = 0.0
    """Duration of the run, so far or in total."""
    executions: int = 0
    trace: str = ""
    """Absolute path; empty if no trace was started."""
    resumes: str = ""
    """Id of the run that this one resumes."""
    resumed_by: str = ""
    """Id of the newest run in the history that resumes this one."""

    @property
    def status(self) -> str:
        """The outcome, else `running` or `cut off`.

        A run on another machine counts as cut off after a day without an update. The outcome may be in the trace only:
        it is written there first, and may never reach the history.
        """
        if self.outcome or (self.process.here and self.process.alive):
            return self.outcome or RUNNING
        recent = not self.process.here and time.time() - self.updated < DAY
        return self._outcome_in_trace or (RUNNING if recent else CUT_OFF)

    @property
    def named(self) -> str:
        """The libraries with their versions, as text."""
        return ", ".join(library.titled for library in self.libraries)

    @property
    def totals(self) -> str:
        """Calls, tokens, money, executions and time, as text; the first three only if a language model was used."""
        asked = self.calls and self.model != OFFLINE
        spent = [plural(self.calls, "call"), plural(self.tokens, "token")] if asked else []
        paid = [] if self.cost is None else [describe_cost(self.cost, self.currency)]
        return ", ".join([*spent, *paid, plural(self.executions, "execution"), format_duration(self.seconds)])

    @property
    def gone(self) -> bool:
        """Whether the run's trace no longer exists, and neither does the journal that a cut-off run leaves next to it.

        False if there never was a trace.
        """
        path = Path(self.trace)
        return bool(self.trace) and not (path_exists(path) or path_exists(path.with_name(f"{path.stem}.journal.jsonl")))

    @property
    def unfinished(self) -> bool:
        """Whether the run was cut off or found no solution, and no other run resumes it yet."""
        return self.status in _RESUMABLE_OUTCOMES and not self.resumed_by

    @property
    def resumable(self) -> str:
        """The option that resumes the run; empty if it is finished or has no trace or journal left."""
        return f"--resume {system.quote(self.trace)}" if self.trace and self.unfinished and not self.gone else ""

    @property
    def _outcome_in_trace(self) -> str:
        try:
            facts = read_facts(Path(self.trace), "run_id", "verdict") if self.trace else {}
        except OSError:
            return ""
        verdict = facts.get("verdict")
        stored = verdict.get("outcome") if facts.get("run_id") == self.id and isinstance(verdict, dict) else ""
        return next((outcome for outcome in get_args(Outcome) if outcome == stored), "")


_RUN: TypeAdapter[PastRun] = TypeAdapter(PastRun)


class HistoryStore:
    """The entries of all runs. Reading and writing them never raises, whatever happens to the disk or the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = SqliteStore(path, _MIGRATIONS)

    def write(self, run: PastRun) -> None:
        """Insert or replace the entry of a run. Waits longer for the final entry, which no later one can correct."""
        row = (run.id, run.started, _RUN.dump_json(run).decode())
        insert = "INSERT INTO runs VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body"
        self._file.attempt(
            lambda db: db.execute(insert, row), None, wait=LOCK_TIMEOUT if run.outcome else SHORT_LOCK_TIMEOUT
        )

    def rename(self, old: str, new: str) -> None:
        """Record that the trace at `old` has moved to `new`, in the entry of the newest run that wrote it."""
        if (run := next((run for run in self.all() if run.trace == old), None)) is not None:
            self.write(replace(run, trace=new, resumed_by=""))

    def limit(self, *, days: int, runs: int) -> None:
        """Remove entries older than `days` days, then all but the newest `runs` entries."""
        self._file.attempt(lambda db: _delete_excess(db, days, runs), 0, wait=SHORT_LOCK_TIMEOUT)

    def all(self, beside: Sequence[TraceSummary] = ()) -> list[PastRun]:
        """Return all runs, newest first. A trace that several runs name belongs to the newest of them.

        Traces that are no longer at their recorded path are looked for `beside`.
        """
        if not path_exists(self.path):
            return []
        rows: list[tuple[str]] = self._file.attempt(
            lambda db: db.execute("SELECT body FROM runs ORDER BY started DESC, rowid DESC").fetchall(),
            [],
            wait=SHORT_LOCK_TIMEOUT,
        )
        runs: list[PastRun] = []
        for (body,) in rows:
            with suppress(ValidationError):
                runs.append(_RUN.validate_json(body))
        owners = {run.trace: run.id for run in reversed(runs)}
        runs = [run if owners[run.trace] == run.id else replace(run, trace="") for run in runs]
        found = {trace.run: str(trace.path.absolute()) for trace in beside if trace.run}
        runs = [replace(run, trace=found[run.id]) if run.id in found and run.gone else run for run in runs]
        later = {run.resumes: run.id for run in reversed(runs) if run.resumes and run.trace and not run.gone}
        return [replace(run, resumed_by=later.get(run.id, "")) for run in runs]

    def lost(self) -> str:
        """Return a sentence if the file was found damaged; its entries are missing from `all`."""
        files = ", ".join(map(str, self._file.unsound()))
        return f"The history file was damaged and has been moved to {files}." if files else ""

    def problem(self) -> str:
        """Return why the file cannot be read; empty if it can be read or does not exist."""
        try:
            if path_exists(self.path):
                self._file.connect(SHORT_LOCK_TIMEOUT).close()
        except (OSError, sqlite3.Error) as error:
            return str(error)
        return ""

    def forget(self, ids: Collection[str]) -> int:
        """Remove the entries of these runs and return their number; raises OSError or sqlite3.Error, as do the next."""
        if not self.path.exists():
            return 0
        with closing(self._file.connect(LOCK_TIMEOUT)) as db, db:
            return _delete(db, ids)

    def clear(self) -> int:
        """Remove all entries and any damaged files; return the number of entries."""
        self.all()  # moves a damaged file out of the way
        self._file.forget_unsound()
        if not self.path.exists():
            return 0
        with closing(self._file.connect(LOCK_TIMEOUT)) as db, db:
            return db.execute("DELETE FROM runs WHERE 1").rowcount

    def prune(self, *, days: int, runs: int, beside: Sequence[TraceSummary] = ()) -> int:
        """Apply the limits, remove the entries of runs whose traces are gone, and return the number removed."""
        gone = [run.id for run in self.all(beside) if run.gone and run.status != RUNNING]
        if not self.path.exists():
            return 0
        with closing(self._file.connect(LOCK_TIMEOUT)) as db, db:
            return _delete_excess(db, days, runs) + _delete(db, gone)


def format_duration(seconds: float) -> str:
    """Format a duration in seconds as `0:07`, `12:05` or `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _delete_excess(db: sqlite3.Connection, days: int, runs: int) -> int:
    old = db.execute("DELETE FROM runs WHERE started < ?", (time.time() - days * DAY,)).rowcount
    newest = "SELECT id FROM runs ORDER BY started DESC, rowid DESC LIMIT ?"
    return old + db.execute(f"DELETE FROM runs WHERE id NOT IN ({newest})", (runs,)).rowcount


def _delete(db: sqlite3.Connection, ids: Collection[str]) -> int:
    return sum(db.execute("DELETE FROM runs WHERE id = ?", (id_,)).rowcount for id_ in ids)
