"""Manual steering: applies the user's controls to an active run, and builds the continuation of one that has ended."""

from __future__ import annotations

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.run_state import SOLUTION, Attempt, RunState, Section
from exploracoder_jupyter.ipython_extension.running.followed_run import Run
from exploracoder_jupyter.protocol.browser_messages import (
    ChangeRepository,
    ChooseCandidate,
    Continue,
    Dismiss,
    EditPlan,
    ExploreNow,
    ExportTrace,
    RetrySubtask,
    RunEditedCandidate,
    SkipSubtask,
    StopRun,
    Sync,
)
from exploracoder_jupyter.protocol.engine_messages import Continuation
from exploracoder_jupyter.protocol.run_controls import Choose, Control, Explore, Replan, Retry, RunEdited, Skip

RunControl = (
    Sync
    | Dismiss
    | StopRun
    | ExploreNow
    | SkipSubtask
    | RetrySubtask
    | ChooseCandidate
    | RunEditedCandidate
    | EditPlan
    | ExportTrace
    | ChangeRepository
)
"""A control that refers to a run."""


def apply_control(run: Run, control: RunControl) -> str:
    """Apply a control; return why that is not possible, in one sentence, or an empty string."""
    match control:
        case Dismiss():
            run.live.dismiss(control.cells)
        case _ if run.over:
            return "This run has ended."
        case StopRun():
            run.stop()
        case _ if not run.state.explores:
            return f"A run with the strategy {run.state.strategy!r} can only be stopped."
        case _:
            found = _for_engine(run.state, control)
            if isinstance(found, str):
                return found
            run.send(found)
    return ""


def _for_engine(state: RunState, control: RunControl) -> Control | str:
    """Return the control as the engine takes it, or why it is not possible, in one sentence."""
    match control:
        case ExploreNow():
            return Explore()
        case EditPlan():
            remaining = tuple(title.strip() for title in control.titles if title.strip())
            if not remaining and all(row.status == "planned" for row in state.planned):
                return "A plan needs at least one subtask."
            return Replan(remaining)
        case ChooseCandidate() | RunEditedCandidate():
            row, candidate = state.find(control.candidate)
            if row is None or candidate is None:
                return f"There is no candidate {control.candidate} in this run."
            return _choose(row, candidate) if isinstance(control, ChooseCandidate) else _run_edited(row, control)
        case SkipSubtask() | RetrySubtask():
            planned = next((row for row in state.planned if row.id == control.subtask), None)
            if planned is None:
                return f"There is no subtask {control.subtask} in this run."
            if isinstance(control, SkipSubtask):
                is_open = planned.status in ("planned", "exploring")
                return Skip(planned.id) if is_open else f"Subtask {planned.id} is already {planned.status}."
            if planned.status == "planned":
                return f"Subtask {planned.id} has not begun yet."
            return Retry(planned.id, control.hint.strip())
        case _:
            return "A run does not support this request."


def _choose(row: Section, candidate: Attempt) -> Choose | str:
    if row.id == SOLUTION:
        return "A solution is chosen by its check, not by hand."
    if candidate.state != "ok":
        return f"Candidate {candidate.id} did not run to its end."
    return (
        f"Candidate {candidate.id} is already carried forward." if row.selected is candidate else Choose(candidate.id)
    )


def _run_edited(row: Section, control: RunEditedCandidate) -> RunEdited | str:
    if row.id == SOLUTION:
        return "A solution is run by the run itself: run the edited code in a cell of your own."
    if not control.code.strip():
        return "There is no code to run."
    return RunEdited(row.id, control.candidate, control.code)


def build_continuation(state: RunState, request: Continue) -> Continuation:
    """Return what a run that continues this ended one starts with.

    Subtasks before the requested one are executed again with the candidates that were carried forward; a subtask
    without such a candidate is left out. The requested subtask and the later ones are explored again.
    """
    target, chosen = _target(state, request)
    ids = [row.id for row in state.planned]
    first = ids.index(target.id) if target else len(ids)
    carried = [(row, row.selected) for row in state.planned[:first] if row.selected and row.selected.state == "ok"]
    plan = [*(row.title for row, _ in carried), *(row.title for row in state.planned[first:])]
    code = [selected.candidate.code for _, selected in carried]
    code += [request.code or chosen.candidate.code] if chosen else []
    return Continuation(plan=plan, code=code, chosen=chosen is not None, hint=request.hint.strip())


def describe_continuation(state: RunState, request: Continue) -> str:
    """Describe in a few words the run that continues this ended one."""
    if request.candidate:
        return f"candidate {request.candidate} {'edited' if request.code else 'chosen'}"
    place = next((n for n, row in enumerate(state.planned, 1) if row.id == request.subtask), None)
    again = f"step {place} again" if place else "continued"
    hint = request.hint.strip()
    return f"{again}, hint: {hint}" if hint else again


def _target(state: RunState, request: Continue) -> tuple[Section | None, Attempt | None]:
    if request.candidate:
        row, candidate = state.find(request.candidate)
        if row is None or candidate is None:
            raise UsageError(f"There is no candidate {request.candidate} in that run.")
        if row.id == SOLUTION or (candidate.state != "ok" and not request.code):
            raise UsageError(f"Candidate {candidate.id} cannot be carried forward.")
        return row, candidate
    row = next((row for row in state.planned if row.id == request.subtask), None)
    if row is None and request.subtask:
        raise UsageError(f"There is no subtask {request.subtask} in that run.")
    return row, None
