"""Naive retrieval, without and with self-repair.

The top k documentation of the task and one prompt are DocPrompting (Zhou et al. 2023; ExploraCoder, section 5.4).
Self-repair shows a failed program with its error to the model and asks for a correction (Olausson et al. 2024;
ExploraCoder, section 5.4, which combines it with CAPIR); here feedback and correction are one call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.solving.solution_rounds import propose_solution, repair_until_accepted
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.documented_task import begin_unexecuted, limit_retrieval, search_for_task

REPAIRS: Final = 3
"""Maximum number of repairs in strategies with self-repair."""


async def rag(run: Run) -> RunResult:
    """Write a program from the documentation found for the task. The strategy `rag`."""
    attempts = begin_unexecuted(run)
    return attempts.accept_unexecuted(await propose_solution(attempts, await search_for_task(attempts.run)))


async def rag_repair(run: Run) -> RunResult:
    """Write a program as `rag` does, run it, and repair it by its errors. The strategy `rag-repair`."""
    run = with_repairs(limit_retrieval(run))
    announce_libraries(run)
    attempts = await SolutionAttempts.begin(run)
    return await repair_until_accepted(attempts, await search_for_task(run))


def with_repairs(run: Run) -> Run:
    """Return the run with one program and its repairs, whose outputs are not tested on generated inputs."""
    return replace(run, settings=replace(run.settings, solution_rounds=1 + REPAIRS, tests=False))
