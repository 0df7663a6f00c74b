"""Runs a known candidate in a new branch, without asking the model.

One that the user chose, or the outcome of the run that this one resumes, is carried forward. One that the user edited
runs from the state before its subtask, beside the present phase of the run, and is not selected by itself; the user may
then choose it like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Notice,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.core.types import ApiDoc, Candidate, Observation, Selection, Subtask
from exploracoder_jupyter.pipeline.exploring.candidate_runs import Attempt
from exploracoder_jupyter.pipeline.exploring.result_agreement import distinct_failures
from exploracoder_jupyter.pipeline.exploring.subtask_exploration import emit_finished
from exploracoder_jupyter.pipeline.prompting.passage_packing import deduplicate
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis, raise_if_cancelled

_CHOSEN = "chosen by the user"
_GIVEN = "carried over from the earlier run"


async def carry_forward(run: Run, state: State, subtask: Subtask) -> State | None:
    """Return the state after the known candidate of this subtask; `None` if there is none, or if it fails only now."""
    agenda = run.agenda
    if chosen := agenda.chosen.pop(subtask.id, None):
        apis = _lookup_all(run, chosen.apis)
        return await run_candidate(run, state, Search(run, subtask, apis), chosen.candidate, _CHOSEN)
    carried = agenda.carried.pop(subtask.id, None)
    if carried is None:
        return None
    recommended = tuple(run.knowledge.lookup(item.api.path) or item.api for item in carried.apis)
    extended = replace(
        state,
        retrieved=merge_apis(state.retrieved, _lookup_all(run, carried.retrieved)),
        passages=deduplicate((*state.passages, *carried.passages)),
        failures=(*state.failures, *distinct_failures(carried.failures)),
    )
    if not carried.code:
        run.emit(SubtaskFinished(subtask.id, carried.status, carried.reason))
        return extended
    found = {*carried.retrieved, *(api.path for api in recommended)}
    run.progress.looked_up |= {api.path: api for api in _lookup_all(run, carried.used) if api.path not in found}
    id_ = f"{subtask.id}.{agenda.next_number(subtask.id)}"
    candidate = Candidate(id_, subtask.id, carried.code, parent=state.parent)
    run.emit(SubtaskStarted(subtask.id, tuple(item.listed for item in carried.apis)))
    run.emit(CandidateProposed(candidate))
    search = Search(run, subtask, recommended, carried.passages)
    reason = _CHOSEN if carried.chosen else _GIVEN
    return await run_candidate(run, extended, search, candidate, reason, may_fail=carried.status == "failed")


async def run_candidate(
    run: Run, state: State, search: Search, candidate: Candidate, reason: str, *, may_fail: bool = False
) -> State | None:
    """Run a candidate that was proposed, finish its subtask, and return the state after it.

    A candidate that fails leaves the branch as it was; without `may_fail`, `None` is returned then.
    """
    attempt = Attempt.start(run, state, search)
    winner: str | None = None
    try:
        await attempt.rerun(candidate)
        await raise_if_cancelled()
        if not attempt.experiences:
            run.meter.check()  # raises: the spent budget is why it was not run
        if attempt.none_ran and not may_fail:
            run.emit(Notice(f"Candidate {candidate.id} no longer runs: exploring its subtask instead.", "warning"))
            return None
        winner = None if attempt.none_ran else candidate.id
        run.emit(CandidateSelected(Selection(candidate.subtask, candidate.id, (reason,))))
        emit_finished(run, attempt.experiences[-1])
    finally:
        await attempt.close_losers(winner)
    return state.with_experience(attempt.experiences[-1], attempt.branches[winner] if winner else state.branch)


async def run_edited(run: Run, state: State, subtask: Subtask, *, edited: str, code: str) -> None:
    """Run the edited code of the candidate `edited` in a fork of the state before its subtask."""
    id_ = f"{subtask.id}.{run.agenda.next_number(subtask.id)}"
    candidate = Candidate(id_, subtask.id, code, parent=state.parent, edits=edited)
    attempt = Attempt.start(run, state, Search(run, subtask, state.retrieved))
    try:
        await attempt.try_candidate(candidate)
        await attempt.rerun_outdated()
    except KernelError as error:  # the run does not depend on this candidate
        run.emit(CandidateObserved(id_, Observation("interrupted", note=str(error))))
    finally:
        await attempt.close_losers(None)


def _lookup_all(run: Run, paths: Iterable[str]) -> tuple[ApiDoc, ...]:
    """Return the APIs with these paths that the libraries still have."""
    return tuple(api for api in map(run.knowledge.lookup, paths) if api)
