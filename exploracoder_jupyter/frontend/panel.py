"""The state of a run as the panel shows it: a fold over the run's records.

`fold(state, record)` is pure, so the panel can be tested, replayed and rendered in any way (`frontend.render`).
Nothing here knows of IPython.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from pydantic import JsonValue

from exploracoder_jupyter.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Estimated,
    FilesKept,
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
from exploracoder_jupyter.types import Candidate, Observation, Outcome, Plan, Status, SubtaskStatus, Usage, Verdict

CandidateState = Literal["running", "not finished", "duplicate", "no code"] | Status
SOLUTION = "solution"
"""The id of the row that collects the attempts at a solution."""


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One snippet: what became of it."""

    id: str
    state: CandidateState
    note: str = ""
    """Why it did not run to its end, on one line."""


@dataclass(frozen=True, slots=True)
class SubtaskRow:
    """One step of the plan, with its candidates in the order of their appearance."""

    id: str
    title: str
    status: SubtaskStatus = "planned"
    reason: str = ""
    candidates: tuple[CandidateRow, ...] = ()
    selected: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """Everything that the panel shows."""

    libraries: tuple[str, ...] = ()
    task: str = ""
    model: str = ""
    isolation: str = ""
    """How experiments are confined, and in what state they start."""
    run_id: str = ""
    started: float | None = None
    """Seconds since the epoch."""
    last: float | None = None
    """Time of the newest record, or of the end where no record tells it."""
    activity: str = "Starting."
    """What is being done now, one sentence."""
    subtasks: tuple[SubtaskRow, ...] = ()
    solution_row: SubtaskRow = SubtaskRow(SOLUTION, "Solution")
    notices: tuple[str, ...] = ()
    estimate: str = ""
    usage: Usage = field(default_factory=Usage)
    verdict: Verdict | None = None
    solution: str | None = None
    """Code of the solution, if there is one to offer; that of a stopped run says that it was not run as a whole."""
    trace: str | None = None
    """Path of the trace notebook."""
    files: FilesKept | None = None
    """What the solution wrote, if it was kept."""
    failure: str = ""
    """Why there was no run, or why it broke off: one sentence."""

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.verdict is not None or bool(self.failure)


def fold(state: State, record: Record) -> State:
    """The state after one more record. Records that the panel does not show change only the time."""
    event = record.event
    state = replace(state, last=record.at)
    match event:
        case RunStarted():
            return replace(
                state,
                run_id=event.run_id,
                libraries=event.task.libraries,
                task=event.task.text,
                model=event.model,
                isolation=event.environment.confinement,
                started=record.at,
                activity="Reading the libraries.",
            )
        case Progress():
            share = f" ({event.done} of {event.total})" if event.total else f" ({event.done})" if event.done else ""
            return replace(state, activity=f"{event.what}{share}")
        case Notice():
            return replace(state, notices=(*state.notices, event.text))
        case LibraryRead():
            return replace(state, activity=f"{event.apis} APIs known; planning.")
        case Estimated():
            return replace(state, estimate=f"{event} expected")
        case PlanMade():
            return replace(state, subtasks=_planned(state, event.plan), activity="Planned.")
        case FilesKept():
            return replace(state, files=event)
        case RunFinished():
            return _ended(state, event)
        case ModelCalled():
            return replace(state, usage=state.usage + event.exchange.usage)
        case _:
            return _fold_step(state, event)


def finished(state: State, summary: Mapping[str, JsonValue]) -> State:
    """The state after the engine's summary, which knows the path of the trace."""
    trace, solution = summary.get("trace"), summary.get("solution")
    verdict = state.verdict or _verdict(summary)
    return replace(
        _closed(state) if verdict else state,
        trace=str(trace) if trace else state.trace,
        solution=offered(solution, verdict) if isinstance(solution, str) and verdict else state.solution,
        verdict=verdict,
    )


def begun(state: State, trace: str) -> State:
    """The state once a trace is being written."""
    return replace(state, trace=trace)


def failed(state: State, reason: str, *, at: float) -> State:
    """The state of a run that could not be made, or that broke off `at` this time (seconds since the epoch).

    The reason names the trace if there is one.
    """
    if state.trace and state.trace not in reason:
        reason = f"{reason} What was learned is in {state.trace}."
    last = state.last if state.verdict else at
    return replace(_closed(state), failure=reason, activity=reason, last=last)


