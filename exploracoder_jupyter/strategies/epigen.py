"""EpiGen: plan the task, then write the program with the plan and the documentation in the prompt.

After Li et al. 2024, as compared in ExploraCoder, section 5.4: the subtasks are those of its planning module, the APIs
those of its global set. 3 + n calls.
"""

from __future__ import annotations

from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.capir import retrieve_by_plan
from exploracoder_jupyter.strategies.documented_task import limit_retrieval


async def epigen(run: Run) -> RunResult:
    """Write a program along the subtasks. The strategy `epigen`."""
    run = limit_retrieval(run)
    found = await retrieve_by_plan(run)
    attempts = SolutionAttempts.without_check(run)
    return attempts.accept_unexecuted(await attempts.propose("strategy", planned_inputs(run, found)))


def planned_inputs(run: Run, found: Search) -> StrategyInputs:
    """Return the prompt for a program: the steps of the plan and what was found for them."""
    return StrategyInputs(
        "exploracoder_jupyter.strategies:epigen",
        run.task,
        subtasks=run.agenda.plan.subtasks,
        apis=found.apis,
        passages=found.passages,
        context_tokens=run.retrieval.context_tokens,
    )
