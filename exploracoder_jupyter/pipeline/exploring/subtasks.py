"""Chain of API Exploration: m candidates for a subtask, or a known one taken over without the model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.events import (
    CandidateObserved,
    CandidateProposed,
    CandidateSelected,
    Notice,
    SubtaskFinished,
    SubtaskStarted,
)
from exploracoder_jupyter.core.types import (
    ApiDoc,
    Candidate,
    Experience,
    Observation,
    Selection,
    Subtask,
    SubtaskStatus,
)
from exploracoder_jupyter.pipeline.concurrency import task_group
from exploracoder_jupyter.pipeline.context import Run, State, merge_apis, raise_if_cancelled
from exploracoder_jupyter.pipeline.exploring.candidates import Attempt, run_debug_round
from exploracoder_jupyter.pipeline.exploring.planning import SHOWN_ATTEMPTS, revise
from exploracoder_jupyter.pipeline.exploring.selection import distinct_failures, missing_name, select
from exploracoder_jupyter.pipeline.prompting.documentation import deduplicate
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import ProposeInputs
from exploracoder_jupyter.pipeline.prompting.requests import ask_code
from exploracoder_jupyter.pipeline.retrieval.api_recommendation import Recommendation, recommend, retrieve
from exploracoder_jupyter.pipeline.retrieval.queries import Search
from exploracoder_jupyter.pipeline.retrieval.snippet_learning import drop_stale_snippets

# Chain of API Exploration: m candidates for a subtask, each run in its own branch (section 3.4).
#
# A candidate starts as soon as its reply is complete. Exact duplicates are run once. If none ran, the documentation
# is searched again, and `run_debug_round` repairs the candidates. One experience is selected and its branch becomes
# the start of the next subtask; the other branches are closed, but their experiences stay recorded.

_DONE: Final = "done"
"""What the model replies if a subtask's result is shown already, as the prompt requires it."""
_SHOWN: Final = "earlier work already shows its result"
_SHOWN_FAILURES: Final = 2


async def explore_subtask(run: Run, state: State, subtask: Subtask) -> State:
    """Explore one subtask and return the state after it."""
    advice = await recommend(run, state, subtask)
    await raise_if_cancelled()
    state = replace(
        state,
        retrieved=merge_apis(state.retrieved, advice.retrieved),
        passages=deduplicate((*state.passages, *advice.passages)),
    )
    now = revise(run, subtask, advice.remaining, advice.reason, advice.restated)
    if now is not subtask:  # the plan was revised: the advice is about what stood in its place
        found, passages = await retrieve(run, now, now.title, reranked=False)
        await raise_if_cancelled()
        chosen = {item.api.path for item in advice.apis}
        apis = (*advice.apis, *(item for item in found if item.api.path not in chosen))
        retrieved = merge_apis(tuple(item.api for item in found), advice.retrieved)
        advice = replace(advice, apis=apis, retrieved=retrieved, passages=deduplicate((*passages, *advice.passages)))
    elif advice.satisfied:
        run.emit(SubtaskFinished(subtask.id, "skipped", advice.reason or _SHOWN))
        return state
    run.emit(SubtaskStarted(now.id, tuple(item.listed for item in advice.apis)))
    return await _experiment(run, state, now, advice)


