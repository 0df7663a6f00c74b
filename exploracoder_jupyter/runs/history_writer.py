"""Writes a run's entry in the history: created with its first event, and updated at each milestone.

Replays are not recorded, and neither are runs that were refused, or stopped before they had a trace. Errors of the
history never affect the run.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from exploracoder_jupyter.core.events import (
    CandidateObserved,
    LibraryRead,
    ModelCalled,
    PlanMade,
    Record,
    RunFinished,
    RunStarted,
    SolutionTested,
    SubtaskFinished,
)
from exploracoder_jupyter.core.process_id import ProcessId
from exploracoder_jupyter.core.run_history import HistoryStore, PastRun
from exploracoder_jupyter.core.settings import Settings
from exploracoder_jupyter.core.settings_sources import history_path
from exploracoder_jupyter.core.types import LibraryInfo
from exploracoder_jupyter.runs.event_recorder import Listener, TraceCreated
from exploracoder_jupyter.runs.run_request import Order
from exploracoder_jupyter.trace.cells.escaped_text import clip

_MAX_TASK = 160
_MAX_REASON = 300
_MAX_LIBRARIES = 20
_MILESTONES = (LibraryRead, PlanMade, SubtaskFinished, RunFinished)


class HistoryWriter:
    """Wraps a run's listeners, and keeps the run's history entry up to date."""

    def __init__(self, order: Order, settings: Settings, listen: Listener, begun: TraceCreated) -> None:
        self._listen, self._begun = listen, begun
        self._limits = settings.history
        self._line: PastRun | None = None
        self._store: HistoryStore | None = None
        if settings.history.keep and order.recording is None:
            self._store = HistoryStore(history_path())

    def listen(self, record: Record) -> None:
        """Update the entry from a record, and pass the record on."""
        with suppress(Exception):  # no error of the history may end the run
            self._update(record)
        self._listen(record)

    def trace_created(self, path: Path) -> None:
        """Store the path of the trace, and pass it on."""
        with suppress(Exception):
            if self._store and self._line:
                self._line = replace(self._line, trace=str(path))
                self._store.write(self._line)
        self._begun(path)

    def trace_renamed(self, old: Path, new: Path) -> None:
        """Update the entry of an earlier run whose trace was renamed."""
        with suppress(Exception):
            HistoryStore(history_path()).rename(str(old), str(new))

    def _update(self, record: Record) -> None:
        if self._store is None:
            return
        if isinstance(record.event, RunStarted):
            self._line = _first_entry(record.at, record.event)
            self._store.write(self._line)
            self._store.limit(days=self._limits.days, runs=self._limits.runs)
        elif self._line:
            self._line = _next_entry(self._line, record)
            if self._line.outcome == "stopped" and not self._line.trace:
                self._store.forget([self._line.id])
            elif isinstance(record.event, _MILESTONES):
                self._store.write(self._line)


def _first_entry(at: float, event: RunStarted) -> PastRun:
    names = [_clip(name, _MAX_TASK) for name in event.task.libraries[:_MAX_LIBRARIES]]
    task = _clip(event.task.text.strip().partition("\n")[0], _MAX_TASK)
    libraries = tuple(LibraryInfo(name, name, "") for name in names)
    return PastRun(event.run_id, at, at, ProcessId.own(), task, libraries, event.model, resumes=event.resumes)


def _next_entry(line: PastRun, record: Record) -> PastRun:
    line = replace(line, updated=record.at, seconds=round(record.at - line.started, 3))
    match record.event:
        case LibraryRead(libraries=libraries):
            return replace(line, libraries=libraries[:_MAX_LIBRARIES])
        case ModelCalled(exchange=exchange):
            usage = exchange.usage
            return replace(line, calls=line.calls + usage.calls, tokens=line.tokens + usage.tokens)
        case CandidateObserved():
            return replace(line, executions=line.executions + 1)
        case SolutionTested(results=results):
            return replace(line, executions=line.executions + len(results))
        case RunFinished() as event:
            return _final_entry(line, event)
        case _:
            return line


def _final_entry(line: PastRun, event: RunFinished) -> PastRun:
    """Add the verdict, and the run's own totals unless it was cut off and has none."""
    reason = _clip(event.verdict.reason, _MAX_REASON)
    line = replace(line, ended=line.updated, outcome=event.verdict.outcome, reason=reason)
    usage = event.usage
    if not usage.seconds:
        return line
    seconds = round(usage.seconds, 3)
    return replace(line, calls=usage.calls, tokens=usage.tokens, seconds=seconds, executions=usage.executions)


def _clip(text: str, most: int) -> str:
    """Put a text on one line, clipped, and encodable."""
    return clip(text, most).encode("utf-8", "replace").decode()
