"""A strategy: one method of turning a task into a solution. The exploration of this package is one of several.

Strategies are registered as entry points in the group `exploracoder_jupyter.strategies` and selected by the setting
`exploration.strategy`. They differ in method alone: all use the ports, limits and events of the same `Run`.
"""

from __future__ import annotations

from typing import Protocol

from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.pipeline.step_context import Run


class Strategy(Protocol):
    """What an entry point in the group `exploracoder_jupyter.strategies` refers to: a coroutine function."""

    async def __call__(self, run: Run) -> RunResult:
        """Solve the task of the run with its ports, and return the result.

        Emits the event of everything it does, except `RunFinished`. Model requests go through
        `pipeline.prompting.model_requests`, which charges and records them; code runs in forks of `run.root`.

        Raises:
            BudgetExceeded: the budget of the run is used up.
            EndpointError, KernelError: the endpoint or a kernel failed.
        """
