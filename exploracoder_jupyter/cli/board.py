"""What a terminal shows of a run, as a fold over its records.

`Board.apply` takes records in order and keeps the rows of the plan, the candidates with their outcomes, the cost and
the verdict. It knows nothing of terminals: `live` draws it, `lines` reads titles from it, tests compare it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from exploracoder_jupyter.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Estimated,
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
    SubtaskStarted,
)
from exploracoder_jupyter.types import (
    Candidate,
    LibraryInfo,
    Observation,
    Status,
    Subtask,
    SubtaskStatus,
    Usage,
    Verdict,
)

Fate = Status | Literal["running", "duplicate", "no code"]
"""How a candidate stands: its execution's status, or why there was none."""


@dataclass(slots=True)
class Tried:
    """One candidate on the board."""

    id: str
    fate: Fate
    headline: str = ""
    """The error, or what was wrong, on one line."""
    selected: bool = False


@dataclass(slots=True)
class Row:
    """One subtask on the board, or the solution."""

    id: str
    title: str
    status: SubtaskStatus = "planned"
    tried: list[Tried] = field(default_factory=list)


@dataclass(slots=True)
class Board:
    """Everything shown while a run is under way."""

    model: str = ""
    isolation: str = ""
    libraries: tuple[LibraryInfo, ...] = ()
    apis: int = 0
    rows: list[Row] = field(default_factory=list)
    solutions: Row = field(default_factory=lambda: Row("solution", "Solution"))
    activity: str = "Starting"
    notices: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    estimate: Estimated | None = None
    verdict: Verdict | None = None
    began: float = 0.0
    """Time of the first record, in seconds since the epoch."""

    def apply(self, record: Record) -> None:
        """Take the next record."""
        self.began = self.began or record.at
        self._apply(record.event)

    def row(self, id: str) -> Row | None:
        """The row of a subtask, or of the solution."""
        return next((row for row in [*self.rows, self.solutions] if row.id == id), None)

    def title(self, subtask: str) -> str:
        """A subtask's title; empty for one that is not planned."""
        row = self.row(subtask)
        return row.title if row else ""

    def _apply(self, event: Event) -> None:
        match event:
            case RunStarted():
                self.model, self.isolation = event.model, event.environment.isolation
            case Progress():
                self.activity = _progress(event)
            case Notice():
                self.notices.append(event.text)
            case LibraryRead():
                self.libraries, self.apis, self.activity = event.libraries, event.apis, "Planning"
            case Estimated():
                self.estimate = event
            case PlanMade():
                self.rows = [self._planned(subtask) for subtask in event.plan.subtasks]
            case SubtaskStarted():
                self._begin(event.subtask)
            case CandidateProposed():
                self._propose(event.candidate)
            case CandidateObserved():
                self._observe(event.candidate, event.observation)
            case CandidateSelected():
                self._select(event.selection.candidate)
            case SubtaskFinished():
                self._finish(event.subtask, event.status)
            case ModelCalled():
                self.usage = self.usage + event.exchange.usage
            case RunFinished():
                self._end(event)

    def _planned(self, subtask: Subtask) -> Row:
        known = self.row(subtask.id)
        return replace(known, title=subtask.title) if known else Row(subtask.id, subtask.title)

    def _begin(self, subtask: str) -> None:
        row = self.row(subtask)
        if row:
            row.status, self.activity = "exploring", f"Exploring subtask {subtask}"

    def _propose(self, candidate: Candidate) -> None:
        row = self.row(candidate.subtask)
        if row is None:
            return
        if row is self.solutions:
            row.status, self.activity = "exploring", "Assembling the solution"
        fate: Fate = "no code" if candidate.problem else "duplicate" if candidate.duplicate_of else "running"
        row.tried.append(Tried(candidate.id, fate, candidate.problem or ""))

    def _observe(self, candidate: str, observation: Observation) -> None:
        self.usage = self.usage + Usage(executions=1)
        for tried in self._each(candidate):
            tried.fate, tried.headline = observation.status, why(observation)

    def _select(self, candidate: str) -> None:
        for tried in self._each(candidate):
            tried.selected = True

    def _finish(self, subtask: str, status: SubtaskStatus) -> None:
        row = self.row(subtask)
        if row:
            row.status = status

    def _end(self, event: RunFinished) -> None:
        self.usage, self.verdict, self.activity = event.usage, event.verdict, ""
        if self.solutions.tried:
            self.solutions.status = "done" if event.verdict.outcome in ("solved", "unchecked") else "failed"

    def _each(self, candidate: str) -> Iterator[Tried]:
        rows = [*self.rows, self.solutions]
        return (tried for row in rows for tried in row.tried if tried.id == candidate)


def why(observation: Observation) -> str:
    """What went wrong, on one line; empty if nothing did."""
    if observation.ran:
        return ""
    return observation.note or (observation.error.headline if observation.error else "")


def _progress(event: Progress) -> str:
    return f"{event.what} ({event.done:,} of {event.total:,})" if event.total else event.what
