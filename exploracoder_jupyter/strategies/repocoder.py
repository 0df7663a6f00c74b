"""RepoCoder: each program but the first is written with what was retrieved by the one before (RRR, section 5.1).

After Zhang et al. 2023. The first retrieval is by the task. Nothing is executed. For r rounds r calls; r is the setting
`retrieval.rounds`, 2 by default.
"""

from __future__ import annotations

from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.prompting.model_requests import Draft, ask_code
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import SolveInputs
from exploracoder_jupyter.pipeline.retrieval.active_retrieval import Search
from exploracoder_jupyter.pipeline.retrieval.query_rewriting import LONGEST_QUERY, Query
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.parts.documented_task import limit_retrieval, search_for
from exploracoder_jupyter.strategies.parts.unexecuted_result import unexecuted_result


async def repocoder(run: Run) -> RunResult:
    """Retrieve and write in turns; the last program is the solution. The strategy `repocoder`."""
    rounds, run = max(run.retrieval.rounds, 1), limit_retrieval(run)
    announce_libraries(run)
    attempts, latest = SolutionAttempts.without_check(run), None
    for round_ in range(rounds):
        query = Query("code", latest.code[:LONGEST_QUERY]) if latest else Query("task", run.task.text)
        latest = await _draft(run, await search_for(run, query, round_)) or latest
    return unexecuted_result(attempts, attempts.add(latest) if latest else None)


async def _draft(run: Run, search: Search) -> Draft | None:
    """Return the program that the model writes with what was found, as `rag` does; `None` without code."""
    inputs = SolveInputs(run.task, search.apis, (), search.passages, context_tokens=run.retrieval.context_tokens)
    drafts = [draft async for draft in ask_code(run, "solve", inputs, subject=SOLUTION.id)]
    return next((draft for draft in drafts if not draft.problem), None)
