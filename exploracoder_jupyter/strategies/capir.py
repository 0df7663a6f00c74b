"""CAPIR: decompose the task, retrieve and re-rank for each subtask, generate once; without and with self-repair.

After Ma et al. 2024, as compared in ExploraCoder, section 5.4: the global set of APIs has the same size as its own, and
3 + n calls are made. The paper's self-repair makes two calls a round, ours one (`rag`).
"""

from __future__ import annotations

from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.solving.solution_rounds import propose_solution, repair_until_accepted
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.parts.documented_task import limit_retrieval
from exploracoder_jupyter.strategies.parts.planned_retrieval import retrieve_by_plan
from exploracoder_jupyter.strategies.parts.unexecuted_result import unexecuted_result
from exploracoder_jupyter.strategies.rag import with_repairs


async def capir(run: Run) -> RunResult:
    """Write a program from the documentation found for each subtask. The strategy `capir`."""
    run = limit_retrieval(run)
    attempts = SolutionAttempts.without_check(run)
    return unexecuted_result(attempts, await propose_solution(attempts, await retrieve_by_plan(run)))


async def capir_repair(run: Run) -> RunResult:
    """Write a program as `capir` does, run it, and repair it by its errors. The strategy `capir-repair`."""
    run = with_repairs(limit_retrieval(run))
    attempts = await SolutionAttempts.begin(run)
    return await repair_until_accepted(attempts, await retrieve_by_plan(run))
