"""The state of a run as the panel and the sidebar show it: a fold over the run's records.

`fold(state, record)` is pure, so it can be tested, replayed and rendered in different ways
(`frontend.panel.panel_html`, `frontend.browser.sidebar_view`). This module does not depend on IPython.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict, get_args

from pydantic import JsonValue

from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Estimated,
    FilesKept,
    InputsInvented,
    KnowledgeSearched,
    LibraryRead,
    ModelCalled,
    Notice,
    PlanMade,
    Progress,
    Record,
    ReviewAsked,
    RunFinished,
    RunStarted,
    SolutionJudged,
    SolutionTested,
    Steered,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.core.settings import OFFLINE
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    Observation,
    Outcome,
    Plan,
    Selection,
    Status,
    SubtaskStatus,
    Usage,
    Verdict,
)
from exploracoder_jupyter.core.wording import plural


class _Budget(TypedDict):
    budget_tokens: int | None
    budget_seconds: float | None


CandidateState = Literal["running", "not finished", "duplicate", "no code", "check failed"] | Status
_CHECK_FAILED = "The program ran, but the check"
"""How the note begins for a program that ran to its end and did not give what its check requires."""
SOLUTION = "solution"
"""The id of the row for the attempts at a solution."""


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """One snippet and its outcome."""

    id: str
    state: CandidateState
    note: str = ""
    """Why it did not run to its end, on one line."""
    code: str = ""
    round: int = 0
    """0 for a first attempt, r for debug round r."""
    repairs: str | None = None
    """Id of the failed candidate that this one repairs."""
    seconds: float | None = None
    shown: str = ""
    """The first line of its output or value."""
    apis: tuple[str, ...] = ()
    """Paths of the APIs that it actually calls."""
    judged: str = ""
    """The judgement of its outputs on generated inputs: `judged wrong: ...`."""


@dataclass(frozen=True, slots=True)
class SubtaskRow:
    """One step of the plan, with its candidates in order of appearance."""

    id: str
    title: str
    status: SubtaskStatus = "planned"
    reason: str = ""
    candidates: tuple[CandidateRow, ...] = ()
    selected: str | None = None
    why: tuple[str, ...] = ()
    """Why the selected candidate was selected."""
    apis: tuple[ApiDoc, ...] = ()
    """The APIs recommended for it."""
    hint: str = ""
    """The user's hint for the latest retry."""


@dataclass(frozen=True, slots=True)
class State:
    """Everything that is shown about a run."""

    libraries: tuple[str, ...] = ()
    task: str = ""
    model: str = ""
    isolation: str = ""
    """How experiments are confined, and in which state they start."""
    run_id: str = ""
    started: float | None = None
    """Seconds since the epoch."""
    last: float | None = None
    """Time of the newest record, or of the end if no record has it."""
    waited: float = 0.0
    """Seconds that the run has waited for the user, without the present wait since `waiting_since`."""
    waiting_since: float | None = None
    """When the present wait for the user began."""
    activity: str = "Starting."
    """The current activity, one sentence."""
    subtasks: tuple[SubtaskRow, ...] = ()
    solution_row: SubtaskRow = SubtaskRow(SOLUTION, "Solution")
    notices: tuple[str, ...] = ()
    estimate: str = ""
    budget_tokens: int | None = None
    budget_seconds: float | None = None
    usage: Usage = field(default_factory=Usage)
    verdict: Verdict | None = None
    solution: str | None = None
    """Code of the solution, if it can be offered; for a stopped run it states that it was not run as a whole."""
    trace: str | None = None
    """Path of the trace notebook."""
    files: FilesKept | None = None
    """The files that the solution wrote, if they were kept."""
    failure: str = ""
    """Why the run could not be made or broke off: one sentence."""
    stopped: bool = False
    """Whether it broke off because the user stopped it."""

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.verdict is not None or bool(self.failure)

    @property
    def broken(self) -> bool:
        """Whether the run failed without being stopped by the user."""
        return bool(self.failure) and not self.stopped

    @property
    def reviewing(self) -> bool:
        """Whether the plan is waiting for the user's review."""
        return self.waiting_since is not None

    def seconds(self, now: float) -> float:
        """Return how long the run took, or has taken until `now`, without waiting for the user.

        The run's own time starts later than `started`; the final value is never lower than one shown before.
        """
        counted = self.usage.seconds if self.verdict else 0.0
        if self.started is None:
            return counted
        until = (self.last or self.started) if self.over else self.waiting_since or now
        return max(counted, until - self.started - self.waited)

    def find(self, candidate_id: str) -> tuple[SubtaskRow, CandidateRow] | tuple[None, None]:
        """Return the candidate with this id, and its subtask or the solution row."""
        for row in (*self.subtasks, self.solution_row):
            for candidate in row.candidates:
                if candidate.id == candidate_id:
                    return row, candidate
        return None, None


