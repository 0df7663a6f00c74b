"""CoCoST: plan, search, write, run on generated inputs, and refine by errors and outputs (CoCoST, section 3).

The steps of the plan are the queries: each searches the documentation, as a source that can be queried (appendix A),
and those that the plan marks search the web if it is enabled. A program that fails is repaired with what a search for
its error finds; one that runs is tested on inputs that the model writes, and refined by what it gave for them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from exploracoder_jupyter.core.types import Candidate
from exploracoder_jupyter.pipeline.exploring.planning import introduce, make_plan
from exploracoder_jupyter.pipeline.prompting.passage_packing import deduplicate
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.api_recommendation import retrieve
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.solving.solution_rounds import propose_solution, propose_until_accepted
from exploracoder_jupyter.pipeline.step_context import Run, merge_apis
from exploracoder_jupyter.strategies.documented_task import limit_retrieval
from exploracoder_jupyter.strategies.epigen import planned_inputs


async def cocost(run: Run) -> RunResult:
    """Plan, search, write, and refine what was written. The strategy `cocost`."""
    run = limit_retrieval(run, searches=run.retrieval.rounds, formulation="error")
    run = replace(run, settings=replace(run.settings, tests=True))
    await make_plan(run, await introduce(run))
    attempts = await SolutionAttempts.begin(run)
    found = [await retrieve(run, subtask, subtask.title, reranked=True) for subtask in run.agenda.plan.subtasks]
    ranks = zip_longest(*(apis for apis, _ in found))  # the first hits of all steps come before the later ones of any
    apis = tuple(item.api for rank in ranks for item in rank if item)
    passages = tuple(passage for _, passages in found for passage in passages)
    search = Search(run, SOLUTION, merge_apis(apis), deduplicate(passages))

    async def propose() -> Candidate | None:
        if not attempts.tried:
            return await attempts.propose("strategy", planned_inputs(run, search))
        await search.search_again(attempts.tried[-1])
        return await propose_solution(attempts, search)

    return await propose_until_accepted(attempts, propose)
