"""Direct generation: the task alone, one call, nothing executed (the baseline of ExploraCoder, section 5.4)."""

from __future__ import annotations

from exploracoder_jupyter.pipeline.exploring.planning import announce_libraries
from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.solving.solution_attempts import SolutionAttempts
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.parts.documented_task import limit_retrieval
from exploracoder_jupyter.strategies.parts.unexecuted_result import unexecuted_result


async def direct(run: Run) -> RunResult:
    """Write a program from memory. The strategy `direct`."""
    run = limit_retrieval(run)
    announce_libraries(run)
    attempts = SolutionAttempts.without_check(run)
    inputs = StrategyInputs("exploracoder_jupyter.strategies:direct", run.task)
    return unexecuted_result(attempts, await attempts.propose("strategy", inputs))
