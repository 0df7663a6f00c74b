"""Chain of API Exploration: m candidates for a subtask, each run in its own branch (section 3.4).

A candidate starts as soon as its reply is complete. Exact duplicates are run once. If none ran, the documentation is
searched again, and `run_debug_round` repairs the candidates. One experience is selected and its branch becomes the
start of the next subtask; the other branches are closed, but their experiences stay recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from exploracoder_jupyter.core.configuration.endpoint_settings import OFFLINE
from exploracoder_jupyter.core.events import CandidateSelected, SubtaskFinished, SubtaskStarted
from exploracoder_jupyter.core.types import Candidate, Experience, Subtask, SubtaskStatus
from exploracoder_jupyter.pipeline.async_task_groups import task_group
from exploracoder_jupyter.pipeline.exploring.candidate_runs import Attempt
from exploracoder_jupyter.pipeline.exploring.candidate_selection import select
from exploracoder_jupyter.pipeline.exploring.debug_rounds import run_debug_round
from exploracoder_jupyter.pipeline.exploring.planning import SHOWN_ATTEMPTS, revise
from exploracoder_jupyter.pipeline.exploring.result_agreement import distinct_failures
from exploracoder_jupyter.pipeline.exploring.result_objection import missing_name
from exploracoder_jupyter.pipeline.prompting.model_requests import ask_code
from exploracoder_jupyter.pipeline.prompting.passage_packing import deduplicate
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import ProposeInputs
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.api_recommendation import Recommendation, recommend, retrieve
from exploracoder_jupyter.pipeline.retrieval.snippet_learning import drop_stale_snippets
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis, raise_if_cancelled

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
