"""Turns a run's events into records, and writes its trace and its entry in the history."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import history_path
from exploracoder_jupyter.core.errors import ExploraError, InternalError, UsageError, to_explora_error, unwrap_group
from exploracoder_jupyter.core.events import (
    Event,
    LibraryRead,
    ModelCalled,
    Notice,
    PlanMade,
    Progress,
    Record,
    RunFinished,
    RunStarted,
    SubtaskFinished,
)
from exploracoder_jupyter.core.history import HistoryStore, PastRun
from exploracoder_jupyter.core.process_id import ProcessId
from exploracoder_jupyter.core.run_state import RunState, fold
from exploracoder_jupyter.core.types import LibraryInfo, Usage, Verdict
from exploracoder_jupyter.pipeline.context import failure_notice
from exploracoder_jupyter.runs.order import Order, TraceLock
from exploracoder_jupyter.trace.file import Trace
from exploracoder_jupyter.trace.markdown import clip
from exploracoder_jupyter.trace.paths import (
    FOLDER,
    default_path,
    journal_path,
    notebook_path,
    prepare_path,
    resumed_path,
)
from exploracoder_jupyter.trace.reading import summarize_run
from exploracoder_jupyter.trace.redaction import Redactor

# Turns a run's events into numbered, timed records, writes them to the trace, and passes them to the listener.

Listener = Callable[[Record], None]
"""Called with every record."""

StateListener = Callable[[Record, RunState], None]
"""Called with every record, and the state of the run after it."""

TraceCreated = Callable[[Path], None]
"""Called with the path of the trace, once it exists."""

Summary = dict[str, JsonValue]
"""The object that `--json` prints."""

_PROGRESS_INTERVAL = 0.25
"""Minimum seconds between two reports of the same progress."""


class EventRecorder:
    """Records the events of a run. The trace is created once there is something worth keeping.

    Args:
        order: the run to record.
        settings: its settings.
        listen: called with every record and the state after it.
        on_trace_created: called with the path of the trace once it exists.
        renamed: called with the old and the new path if an earlier trace is renamed.
        hidden: strings (keys) that are redacted everywhere.

    Raises:
        UsageError: the trace cannot be written, or another run is writing it.
    """

    def __init__(
        self,
        order: Order,
        settings: Settings,
        listen: StateListener,
        *,
        on_trace_created: TraceCreated,
        renamed: Callable[[Path, Path], None] = lambda old, new: None,
        hidden: Sequence[str] = (),
    ) -> None:
        self._listen = listen
        self._on_trace_created = on_trace_created
        self._renamed = renamed
        self._redactor = Redactor(hidden)
        self.path = _choose_path(order, settings)
        """The path of the trace, whether or not it exists yet."""
        self._lock = TraceLock(self.path)
        self._trace: Trace | None = None
        self._last_progress = ("", 0.0)
        self._reported: set[str] = set()
        """What was reported already, and is not again."""
        self.records: list[Record] = []
        self.state = RunState()

    def __call__(self, event: Event) -> None:
        """Record one event of the run."""
        record = self._redactor.record(Record(len(self.records) + 1, time.time(), event))
        self.records.append(record)
        self.state = fold(self.state, record)
        if self._trace:
            self._trace.append(record)
        elif isinstance(event, LibraryRead) or (isinstance(event, ModelCalled) and event.exchange.replies):
            self._create_trace()  # a library was read, or a reply was paid for
        self._notify(record)
        if self._trace and (renamed := self._trace.renamed_trace):
            self._report("renamed", Notice(f"The earlier trace {self.path.name} was renamed to {renamed.name}."))
        if self.problem:  # e.g. the disk is full; the run continues
            self._report("problem", Notice(self.problem, "warning"))

    def _report(self, what: str, notice: Notice) -> None:
        """Record a notice once."""
        if what not in self._reported:
            self._reported.add(what)
            self(notice)

    def _notify(self, record: Record) -> None:
        """Pass the record to the listener. If the listener fails, the run continues; this is recorded once."""
        try:
            self._listen(record, self.state)
        except Exception as error:
            if not self.state.finished:
                notice = failure_notice("An internal error occurred while showing the run; it continues:", error)
                self._report("display", notice)

    def advance(self, what: str, done: int, total: int) -> None:
        """Report progress, at most a few times a second; it is shown but not recorded."""
        now = time.monotonic()
        if what == self._last_progress[0] and now - self._last_progress[1] < _PROGRESS_INTERVAL:
            return
        self._last_progress = (what, now)
        self._notify(Record(len(self.records), time.time(), Progress(self._redactor.text(what), done, total)))

    def fail(self, error: BaseException) -> ExploraError:
        """End the run with this error, and return it as an `ExploraError` whose remedy names the trace, if any.

        Secrets in its sentences are redacted: a notebook shows them too.
        """
        known = to_explora_error(error)
        if isinstance(known, InternalError) and self.records and not self.state.finished:
            self(failure_notice("An internal error ended the run:", unwrap_group(error)))
        self._finish(str(known))
        remedy = known.remedy
        if self._trace:
            results = (
                "The results so far and the traceback" if isinstance(known, InternalError) else "The results so far"
            )
            remedy = f"{remedy} {results} are in {self.path}; --resume continues from there.".strip()
        return type(known)(self._redactor.text(known.message), remedy=self._redactor.text(remedy))

    def _create_trace(self) -> None:
        self._trace = Trace(self.path)
        for record in self.records:
            self._trace.append(record)
        if self._trace.renamed_trace:
            self._renamed(self.path, self._trace.renamed_trace)
        self._on_trace_created(self.path)

    def close(self) -> None:
        """Finish the run if it was cut off, and close the trace."""
        self._finish("The run was stopped before it began to explore.")
        if self._trace:
            self._trace.close()
        self._lock.release()
        if self._trace:
            return
        with contextlib.suppress(OSError):  # the empty journal and folder that were prepared
            if journal_path(self.path).stat().st_size == 0:
                journal_path(self.path).unlink()
        with contextlib.suppress(OSError):
            if self.path.parent.name == FOLDER:
                self.path.parent.rmdir()

    def _finish(self, reason: str) -> None:
        if self.records and not self.state.finished:
            self(RunFinished(Verdict("stopped", reason), None, Usage()))

    @property
    def problem(self) -> str | None:
        """Why the trace on disk is not complete, if it is not."""
        return self._trace.problem if self._trace else None

    def summary(self) -> Summary:
        """Summarize the recorded events."""
        result = summarize_run(self.state, trace=self.path if self._trace else None)
        return result | {"trace_problem": self.problem} if self.problem else result


def _choose_path(order: Order, settings: Settings) -> Path:
    if settings.view.out is not None:
        path = prepare_path(Path(settings.view.out), folder=order.trace_folder or order.workdir)
        if order.earlier and path == notebook_path(order.earlier.trace):
            raise UsageError("--out names the trace that is resumed.", remedy="Name another path.")
        return path
    if order.earlier:
        return resumed_path(order.earlier.trace)
    repository = order.task.repository
    about = repository.target.rpartition("::")[2] if repository else order.task.libraries[0]
    return default_path(order.notebook or order.trace_folder or order.workdir, about, datetime.now())


# Writes a run's entry in the history: created with its first event, and updated at each milestone.
#
# Replays are not recorded, and neither are runs that were refused, or stopped before they had a trace. Errors of
# the history never affect the run.

_MAX_TASK = 160
_MAX_REASON = 300
_MAX_LIBRARIES = 20
_MILESTONES = (RunStarted, LibraryRead, PlanMade, SubtaskFinished, RunFinished)


class HistoryWriter:
    """Wraps a run's listeners, and keeps the run's history entry up to date."""

    def __init__(self, order: Order, settings: Settings, listen: StateListener, on_trace_created: TraceCreated) -> None:
        self._listen, self._on_trace_created = listen, on_trace_created
        self._limits = settings.history
        self._state = RunState()
        self._trace = ""
        self._store: HistoryStore | None = None
        if settings.history.keep and order.recording is None:
            self._store = HistoryStore(history_path())

    def listen(self, record: Record, state: RunState) -> None:
        """Update the entry from a record and the state after it, and pass both on."""
        self._state = state
        with suppress(Exception):  # no error of the history may end the run
            if isinstance(record.event, _MILESTONES):
                self._write()
            if self._store and isinstance(record.event, RunStarted):
                self._store.limit(days=self._limits.days, runs=self._limits.runs)
        self._listen(record, state)

    def trace_created(self, path: Path) -> None:
        """Store the path of the trace, and pass it on."""
        self._trace = str(path)
        with suppress(Exception):
            self._write()
        self._on_trace_created(path)

    def trace_renamed(self, old: Path, new: Path) -> None:
        """Update the entry of an earlier run whose trace was renamed."""
        with suppress(Exception):
            HistoryStore(history_path()).rename(str(old), str(new))

    def _write(self) -> None:
        started, verdict = self._state.started, self._state.verdict
        if self._store is None or started is None:
            return
        if verdict and verdict.outcome == "stopped" and not self._trace:
            self._store.forget([started.run_id])
        else:
            self._store.write(_entry(self._state, started, self._trace))


def _entry(state: RunState, started: RunStarted, trace: str) -> PastRun:
    """Return the entry of a run in this state, with the run's own totals unless it was cut off and has none."""
    verdict = state.verdict
    complete = verdict is not None and state.usage.seconds > 0
    usage = state.usage if complete else state.spent
    named = (clip(name, _MAX_TASK) for name in started.task.libraries)
    libraries = state.library.libraries if state.library else tuple(LibraryInfo(name, name, "") for name in named)
    return PastRun(
        started.run_id,
        state.started_at,
        state.now,
        ProcessId.own(),
        task=clip(started.task.text.strip().partition("\n")[0], _MAX_TASK),
        libraries=libraries[:_MAX_LIBRARIES],
        model=started.model,
        ended=state.now if verdict else None,
        outcome=verdict.outcome if verdict else "",
        reason=clip(verdict.reason, _MAX_REASON) if verdict else "",
        calls=usage.calls,
        tokens=usage.tokens,
        cost=usage.cost,
        currency=usage.currency,
        seconds=round(usage.seconds if complete else state.now - state.started_at, 3),
        executions=usage.executions,
        trace=trace,
        resumes=started.resumes,
    )
