"""ARKS: active retrieval in a soup of knowledge (ARKS, sections 2.1 to 2.3).

The first program is written from the task alone and executed. While programs fail, the latest one is made a query,
by its error, or by another form (`retrieval.formulation`), which searches documentation, snippets and, if enabled, the
web; the next program is written with what was found and with the error. The rounds end when two searches agree, or
after `retrieval.rounds`. The program that ran becomes a snippet for later tasks; a snippet that fails is dropped.
"""

from __future__ import annotations

from dataclasses import replace

from exploracoder_jupyter.core.types import Candidate
from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.snippet_learning import drop_stale_snippets, store_snippets
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.solving.solution_rounds import propose_solution, propose_until_accepted
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.documented_task import limit_retrieval


async def arks(run: Run) -> RunResult:
    """Write a program; while it fails, search by it and write another. The strategy `arks`."""
    searches = run.retrieval.rounds
    run = limit_retrieval(run, searches=searches, formulation=run.retrieval.formulation)
    run = replace(run, settings=replace(run.settings, solution_rounds=1 + searches, tests=False))
    announce_libraries(run)
    attempts, search = await SolutionAttempts.begin(run), Search(run, SOLUTION, ())

    async def propose() -> Candidate | None:
        if not attempts.tried:
            inputs = StrategyInputs("exploracoder_jupyter.strategies:direct", run.task)
            return await attempts.propose("strategy", inputs)
        await search.search_again(attempts.tried[-1])
        return None if search.converged else await propose_solution(attempts, search)

    result = await propose_until_accepted(attempts, propose)
    await drop_stale_snippets(run, search.passages, attempts.tried)
    await store_snippets(run, (), result)
    return result
