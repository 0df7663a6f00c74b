"""Runs a task with a strategy: by default the exploration, which plans, explores every subtask and solves.

Emits exactly one `RunFinished`, whatever happens: after a spent budget, a stop by the user or a fault, the result keeps
what was learned and names the reason.
"""

from __future__ import annotations

import anyio

from exploracoder_jupyter.core.errors import BudgetExceeded, ExploraError, format_error
from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.types import Solution, StopCause, Verdict
from exploracoder_jupyter.pipeline.guarded_heuristics import failure_notice, reporting
from exploracoder_jupyter.pipeline.phase_loop import FirstPhase, Futile, PhaseLoop
from exploracoder_jupyter.pipeline.solution_verdict import RunResult, to_solution
from exploracoder_jupyter.pipeline.step_context import Run
from exploracoder_jupyter.pipeline.strategy import Strategy
from exploracoder_jupyter.pipeline.user_controls import ControlHandler


async def explore(run: Run, *, first: FirstPhase | None = None) -> RunResult:
    """Introduce, plan, explore every subtask, solve (ExploraCoder, section 3). The strategy `explore`.

    The phase `first`, before these, may return the result.
    """
    loop = PhaseLoop(run, first=first)
    try:
        return await loop.execute(ControlHandler(loop).listen)
    finally:
        await loop.close()


async def run_task(run: Run, strategy: Strategy = explore) -> RunResult:
    """Run the task: emit its events and return the result.

    What an endpoint, a kernel or a bug raises is raised here too, after `RunFinished`.
    """
    result = RunResult(None, Verdict("stopped", "The run was interrupted.", "user"))
    try:
        with reporting(run.emit), anyio.CancelScope() as scope, run.meter.limiting(scope):
            result = await strategy(run)
        if scope.cancelled_caught:
            raise run.meter.out_of_time()
    except (BudgetExceeded, Futile) as reason:
        result = _stop_result(run, str(reason), "budget" if isinstance(reason, BudgetExceeded) else "futile")
    except ExploraError as error:
        result = _stop_result(run, str(error), "error")
        raise
    except Exception as error:
        result = _stop_result(run, f"An internal error ended the run: {format_error(error)}.", "error")
        run.emit(failure_notice("An internal error ended the run:", error))
        raise
    except anyio.get_cancelled_exc_class():
        result = _stop_result(run, "The run was stopped by the user.", "user")
        raise
    finally:
        run.emit(RunFinished(result.verdict, result.solution, run.meter.total, dict(run.meter.by_step)))
    return result


def _stop_result(run: Run, reason: str, cause: StopCause) -> RunResult:
    """Join what was learned so far into one program, unverified as a whole, so that nothing that ran is lost."""
    ran = [item for item in run.progress.experience if item.observation.ran]
    attempts = [item for item in run.progress.attempts if item.observation.ran]
    solution = to_solution(attempts[-1]) if attempts else None
    if ran:
        code = "\n\n".join(f"# {item.subtask.title}\n{item.candidate.code}" for item in ran)
        apis = tuple(dict.fromkeys(path for item in ran for path in item.apis))
        solution = Solution(code, ran[-1].candidate.id, apis)
    return RunResult(solution, Verdict("stopped", reason, cause))