def fold(state: State, record: Record) -> State:
    """Return the state after one more record. Records that the panel does not show change only the time."""
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
                **_budget(event.settings),
                started=state.started or record.at,
                activity="Reading the libraries.",
            )
        case Progress():
            share = f" ({event.done} of {event.total})" if event.total else f" ({event.done})" if event.done else ""
            return replace(state, activity=f"{event.what}{share}")
        case Notice():
            return replace(state, notices=(*state.notices, event.text))
        case LibraryRead():
            return replace(state, activity=f"{plural(event.apis, 'API')} known; planning.")
        case Estimated():
            return replace(state, estimate=str(event))
        case PlanMade():
            return replace(state, subtasks=_plan_rows(state, event.plan), activity="Planned.")
        case ReviewAsked():
            return replace(state, waiting_since=record.at, activity="The plan is waiting for your review.")
        case Steered():
            return _apply_control(_end_wait(state) if event.what == "replan" else state, event)
        case FilesKept():
            return replace(state, files=event)
        case RunFinished():
            return _finish(state, event)
        case ModelCalled():
            return replace(state, usage=state.usage + event.exchange.usage)
        case _:
            return _fold_step(state, event)


def with_summary(state: State, summary: Mapping[str, JsonValue]) -> State:
    """Return the state after the engine's summary, which has the path of the trace."""
    trace, solution = summary.get("trace"), summary.get("solution")
    verdict = state.verdict or _verdict_from_summary(summary)
    return replace(
        _close(state) if verdict else state,
        trace=str(trace) if trace else state.trace,
        solution=offered_code(solution, verdict) if isinstance(solution, str) and verdict else state.solution,
        verdict=verdict,
    )


def with_trace(state: State, trace: str) -> State:
    """Return the state with the path of the trace, once that is being written."""
    return replace(state, trace=trace)


def with_failure(state: State, reason: str, *, at: float, stopped: bool = False) -> State:
    """Return the state of a run that could not be made, or that broke off `at` this time (seconds since the epoch).

    `stopped` is set if the user stopped it. The reason names the trace if there is one.
    """
    if state.trace and state.trace not in reason:
        reason = f"{reason} The results so far are in {state.trace}; --resume continues from there."
    ended = _close(replace(state, last=state.last if state.verdict else at))
    return replace(ended, failure=reason, activity=reason, stopped=stopped)


def offered_code(code: str | None, verdict: Verdict) -> str | None:
    """Return code that may be offered to the user: none that failed, and joined snippets with a comment about them."""
    if not code or verdict.outcome == "unsolved":
        return None
    if verdict.outcome == "stopped":
        return f"# not run as a whole: {' '.join(verdict.reason.split())}\n{code}"
    return code


