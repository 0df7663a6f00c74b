"""The whole method as one function: introduce, plan, explore every subtask, solve.

Ends in exactly one `RunFinished`, whatever happens: a spent budget, a stop by the user or a fault keeps what was
learned and says why.
"""

from __future__ import annotations

import anyio

from exploracoder_jupyter.core.errors import BudgetSpent, ExploraError, described
from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.types import Experience, Solution, Verdict
from exploracoder_jupyter.pipeline.control_handling import Helm
from exploracoder_jupyter.pipeline.exploring.stop_criteria import Futile
from exploracoder_jupyter.pipeline.heuristics import failure_notice, reporting
from exploracoder_jupyter.pipeline.run_loop import Course
from exploracoder_jupyter.pipeline.run_outcome import Ending
from exploracoder_jupyter.pipeline.step_context import Run, State


async def run_task(run: Run) -> Ending:
    """Carry the task through; emits the events and returns the ending.

    Raises:
        EndpointError, KernelError, ...: our machinery failed, or is faulty (any other exception). `RunFinished` has
            been emitted all the same.
    """
    course = Course(run)
    ending = Ending(None, Verdict("stopped", "The run was interrupted."))
    try:
        with reporting(run.emit):
            ending = await course.travel(Helm(course).listen)
    except (BudgetSpent, Futile) as reason:
        ending = _stopped(course.states, str(reason))
    except ExploraError as error:
        ending = _stopped(course.states, str(error))
        raise
    except Exception as error:
        ending = _stopped(course.states, f"An internal error ended the run: {described(error)}.")
        run.emit(failure_notice("An internal error ended the run:", error))
        raise
    except anyio.get_cancelled_exc_class():
        ending = _stopped(course.states, "The run was stopped by the user.")
        raise
    finally:
        run.emit(RunFinished(ending.verdict, ending.solution, run.meter.total, dict(run.meter.by_step)))
        await course.close()
    return ending


def _stopped(learned: list[State], reason: str) -> Ending:
    """What was learned so far as one program, unverified as a whole: nothing that ran is lost."""
    experience = learned[-1].experience if learned else ()
    return Ending(_joined(experience), Verdict("stopped", reason))


def _joined(experience: tuple[Experience, ...]) -> Solution | None:
    ran = [item for item in experience if item.observation.ran]
    if not ran:
        return None
    code = "\n\n".join(f"# {item.subtask.title}\n{item.candidate.code}" for item in ran)
    apis = tuple(dict.fromkeys(path for item in ran for path in item.apis))
    return Solution(code, ran[-1].candidate.id, apis)
