"""What was explored before, wherever that was: one line for each run, in a file of the user's that processes share.

A line is written when a run begins and again as it goes on, so one that died is still there; whether it did is seen
from its process. Lines go by age and number, and when they are asked to; traces are never touched.
"""

from __future__ import annotations

import shlex
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core.process_id import Process
from exploracoder_jupyter.core.settings import OFFLINE
from exploracoder_jupyter.core.sqlite_store import BRIEF_WAIT, WAIT, KeptFile
from exploracoder_jupyter.core.trace_peek import OlderTrace, facts_of, is_there
from exploracoder_jupyter.core.types import LibraryInfo, Outcome
from exploracoder_jupyter.core.wording import plural

RUNNING, CUT_OFF = "running", "cut off"
"""What a run without a verdict is."""
DAY = 86_400.0
_UNFINISHED = (CUT_OFF, "stopped", "unsolved")
"""How runs end that can be gone on from."""
_MIGRATIONS = (
    "CREATE TABLE runs (id TEXT PRIMARY KEY, started REAL NOT NULL, body TEXT NOT NULL)",
    "CREATE INDEX runs_started ON runs (started)",
)


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run, as far as it had come when its line was last written."""

    id: str
    started: float
    """Seconds since the epoch, as all moments here."""
    updated: float
    process: Process
    task: str
    """Its first line, clipped."""
    libraries: tuple[LibraryInfo, ...]
    """As they were asked for, without versions, until they were read."""
    model: str = ""
    ended: float | None = None
    outcome: str = ""
    """As in a verdict; empty until then."""
    reason: str = ""
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    """How long it took, or had taken."""
    executions: int = 0
    trace: str = ""
    """Absolute path; empty where none was begun."""
    resumes: str = ""
    """Id of the run that it goes on from."""
    resumed_by: str = ""
    """Id of the newest run that goes on from it, as far as the history knows."""

    @property
    def status(self) -> str:
        """Its outcome; else whether it runs or was cut off, which on another machine a day without news decides.

        The end of a run is in its trace before it is in its line, which it may never reach.
        """
        if self.outcome or (self.process.here and self.process.alive):
            return self.outcome or RUNNING
        recent = not self.process.here and time.time() - self.updated < DAY
        return self._recorded or (RUNNING if recent else CUT_OFF)

    @property
    def named(self) -> str:
        """Its libraries with their versions, for people."""
        return ", ".join(library.titled for library in self.libraries)

    @property
    def cost(self) -> str:
        """What it took, for people."""
        asked = self.calls and self.model != OFFLINE
        spent = f"{plural(self.calls, 'call')}, {plural(self.tokens, 'token')}, " if asked else ""
        return f"{spent}{plural(self.executions, 'execution')}, {clock(self.seconds)}"

    @property
    def gone(self) -> bool:
        """Whether it had a trace that is not there any more, nor the journal that a run cut off leaves beside it."""
        path = Path(self.trace)
        return bool(self.trace) and not (is_there(path) or is_there(path.with_name(f"{path.stem}.journal.jsonl")))

    @property
    def unfinished(self) -> bool:
        """Whether it ended without a solution, or before its end, and no run goes on from it yet."""
        return self.status in _UNFINISHED and not self.resumed_by

    @property
    def resumable(self) -> str:
        """The option that goes on from it, where it is unfinished and left something."""
        return f"--resume {shlex.quote(self.trace)}" if self.trace and self.unfinished and not self.gone else ""

    @property
    def _recorded(self) -> str:
        """The outcome that its trace tells."""
        try:
            facts = facts_of(Path(self.trace), "run_id", "verdict") if self.trace else {}
        except OSError:
            return ""
        verdict = facts.get("verdict")
        told = verdict.get("outcome") if facts.get("run_id") == self.id and isinstance(verdict, dict) else ""
        return next((outcome for outcome in get_args(Outcome) if outcome == told), "")


_RUN: TypeAdapter[PastRun] = TypeAdapter(PastRun)


class HistoryStore:
    """The lines of all runs. Reading and writing them raises nothing, whatever the disk or the file does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = KeptFile(path, _MIGRATIONS)

    def write(self, run: PastRun) -> None:
        """Write the line of a run, in place of the one that it has. The last one, which none follows, is waited for."""
        row = (run.id, run.started, _RUN.dump_json(run).decode())
        insert = "INSERT INTO runs VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body"
        self._file.attempt(lambda db: db.execute(insert, row), None, wait=WAIT if run.outcome else BRIEF_WAIT)

    def rename(self, old: str, new: str) -> None:
        """Note that the trace at `old` is at `new` now: that of the newest run that wrote it."""
        if (run := next((run for run in self.all() if run.trace == old), None)) is not None:
            self.write(replace(run, trace=new, resumed_by=""))

    def limit(self, *, days: int, runs: int) -> None:
        """Let the lines go that are older than so many days, then the oldest of more than so many runs."""
        self._file.attempt(lambda db: _limit(db, days, runs), 0, wait=BRIEF_WAIT)

    def all(self, beside: Sequence[OlderTrace] = ()) -> list[PastRun]:
        """All runs, the newest first. Where several name one trace, it is that of the newest.

        Args:
            beside: traces among which those are looked for that are not where they were.
        """
        if not is_there(self.path):
            return []
        rows: list[tuple[str]] = self._file.attempt(
            lambda db: db.execute("SELECT body FROM runs ORDER BY started DESC, rowid DESC").fetchall(),
            [],
            wait=BRIEF_WAIT,
        )
        runs = [run for (body,) in rows if (run := _run(body))]
        return _continued(_placed(runs, {trace.run: str(trace.path.absolute()) for trace in beside if trace.run}))

    def lost(self) -> str:
        """A sentence, where the file was found damaged; what it held is not in `all`."""
        files = ", ".join(map(str, self._file.unsound()))
        return f"The history was damaged; what it held was set aside: {files}." if files else ""

    def problem(self) -> str:
        """Why nothing can be read; empty where it can, or there is nothing."""
        try:
            if is_there(self.path):
                self._file.connect(BRIEF_WAIT).close()
        except (OSError, sqlite3.Error) as error:
            return str(error)
        return ""

    def forget(self, ids: Collection[str]) -> int:
        """Remove the lines of these runs; how many there were.

        Raises:
            OSError, sqlite3.Error: they could not be removed.
        """
        if not self.path.exists():
            return 0
        with closing(self._file.connect(WAIT)) as db, db:
            return _delete(db, ids)

    def clear(self) -> int:
        """Remove all lines, and files that were set aside; how many lines that were.

        Raises:
            OSError, sqlite3.Error: they could not be removed.
        """
        self.all()  # which sets an unsound file aside
        self._file.forget_unsound()
        if not self.path.exists():
            return 0
        with closing(self._file.connect(WAIT)) as db, db:
            return db.execute("DELETE FROM runs WHERE 1").rowcount

    def prune(self, *, days: int, runs: int, beside: Sequence[OlderTrace] = ()) -> int:
        """Apply the limits now, and remove the lines of runs whose traces are gone; how many lines that were.

        Args:
            days: how old a line may be.
            runs: how many lines there may be.
            beside: traces among which those are looked for that are not where they were.

        Raises:
            OSError, sqlite3.Error: they could not be removed.
        """
        gone = [run.id for run in self.all(beside) if run.gone and run.status != RUNNING]
        if not self.path.exists():
            return 0
        with closing(self._file.connect(WAIT)) as db, db:
            return _limit(db, days, runs) + _delete(db, gone)


