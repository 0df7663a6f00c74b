"""Carrying a known candidate forward: run again in a branch of its own, without asking the model.

It is one that the user chose, or a snippet of the run that this one goes on from.
"""

from __future__ import annotations

from exploracoder_jupyter.events import CandidateProposed, CandidateSelected, Notice, SubtaskFinished, SubtaskStarted
from exploracoder_jupyter.pipeline.attempt import Attempt
from exploracoder_jupyter.pipeline.context import Run, State, still_wanted
from exploracoder_jupyter.pipeline.searching import Search
from exploracoder_jupyter.types import ApiDoc, Candidate, Selection, Subtask

_CHOSEN = "chosen by the user"
_GIVEN = "carried over from the earlier run"


async def carry_forward(run: Run, state: State, subtask: Subtask) -> State | None:
    """The state after the candidate known for this subtask; `None` if there is none, or if it fails now."""
    agenda = run.agenda
    if chosen := agenda.chosen.pop(subtask.id, None):
        apis = tuple(api for api in map(run.knowledge.lookup, chosen.apis) if api)
        return await _run_again(run, state, subtask, chosen.candidate, apis, _CHOSEN)
    if code := agenda.given.pop(subtask.id, None):
        candidate = Candidate(f"{subtask.id}.{agenda.number(subtask.id)}", subtask.id, code, parent=state.after)
        run.emit(SubtaskStarted(subtask.id, ()))
        run.emit(CandidateProposed(candidate))
        return await _run_again(run, state, subtask, candidate, (), _CHOSEN if subtask.id == agenda.picked else _GIVEN)
    return None


async def _run_again(
    run: Run, state: State, subtask: Subtask, candidate: Candidate, apis: tuple[ApiDoc, ...], reason: str
) -> State | None:
    attempt = Attempt.of(run, state, Search(run, subtask, apis))
    winner: str | None = None
    try:
        await attempt.again(candidate)
        await still_wanted()
        if not attempt.experiences:
            run.meter.check()  # that is why it was not run
        if attempt.none_ran:
            run.emit(Notice(f"Candidate {candidate.id} does not run now: the subtask is explored.", "warning"))
            return None
        winner = candidate.id
        run.emit(CandidateSelected(Selection(subtask.id, candidate.id, (reason,))))
        run.emit(SubtaskFinished(subtask.id, "done"))
    finally:
        await attempt.close_losers(winner)
    return state.learn(attempt.experiences[-1], attempt.branches[winner])
