"""Writes a run's entry in the history: created with its first event, and updated at each milestone.

Replays are not recorded, and neither are runs that were refused, or stopped before they had a trace. Errors of the
history never affect the run.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.settings_sources import history_path
from exploracoder_jupyter.core.events import (
    LibraryRead,
    PlanMade,
    Record,
    RunFinished,
    RunStarted,
    SubtaskFinished,
)
from exploracoder_jupyter.core.process_id import ProcessId
from exploracoder_jupyter.core.run_history import HistoryStore, PastRun
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import LibraryInfo
from exploracoder_jupyter.runs.event_recorder import StateListener, TraceCreated
from exploracoder_jupyter.runs.order import Order
from exploracoder_jupyter.trace.cells.escaped_text import clip

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
