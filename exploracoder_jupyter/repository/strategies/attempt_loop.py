"""Writes attempts until one passes its tests, no more are allowed, or the budget is spent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from exploracoder_jupyter.core.errors import BudgetExceeded
from exploracoder_jupyter.pipeline.solution_verdict import RunResult
from exploracoder_jupyter.repository.strategies.attempts import Attempts

WriteCode = Callable[[], Awaitable[str | None]]
"""Returns the next attempt; `None` if the model gives none."""


async def improve_until_passed(attempts: Attempts, first: WriteCode, improved: WriteCode) -> RunResult:
    """Write and test attempts, at most as many as `oracle_calls`, and return the result.

    Args:
        attempts: the attempts of the run, none yet.
        first: writes the first one.
        improved: writes another after the latest one has failed.
    """
    try:
        for number in range(attempts.run.settings.oracle_calls):
            code = await (improved() if number else first())
            if code is None or (await attempts.test(code)).report.complete:
                break
    except BudgetExceeded as reason:
        return attempts.finish(stopped=str(reason), cause="budget")
    return attempts.finish()