def _fold_step(state: State, event: object) -> State:
    match event:
        case SubtaskStarted():
            row = _find_row(state, event.subtask)
            apis = tuple(scored.api for scored in event.apis)
            return _replace_row(
                replace(state, activity=_describe_subtask(state, row)), replace(row, status="exploring", apis=apis)
            )
        case CandidateProposed():
            return _add_candidate(state, event.candidate)
        case CandidateObserved():
            usage = state.usage + Usage(executions=1)
            return _update_candidate(replace(state, usage=usage), event)
        case CandidateSelected():
            return _apply_selection(state, event.selection)
        case KnowledgeSearched():
            repair = f"Repairing {event.subject} with the results of another search."
            return replace(state, activity=repair) if event.round else state
        case InputsInvented():
            return replace(state, activity=f"Testing the solution on {plural(len(event.inputs), 'generated input')}.")
        case SolutionTested():
            usage = state.usage + Usage(executions=len(event.results))
            return replace(state, usage=usage, activity=f"Judging the outputs of solution {event.candidate}.")
        case SolutionJudged():
            return _add_judgement(state, event)
        case SubtaskFinished():
            row = _find_row(state, event.subtask)
            return _start_solution_if_done(_replace_row(state, replace(row, status=event.status, reason=event.reason)))
        case _:
            return state


def _start_solution_if_done(state: State) -> State:
    """After the last subtask the model writes the solution, which no event announces before it is done."""
    waiting = any(row.status in ("planned", "exploring") for row in state.subtasks)
    return state if waiting else replace(state, activity="Writing the solution.")


def _budget(settings: Mapping[str, JsonValue]) -> _Budget:
    budget = settings.get("budget")
    limits = budget if isinstance(budget, dict) else {}
    tokens, seconds = limits.get("tokens"), limits.get("seconds")
    return {
        "budget_tokens": tokens if isinstance(tokens, int) else None,
        "budget_seconds": float(seconds) if isinstance(seconds, int | float) else None,
    }


def _apply_control(state: State, event: Steered) -> State:
    """Reset the subtasks that a retry or another choice invalidates; later records report the rest."""
    if event.what not in ("retry", "choose"):
        return state
    ids = [row.id for row in state.subtasks]
    if event.subtask not in ids:
        return state
    first = ids.index(event.subtask)
    again = replace(_reset(state.subtasks[first]), status="exploring", hint=event.hint)
    rows = (*state.subtasks[:first], again, *map(_reset, state.subtasks[first + 1 :]))
    state = replace(state, subtasks=rows, solution_row=_reset(state.solution_row))
    return replace(state, activity=_describe_subtask(state, again))


def _reset(row: SubtaskRow) -> SubtaskRow:
    """Set the row back to planned; its candidates stay."""
    return replace(_finish_candidates(row), status="planned", reason="", selected=None, why=(), hint="")


def _apply_selection(state: State, selection: Selection) -> State:
    row = _find_row(state, selection.subtask)
    return _replace_row(state, replace(row, selected=selection.candidate, why=selection.reasons))


def _plan_rows(state: State, plan: Plan) -> tuple[SubtaskRow, ...]:
    """Return the rows of a plan; a revised plan keeps what is known about the subtasks that stay."""
    rows = {row.id: row for row in state.subtasks}
    return tuple(
        replace(rows.get(subtask.id, SubtaskRow(subtask.id, "")), title=subtask.title) for subtask in plan.subtasks
    )


def _finish(state: State, event: RunFinished) -> State:
    code = offered_code(event.solution.code if event.solution else None, event.verdict)
    stopped = event.verdict.outcome == "stopped"
    row = state.solution_row if stopped else replace(state.solution_row, status="done" if code else "failed")
    state = replace(state, verdict=event.verdict, solution=code, usage=event.usage, solution_row=row)
    return _close(state)


def _close(state: State) -> State:
    """Close the run: what was still running is marked as not finished."""
    subtasks = tuple(_finish_candidates(row) for row in state.subtasks)
    return replace(_end_wait(state), subtasks=subtasks, solution_row=_finish_candidates(state.solution_row))


def _end_wait(state: State) -> State:
    """End the wait for the user."""
    if state.waiting_since is None:
        return state
    span = max(0.0, (state.last or state.waiting_since) - state.waiting_since)
    return replace(state, waited=state.waited + span, waiting_since=None)


