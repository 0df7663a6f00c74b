"""The whole method as one function: introduce, plan, explore every subtask, solve.

Emits exactly one `RunFinished`, whatever happens: after a spent budget, a stop by the user or a fault, the result keeps
what was learned and names the reason.
"""

from __future__ import annotations

import anyio

from exploracoder_jupyter.core.errors import BudgetExceeded, ExploraError, format_error
from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.types import Experience, Solution, Verdict
from exploracoder_jupyter.pipeline.control_handling import ControlHandler
from exploracoder_jupyter.pipeline.exploring.stop_criteria import Futile
from exploracoder_jupyter.pipeline.guarded_heuristics import failure_notice, reporting
from exploracoder_jupyter.pipeline.run_loop import RunLoop
from exploracoder_jupyter.pipeline.run_outcome import RunResult
from exploracoder_jupyter.pipeline.step_context import Run, State


async def run_task(run: Run) -> RunResult:
    """Run the task: emit its events and return the result.

    Raises:
        EndpointError, KernelError, ...: an endpoint or kernel failed, or we have a bug (any other exception).
            `RunFinished` has been emitted all the same.
    """
    loop = RunLoop(run)
    result = RunResult(None, Verdict("stopped", "The run was interrupted."))
    try:
        with reporting(run.emit):
            result = await loop.execute(ControlHandler(loop).listen)
    except (BudgetExceeded, Futile) as reason:
        result = _stop_result(loop.states, str(reason))
    except ExploraError as error:
        result = _stop_result(loop.states, str(error))
        raise
    except Exception as error:
        result = _stop_result(loop.states, f"An internal error ended the run: {format_error(error)}.")
        run.emit(failure_notice("An internal error ended the run:", error))
        raise
    except anyio.get_cancelled_exc_class():
        result = _stop_result(loop.states, "The run was stopped by the user.")
        raise
    finally:
        run.emit(RunFinished(result.verdict, result.solution, run.meter.total, dict(run.meter.by_step)))
        await loop.close()
    return result


def _stop_result(states: list[State], reason: str) -> RunResult:
    """Join what was learned so far into one program, unverified as a whole, so that nothing that ran is lost."""
    experience = states[-1].experience if states else ()
    return RunResult(_join_programs(experience), Verdict("stopped", reason))


def _join_programs(experience: tuple[Experience, ...]) -> Solution | None:
    ran = [item for item in experience if item.observation.ran]
    if not ran:
        return None
    code = "\n\n".join(f"# {item.subtask.title}\n{item.candidate.code}" for item in ran)
    apis = tuple(dict.fromkeys(path for item in ran for path in item.apis))
    return Solution(code, ran[-1].candidate.id, apis)
