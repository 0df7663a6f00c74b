"""CAPIR: decompose the task, retrieve and re-rank for each subtask, generate once; without and with self-repair.

After Ma et al. 2024, as compared in ExploraCoder, section 5.4: the global set of APIs has the same size as its own, and
3 + n calls are made. The paper's self-repair makes two calls a round, ours one (`rag`).
"""

from __future__ import annotations

from dataclasses import replace

from exploracoder_jupyter.core.events import SubtaskFinished, SubtaskStarted
from exploracoder_jupyter.pipeline.exploring.planning import introduce, make_plan
from exploracoder_jupyter.pipeline.prompting.passage_packing import deduplicate
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.api_recommendation import recommend, recommend_globally
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.solving.solution_rounds import propose_solution, repair_until_accepted
from exploracoder_jupyter.pipeline.step_context import Run, State, merge_apis
from exploracoder_jupyter.strategies.documented_task import limit_retrieval
from exploracoder_jupyter.strategies.rag import with_repairs


async def capir(run: Run) -> RunResult:
    """Write a program from the documentation found for each subtask. The strategy `capir`."""
    run = limit_retrieval(run)
    attempts = SolutionAttempts.without_check(run)
    return attempts.accept_unexecuted(await propose_solution(attempts, await retrieve_by_plan(run)))


async def capir_repair(run: Run) -> RunResult:
    """Write a program as `capir` does, run it, and repair it by its errors. The strategy `capir-repair`."""
    run = with_repairs(limit_retrieval(run))
    attempts = await SolutionAttempts.begin(run)
    return await repair_until_accepted(attempts, await retrieve_by_plan(run))


async def retrieve_by_plan(run: Run) -> Search:
    """Plan, retrieve and re-rank for each subtask, then re-rank for the task: 2 + n calls, and the introduction."""
    introduction = await introduce(run)
    await make_plan(run, introduction)
    state = State(introduction, run.root)
    for subtask in run.agenda.plan.subtasks:
        found = await recommend(run, state, subtask)
        run.emit(SubtaskStarted(subtask.id, tuple(item.listed for item in found.apis)))
        run.emit(SubtaskFinished(subtask.id, "skipped", "only its documentation was retrieved"))
        retrieved = merge_apis(state.retrieved, tuple(item.api for item in found.apis))
        state = replace(state, retrieved=retrieved, passages=deduplicate((*found.passages, *state.passages)))
    apis = await recommend_globally(run, state)
    return Search(run, SOLUTION, apis, state.passages, apis)