def _finish_candidates(row: SubtaskRow) -> SubtaskRow:
    ended = (
        replace(candidate, state="not finished") if candidate.state == "running" else candidate
        for candidate in row.candidates
    )
    return replace(row, candidates=tuple(ended))


def _add_candidate(state: State, candidate: Candidate) -> State:
    row = _find_row(state, candidate.subtask)
    initial_state, note = _initial_state(candidate)
    shown = CandidateRow(
        candidate.id, initial_state, note, code=candidate.code, round=candidate.round, repairs=candidate.repairs
    )
    if row.id == SOLUTION:
        state = replace(state, activity=f"Trying solution {candidate.id}.")
        row = replace(row, status="exploring")
    return _replace_row(state, replace(row, candidates=(*row.candidates, shown)))


def _initial_state(candidate: Candidate) -> tuple[CandidateState, str]:
    if candidate.problem:
        return "no code", candidate.problem
    if candidate.duplicate_of:
        return "duplicate", f"same as {candidate.duplicate_of}"
    return "running", ""


def _update_candidate(state: State, event: CandidateObserved) -> State:
    row, target = state.find(event.candidate)
    if row is None:
        return state
    rows = (_with_observation(candidate, event) if candidate is target else candidate for candidate in row.candidates)
    return _replace_row(state, replace(row, candidates=tuple(rows)))


def _with_observation(row: CandidateRow, event: CandidateObserved) -> CandidateRow:
    observation = event.observation
    return replace(
        row,
        state="check failed"
        if observation.status == "error" and observation.note.startswith(_CHECK_FAILED)
        else observation.status,
        note="" if observation.ran else _problem(observation),
        seconds=observation.seconds,
        shown=next((line.strip() for line in observation.text.splitlines() if line.strip()), ""),
        apis=event.apis,
    )


def _problem(observation: Observation) -> str:
    return observation.error.headline if observation.error else observation.note


def _add_judgement(state: State, event: SolutionJudged) -> State:
    row, target = state.find(event.candidate)
    judged = f"judged {event.judgement.summary}"
    if row is None:
        return state
    rows = (replace(candidate, judged=judged) if candidate is target else candidate for candidate in row.candidates)
    return replace(
        _replace_row(state, replace(row, candidates=tuple(rows))), activity=f"Solution {event.candidate} is {judged}."
    )


def _describe_subtask(state: State, row: SubtaskRow) -> str:
    """Return the subtask's position and title; ids are never reused, so a position may differ from its id."""
    position = next((n for n, other in enumerate(state.subtasks, 1) if other.id == row.id), len(state.subtasks))
    count = f"{position} of {len(state.subtasks)}"
    return f"Subtask {count if row.id == str(position) else f'{row.id} ({count})'}: {row.title}"


def _find_row(state: State, subtask: str) -> SubtaskRow:
    if subtask == SOLUTION:
        return state.solution_row
    return next((row for row in state.subtasks if row.id == subtask), SubtaskRow(subtask, ""))


def _replace_row(state: State, row: SubtaskRow) -> State:
    """Replace the row; a row of a subtask that is no longer in the plan is dropped."""
    if row.id == SOLUTION:
        return replace(state, solution_row=row)
    return replace(state, subtasks=tuple(row if other.id == row.id else other for other in state.subtasks))


def _verdict_from_summary(summary: Mapping[str, JsonValue]) -> Verdict | None:
    status, reason = summary.get("status"), summary.get("reason")
    outcome = next((outcome_name for outcome_name in get_args(Outcome) if outcome_name == status), None)
    return Verdict(outcome, str(reason or "")) if outcome else None


def describe_cost(state: State) -> str:
    """Describe the cost: `3 model calls, 1,234 tokens, 5 executions`; only executions for the offline model."""
    usage, executions = state.usage, plural(state.usage.executions, "execution")
    if state.model == OFFLINE:
        return executions
    return f"{plural(usage.calls, 'model call')}, {plural(usage.tokens, 'token')}, {executions}"
