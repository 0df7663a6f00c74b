"""From events to records: numbered, timed, journalled, and told to the listener."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import ExploraError, InternalError, UsageError, as_known, unwrapped
from exploracoder_jupyter.core.events import Event, LibraryRead, ModelCalled, Notice, Progress, Record, RunFinished
from exploracoder_jupyter.core.settings import Settings
from exploracoder_jupyter.core.types import Usage, Verdict
from exploracoder_jupyter.pipeline.heuristics import failure_notice
from exploracoder_jupyter.runs.run_order import Order
from exploracoder_jupyter.runs.trace_lock import Hold
from exploracoder_jupyter.trace.run_summary import summary
from exploracoder_jupyter.trace.sanitizing.record_redaction import Redactor
from exploracoder_jupyter.trace.trace_file import Trace
from exploracoder_jupyter.trace.trace_paths import (
    FOLDER,
    default_path,
    journal_path,
    notebook_path,
    prepare,
    resumed_path,
)

Listener = Callable[[Record], None]
"""Is told every record."""

Place = Callable[[Path], None]
"""Is told where the trace is, once it has begun."""

Renamed = Callable[[Path, Path], None]
"""Takes the old and the new path of an earlier trace."""

Summary = dict[str, JsonValue]
"""The object that `--json` prints."""

_PACE = 0.25
"""Seconds between two tellings of the same progress."""


class Teller:
    """Numbers and times the events and tells them; holds the trace back until there is a run to record.

    Raises UsageError where the trace cannot be written, or another run is writing it. `hidden` strings (keys) are told
    to nobody, wherever they turn up.
    """

    def __init__(
        self,
        order: Order,
        settings: Settings,
        listen: Listener,
        *,
        begun: Place,
        renamed: Renamed = lambda old, new: None,
        hidden: Sequence[str] = (),
    ) -> None:
        self._listen = listen
        self._begun = begun
        self._renamed = renamed
        self._hidden = tuple(hidden)
        self._redactor = Redactor(hidden)
        self._path = _place(order, settings)
        self._hold = Hold(self._path)
        self._trace: Trace | None = None
        self._advancing = ("", 0.0)
        self._named = False
        self._warned = False
        self._misshown = False
        self.records: list[Record] = []

    def __call__(self, event: Event) -> None:
        """Take one event of the run."""
        record = self._redactor.record(Record(len(self.records) + 1, time.time(), event))
        self.records.append(record)
        if self._trace:
            self._trace.append(record)
        elif _worth_keeping(event):
            self._keep()
        self._show(record)
        self._name_earlier()
        self._warn()

    def _name_earlier(self) -> None:
        """Say once where the trace is that was at this path before."""
        if self._trace and self._trace.earlier and not self._named:
            self._named = True
            self(Notice(f"The earlier trace {self._path.name} is kept as {self._trace.earlier.name}."))

    def _show(self, record: Record) -> None:
        """Pass the record on. A display that fails does not end the run: that is recorded once."""
        try:
            self._listen(record)
        except Exception as error:
            if not (self._misshown or self._finished):
                self._misshown = True
                self(failure_notice("An internal error occurred while showing the run; it continues:", error))

    def _warn(self) -> None:
        """Say once that the trace cannot be written, e.g. on a full disk; the run goes on."""
        if self._trace and self._trace.problem and not self._warned:
            self._warned = True
            self(Notice(self._trace.problem, "warning"))

    def advance(self, what: str, done: int, total: int) -> None:
        """Tell progress, a few times a second; it is shown and not kept."""
        now = time.monotonic()
        if what == self._advancing[0] and now - self._advancing[1] < _PACE:
            return
        self._advancing = (what, now)
        self._show(Record(len(self.records), time.time(), Progress(what, done, total)))

    def failed(self, error: BaseException) -> ExploraError:
        """End the run with this error; the error as one of ours, with the place of the trace in its remedy if there is
        one."""
        known = as_known(error)
        if isinstance(known, InternalError) and self.records and not self._finished:
            self(failure_notice("An internal error ended the run:", unwrapped(error)))
        self._finish(str(known))
        if not self._trace:
            return known
        where = f"What was learned is in {self._path}; --resume goes on from there."
        if isinstance(known, InternalError):
            where = f"The results so far and the traceback are in {self._path}; --resume continues from there."
        return type(known)(known.message, remedy=f"{known.remedy} {where}".strip())

    def _keep(self) -> None:
        self._trace = Trace(self._path, secrets=self._hidden)
        for record in self.records:
            self._trace.append(record)
        if self._trace.earlier:
            self._renamed(self._path, self._trace.earlier)
        self._begun(self._path)

    def close(self) -> None:
        """End a run that was cut off before its end, and the trace with it."""
        self._finish("The run was stopped before it began to explore.")
        if self._trace:
            self._trace.close()
        self._hold.release()
        if not self._trace:
            _leave_nothing(self._path)

    @property
    def _finished(self) -> bool:
        return any(isinstance(record.event, RunFinished) for record in self.records)

    def _finish(self, reason: str) -> None:
        """The last event, unless it has been told; without a first one there is no run to end."""
        if self.records and not self._finished:
            self(RunFinished(Verdict("stopped", reason), None, Usage()))

    @property
    def path(self) -> Path:
        """Where the trace is, or will be."""
        return self._path

    @property
    def problem(self) -> str | None:
        """Why the trace on disk is not complete, if it is not."""
        return self._trace.problem if self._trace else None

    def summary(self) -> Summary:
        """The summary of what was told."""
        told = summary(self.records, trace=self._path if self._trace else None)
        return told | {"trace_problem": self.problem} if self.problem else told


def _worth_keeping(event: Event) -> bool:
    """Whether from here on there is something to lose: a reply that was paid for, or a library that was read."""
    return isinstance(event, LibraryRead) or (isinstance(event, ModelCalled) and bool(event.exchange.replies))


def _place(order: Order, settings: Settings) -> Path:
    """Where the trace goes; it can be written there.

    Raises:
        UsageError: it cannot.
    """
    if settings.view.out is not None:
        path = prepare(Path(settings.view.out), folder=order.workdir)
        if order.earlier and path == notebook_path(order.earlier.trace):
            raise UsageError("--out names the trace that is resumed.", remedy="Name another path.")
        return path
    if order.earlier:
        return resumed_path(order.earlier.trace)
    return default_path(order.notebook or order.workdir, order.task.libraries[0], datetime.now())


def _leave_nothing(path: Path) -> None:
    """Take back what was prepared for a trace of which there is none."""
    with contextlib.suppress(OSError):
        if journal_path(path).stat().st_size == 0:
            journal_path(path).unlink()
    with contextlib.suppress(OSError):
        if path.parent.name == FOLDER:
            path.parent.rmdir()