def offered(code: str | None, verdict: Verdict) -> str | None:
    """The code that may be handed to the user: none that failed, and joined snippets with a word on what they are."""
    if not code or verdict.outcome == "unsolved":
        return None
    if verdict.outcome == "stopped":
        return f"# not run as a whole: {' '.join(verdict.reason.split())}\n{code}"
    return code


def _fold_step(state: State, event: object) -> State:
    match event:
        case SubtaskStarted():
            row = _row(state, event.subtask)
            return _put(replace(state, activity=_where(state, row)), replace(row, status="exploring"))
        case CandidateProposed():
            return _proposed(state, event.candidate)
        case CandidateObserved():
            usage = state.usage + Usage(executions=1)
            return _observed(replace(state, usage=usage), event.candidate, event.observation)
        case CandidateSelected():
            row = _row(state, event.selection.subtask)
            return _put(state, replace(row, selected=event.selection.candidate))
        case SubtaskFinished():
            row = _row(state, event.subtask)
            return _put(state, replace(row, status=event.status, reason=event.reason))
        case _:
            return state


def _planned(state: State, plan: Plan) -> tuple[SubtaskRow, ...]:
    """A revised plan keeps what is known of the subtasks that stay."""
    known = {row.id: row for row in state.subtasks}
    return tuple(
        replace(known.get(subtask.id, SubtaskRow(subtask.id, "")), title=subtask.title) for subtask in plan.subtasks
    )


def _ended(state: State, event: RunFinished) -> State:
    code = offered(event.solution.code if event.solution else None, event.verdict)
    stopped = event.verdict.outcome == "stopped"
    row = state.solution_row if stopped else replace(state.solution_row, status="done" if code else "failed")
    state = replace(state, verdict=event.verdict, solution=code, usage=event.usage, solution_row=row)
    return _closed(state)


def _closed(state: State) -> State:
    """Nothing runs any more: what was running has not finished."""
    subtasks = tuple(_without_running(row) for row in state.subtasks)
    return replace(state, subtasks=subtasks, solution_row=_without_running(state.solution_row))


def _without_running(row: SubtaskRow) -> SubtaskRow:
    ended = (replace(one, state="not finished") if one.state == "running" else one for one in row.candidates)
    return replace(row, candidates=tuple(ended))


def _proposed(state: State, candidate: Candidate) -> State:
    row = _row(state, candidate.subtask)
    shown = CandidateRow(candidate.id, *_before_running(candidate))
    if row.id == SOLUTION:
        state = replace(state, activity=f"Trying solution {candidate.id}.")
        row = replace(row, status="exploring")
    return _put(state, replace(row, candidates=(*row.candidates, shown)))


def _before_running(candidate: Candidate) -> tuple[CandidateState, str]:
    if candidate.problem:
        return "no code", candidate.problem
    if candidate.duplicate_of:
        return "duplicate", f"same as {candidate.duplicate_of}"
    return "running", ""


def _observed(state: State, candidate: str, observation: Observation) -> State:
    note = observation.error.headline if observation.error else observation.note
    seen = CandidateRow(candidate, observation.status, "" if observation.ran else note)
    for row in (*state.subtasks, state.solution_row):
        if any(known.id == candidate for known in row.candidates):
            rows = tuple(seen if known.id == candidate else known for known in row.candidates)
            return _put(state, replace(row, candidates=rows))
    return state


def _where(state: State, row: SubtaskRow) -> str:
    """Its place is counted, for ids are never reused and may exceed the number of subtasks."""
    place = next((n for n, known in enumerate(state.subtasks, 1) if known.id == row.id), len(state.subtasks))
    return f"Subtask {place} of {len(state.subtasks)}: {row.title}"


def _row(state: State, subtask: str) -> SubtaskRow:
    if subtask == SOLUTION:
        return state.solution_row
    return next((row for row in state.subtasks if row.id == subtask), SubtaskRow(subtask, ""))


def _put(state: State, row: SubtaskRow) -> State:
    """A row of a subtask that the plan no longer holds is dropped."""
    if row.id == SOLUTION:
        return replace(state, solution_row=row)
    return replace(state, subtasks=tuple(row if known.id == row.id else known for known in state.subtasks))


def _verdict(summary: Mapping[str, JsonValue]) -> Verdict | None:
    status, reason = summary.get("status"), summary.get("reason")
    outcome = next((known for known in get_args(Outcome) if known == status), None)
    return Verdict(outcome, str(reason or "")) if outcome else None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
