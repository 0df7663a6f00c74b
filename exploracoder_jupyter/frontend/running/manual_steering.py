"""Steering a run by hand: what is asked of one that goes on, and how one that has ended is gone on from."""

from __future__ import annotations

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.frontend.panel.panel_state import SOLUTION, CandidateRow, State, SubtaskRow
from exploracoder_jupyter.frontend.running.kernel_runs import Run
from exploracoder_jupyter.protocol.browser_messages import (
    ChooseCandidate,
    Continue,
    Dismiss,
    EditPlan,
    ExportTrace,
    RetrySubtask,
    SkipSubtask,
    StopRun,
    Sync,
)
from exploracoder_jupyter.protocol.engine_messages import Given

RunControl = Sync | Dismiss | StopRun | SkipSubtask | RetrySubtask | ChooseCandidate | EditPlan | ExportTrace
"""A control that names a run."""


def apply_control(run: Run, asked: RunControl) -> str:
    """Do what is asked for; why that cannot be, in one sentence, or nothing."""
    match asked:
        case Dismiss():
            run.live.dismiss(asked.cells)
            return ""
        case _ if run.over:
            return "This run has ended."
        case StopRun():
            run.stop()
            return ""
        case EditPlan():
            return _replan(run, asked.titles)
        case ChooseCandidate():
            return _choose(run, asked.candidate)
        case SkipSubtask() | RetrySubtask():
            return _subtask(run, asked)
        case _:
            return "This cannot be asked of a run."


def _replan(run: Run, titles: list[str]) -> str:
    wanted = [title.strip() for title in titles if title.strip()]
    if not wanted and all(row.status == "planned" for row in run.state.subtasks):
        return "A plan needs at least one subtask."
    run.replan(wanted)
    return ""


def _choose(run: Run, candidate: str) -> str:
    row, found = run.state.find(candidate)
    if found is None or row is None:
        return f"There is no candidate {candidate} in this run."
    if problem := _selection_problem(row, found):
        return problem
    run.choose(candidate)
    return ""


def _subtask(run: Run, asked: SkipSubtask | RetrySubtask) -> str:
    row = next((row for row in run.state.subtasks if row.id == asked.subtask), None)
    if row is None:
        return f"There is no subtask {asked.subtask} in this run."
    if isinstance(asked, RetrySubtask):
        if row.status == "planned":
            return f"Subtask {row.id} has not begun yet."
        run.retry(row.id, asked.hint.strip())
    elif row.status not in ("planned", "exploring"):
        return f"Subtask {row.id} is {row.status} already."
    else:
        run.skip(row.id)
    return ""


def _selection_problem(row: SubtaskRow, candidate: CandidateRow) -> str:
    """Why a run cannot go on from this candidate, in one sentence, or nothing."""
    if row.id == SOLUTION:
        return "A solution is chosen by its check, not by hand."
    if candidate.state != "ok":
        return f"Candidate {candidate.id} did not run to its end."
    return f"Candidate {candidate.id} is carried forward already." if row.selected == candidate.id else ""


def build_continuation(state: State, wanted: Continue) -> Given:
    """What a run begins with that goes on from this ended one.

    Subtasks before the one asked for are run again by the candidates that were carried forward; one that had none is
    left out. Those after it are explored anew.

    Raises:
        UsageError: the subtask or the candidate is unknown, or cannot be carried forward.
    """
    target, chosen = _target(state, wanted)
    ids = [row.id for row in state.subtasks]
    first = ids.index(target.id) if target else len(ids)
    before = [row for row in state.subtasks[:first] if _carried_code(row)]
    plan = [row.title for row in (*before, *state.subtasks[first:])]
    code = [*map(_carried_code, before), *([chosen.code] if chosen else [])]
    return Given(plan=plan, code=code, chosen=chosen is not None, hint=wanted.hint.strip())


def describe_continuation(state: State, wanted: Continue) -> str:
    """What a run is that goes on from this ended one, in a few words."""
    if wanted.candidate:
        return f"candidate {wanted.candidate} chosen"
    place = next((n for n, row in enumerate(state.subtasks, 1) if row.id == wanted.subtask), None)
    again = f"step {place} again" if place else "carried on"
    hint = wanted.hint.strip()
    return f"{again}, hint: {hint}" if hint else again


def _target(state: State, wanted: Continue) -> tuple[SubtaskRow | None, CandidateRow | None]:
    if wanted.candidate:
        row, candidate = state.find(wanted.candidate)
        if row is None or candidate is None:
            raise UsageError(f"There is no candidate {wanted.candidate} in that run.")
        if row.id == SOLUTION or candidate.state != "ok":
            raise UsageError(f"Candidate {candidate.id} cannot be carried forward.")
        return row, candidate
    row = next((row for row in state.subtasks if row.id == wanted.subtask), None)
    if row is None and wanted.subtask:
        raise UsageError(f"There is no subtask {wanted.subtask} in that run.")
    return row, None


def _carried_code(row: SubtaskRow) -> str:
    """The code that was carried forward from this subtask, if any ran."""
    chosen = next((one for one in row.candidates if one.id == row.selected and one.state == "ok"), None)
    return chosen.code if chosen else ""
