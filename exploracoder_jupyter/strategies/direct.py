"""Direct generation: the task alone, one call, nothing executed (the baseline of ExploraCoder, section 5.4)."""

from __future__ import annotations

from exploracoder_jupyter.pipeline.prompting.prompt_inputs import StrategyInputs
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.strategies.documented_task import begin_unexecuted


async def direct(run: Run) -> RunResult:
    """Write a program from memory. The strategy `direct`."""
    attempts = begin_unexecuted(run)
    inputs = StrategyInputs("exploracoder_jupyter.strategies:direct", run.task)
    return attempts.accept_unexecuted(await attempts.propose("strategy", inputs))
