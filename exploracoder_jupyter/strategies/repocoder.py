"""RepoCoder: each program but the first is written with what was retrieved by the one before (RRR, section 5.1).

After Zhang et al. 2023. The first retrieval is by the task. Nothing is executed. For r rounds r calls; r is the setting
`retrieval.rounds`, 2 by default.
"""

from __future__ import annotations

from exploracoder_jupyter.pipeline.prompting.model_requests import ask_code
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import SolveInputs
from exploracoder_jupyter.pipeline.retrieval.query_rewriting import LONGEST_QUERY, Query
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.program_execution import SOLUTION
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.documented_task import begin_unexecuted, search_for


async def repocoder(run: Run) -> RunResult:
    """Retrieve and write in turns; the last program is the solution. The strategy `repocoder`."""
    rounds, attempts, latest = max(run.retrieval.rounds, 1), begin_unexecuted(run), None
    run = attempts.run
    for round_ in range(rounds):
        query = Query("code", latest.code[:LONGEST_QUERY]) if latest else Query("task", run.task.text)
        found = await search_for(run, query, round_)
        inputs = SolveInputs(run.task, found.apis, (), found.passages, context_tokens=run.retrieval.context_tokens)
        drafts = [draft async for draft in ask_code(run, "solve", inputs, subject=SOLUTION.id)]
        latest = next((draft for draft in drafts if not draft.problem), latest)
    return attempts.accept_unexecuted(attempts.add(latest) if latest else None)
