"""The plan of a task and the documentation retrieved for each of its steps, without exploring any of them."""

from __future__ import annotations

from dataclasses import replace

from exploracoder_jupyter.core.events import SubtaskFinished, SubtaskStarted
from exploracoder_jupyter.core.types import Subtask
from exploracoder_jupyter.pipeline.exploring.planning import introduce, make_plan
from exploracoder_jupyter.pipeline.prompting.passage_packing import deduplicate
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.api_recommendation import recommend, recommend_globally
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis

_NOT_EXPLORED = "only its documentation was retrieved"


async def retrieve_by_plan(run: Run) -> Search:
    """Plan, retrieve and re-rank for each subtask, then re-rank for the task: 2 + n calls, and the introduction."""
    introduction = await introduce(run)
    await make_plan(run, introduction)
    state = State(introduction, run.root)
    for subtask in run.agenda.plan.subtasks:
        state = await _retrieve(run, state, subtask)
    apis = await recommend_globally(run, state)
    return Search(run, SOLUTION, apis, state.passages, apis)


async def _retrieve(run: Run, state: State, subtask: Subtask) -> State:
    found = await recommend(run, state, subtask)
    run.emit(SubtaskStarted(subtask.id, tuple(item.listed for item in found.apis)))
    run.emit(SubtaskFinished(subtask.id, "skipped", _NOT_EXPLORED))
    apis = tuple(item.api for item in found.apis)
    return replace(
        state,
        retrieved=merge_apis(state.retrieved, apis),
        passages=deduplicate((*found.passages, *state.passages)),
    )