async def _experiment(run: Run, state: State, subtask: Subtask, advice: Recommendation) -> State:
    apis = tuple(item.api for item in advice.apis)
    search = Search(run, subtask, apis, advice.passages, advice.retrieved)
    for item in state.experience:
        search.add_used(item.apis)
    attempt = Attempt.start(run, state, search)
    winner: str | None = None
    try:
        if await _propose(attempt, first_candidates(run)):
            run.emit(SubtaskFinished(subtask.id, "skipped", _SHOWN))
            return state
        if not attempt.experiences:
            await _propose(attempt, first_candidates(run))
        for round_ in range(1, run.settings.debug_rounds + 1):
            await run_debug_round(attempt, round_)
        if attempt.none_ran and attempt.experiences:
            await _propose(attempt, run.settings.candidates - first_candidates(run))
        await drop_stale_snippets(run, search.passages, attempt.experiences)
        await raise_if_cancelled()
        if not attempt.experiences:
            reason, problem = "the model gave no code that could be run", attempt.problem
            run.emit(SubtaskFinished(subtask.id, "failed", f"{reason}: {problem}" if problem else reason))
            return replace(state, no_code_problems=(*state.no_code_problems, problem)) if problem else state
        chosen, selection = select(
            attempt.experiences,
            [api.path for api in search.apis],
            run.task.text,
            best_first=run.model.name == OFFLINE,
        )
        run.emit(CandidateSelected(selection))
        winner = chosen.candidate.id if chosen.observation.ran else None
        branch = attempt.branches[winner] if winner else state.branch
        if subtask.id != run.agenda.plan.subtasks[-1].id:  # after the last one the root is forked instead
            branch.expect(first_candidates(run))
        emit_finished(run, chosen)
    finally:
        await attempt.close_losers(winner)
    state = replace(
        state,
        retrieved=merge_apis(state.retrieved, search.apis),
        passages=deduplicate((*search.passages, *state.passages)),
        failures=(*state.failures, *_failures_besides(chosen, attempt.experiences)),
    )
    return state.with_experience(chosen, branch)


def _failures_besides(chosen: Experience, experiences: Sequence[Experience]) -> list[Experience]:
    """Return one experience per kind of failure that the selected one does not show: what is broken stays known."""
    return distinct_failures([item for item in experiences if item is not chosen and not item.observation.ran])


def emit_finished(run: Run, chosen: Experience) -> None:
    """Emit how the subtask of a selected candidate ended."""
    ran, missing, error = chosen.observation.ran, missing_name(chosen), chosen.observation.error
    status: SubtaskStatus = "done" if ran and not missing else "failed"
    reason = "" if ran else (error.headline if error else chosen.observation.note)
    if ran and missing:
        reason = f"it ran, but does not set `{missing}`, where the step wants its result"
    run.emit(SubtaskFinished(chosen.subtask.id, status, reason))


def first_candidates(run: Run) -> int:
    """Return how many candidates are proposed at first; the rest are proposed only where these fail."""
    settings = run.settings
    return settings.candidates if run.asks_always else min(settings.first_candidates, settings.candidates)


async def _propose(attempt: Attempt, count: int) -> bool:
    """Propose and run up to so many candidates; return whether the model replied that nothing is left to do."""
    if count <= 0:
        return False
    run, state, subtask = attempt.run, attempt.state, attempt.subtask
    requested = subtask.id in run.agenda.hints  # the user asked to explore it again, so it is not done
    inputs = ProposeInputs(
        run.task,
        subtask,
        state.introduction,
        attempt.search.apis,
        (*state.experience, *distinct_failures(attempt.experiences)[:_SHOWN_FAILURES]),
        run.agenda.hints.get(subtask.id, ""),
        run.settings.tests,
        passages=attempt.search.passages,
        context_tokens=run.subtask_context_tokens,
        attempts=() if state.experience else run.progress.seen[-SHOWN_ATTEMPTS:],
        failures=state.failures[-_SHOWN_FAILURES:],
        may_skip=bool(state.parent) and not (run.asks_always or requested or attempt.experiences),
    )
    done = proposed = 0
    async with task_group() as group:
        unusable = None if attempt.experiences else attempt.unusable
        async for draft in ask_code(run, "propose", inputs, subject=subtask.id, n=count, unusable=unusable):
            if inputs.may_skip and draft.is_word(_DONE):
                done += 1
                continue
            proposed += 1
            attempt.unusable = draft if draft.problem else attempt.unusable
            id_ = f"{subtask.id}.{run.agenda.next_number(subtask.id)}"
            candidate = Candidate(id_, subtask.id, draft.code, problem=draft.problem, parent=state.parent)
            group.start_soon(attempt.try_candidate, candidate)
    await attempt.rerun_outdated()
    return done > 0 and not proposed


# Runs a known candidate in a new branch, without asking the model.
#
# One that the user chose, or the outcome of the run that this one resumes, is carried forward. One that the user
# edited runs from the state before its subtask, beside the present phase of the run, and is not selected by itself;
# the user may then choose it like any other.

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