def clock(seconds: float) -> str:
    """A span of time as `0:07`, `12:05` or `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


def _placed(runs: Sequence[PastRun], found: Mapping[str, str]) -> list[PastRun]:
    """The runs with the traces that are theirs, where those are now; `found` has paths by the ids of runs."""
    owners = {run.trace: run.id for run in reversed(runs)}
    own = [run if owners[run.trace] == run.id else replace(run, trace="") for run in runs]
    return [replace(run, trace=found[run.id]) if run.id in found and run.gone else run for run in own]


def _continued(runs: Sequence[PastRun]) -> list[PastRun]:
    """The runs, each with the newest one that goes on from it and has something to show for it."""
    later = {run.resumes: run.id for run in reversed(runs) if run.resumes and run.trace and not run.gone}
    return [replace(run, resumed_by=later.get(run.id, "")) for run in runs]


def _limit(db: sqlite3.Connection, days: int, runs: int) -> int:
    old = db.execute("DELETE FROM runs WHERE started < ?", (time.time() - days * DAY,)).rowcount
    newest = "SELECT id FROM runs ORDER BY started DESC, rowid DESC LIMIT ?"
    return old + db.execute(f"DELETE FROM runs WHERE id NOT IN ({newest})", (runs,)).rowcount


def _delete(db: sqlite3.Connection, ids: Collection[str]) -> int:
    return sum(db.execute("DELETE FROM runs WHERE id = ?", (id_,)).rowcount for id_ in ids)


def _run(body: str) -> PastRun | None:
    try:
        return _RUN.validate_json(body)
    except ValidationError:
        return None
