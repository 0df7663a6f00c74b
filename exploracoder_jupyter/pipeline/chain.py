"""The whole method as one function: introduce, plan, explore every subtask, solve.

Ends in exactly one `RunFinished`, whatever happens: a spent budget, a stop by the user or a fault keeps what was
learned and says why. Stops by itself when the same failure keeps coming back (the authors' future work).
"""

from __future__ import annotations

import anyio

from exploracoder_jupyter.config import OFFLINE
from exploracoder_jupyter.errors import BudgetSpent, ExploraError
from exploracoder_jupyter.events import Estimated, RunFinished
from exploracoder_jupyter.pipeline.context import Run, State
from exploracoder_jupyter.pipeline.explore import explore_subtask, failure
from exploracoder_jupyter.pipeline.plan import introduce, make_plan
from exploracoder_jupyter.pipeline.solve import Ending, solve
from exploracoder_jupyter.types import Experience, Solution, Verdict

_TOKENS_PER_SUBTASK = 13_000
"""Prompt and completion tokens a subtask takes at m = 5; the paper measured 56 k a problem (their Table 4)."""


class Futile(ExploraError):
    """Exploration cannot succeed; the message says why."""


async def run_task(run: Run) -> Ending:
    """Carry the task through; emits the events and returns the ending.

    Raises:
        EndpointError, KernelError, ...: our machinery failed, or is faulty (any other exception). `RunFinished` has
            been emitted all the same.
    """
    learned: list[State] = []
    ending = Ending(None, Verdict("stopped", "The run was interrupted."))
    try:
        with anyio.move_on_after(run.meter.seconds_left) as limit:
            ending = await _carry(run, learned)
        if limit.cancelled_caught:
            raise run.meter.out_of_time()
    except (BudgetSpent, Futile) as reason:
        ending = _stopped(learned, str(reason))
    except ExploraError as error:
        ending = _stopped(learned, str(error))
        raise
    except Exception as error:
        ending = _stopped(learned, f"This is a fault of the program: {type(error).__name__}: {error}")
        raise
    except anyio.get_cancelled_exc_class():
        ending = _stopped(learned, "The run was stopped by the user.")
        raise
    finally:
        run.emit(RunFinished(ending.verdict, ending.solution, run.meter.total, dict(run.meter.by_step)))
    return ending


async def _carry(run: Run, learned: list[State]) -> Ending:
    _estimate(run, run.settings.subtasks, at_most=True)
    introduction = await introduce(run)
    run.root.expect(run.settings.candidates)
    plan = await make_plan(run, introduction)
    _estimate(run, len(plan.subtasks), at_most=False)
    state = State(introduction, plan, run.root)
    done = 0
    while done < len(state.plan.subtasks):
        state = await explore_subtask(run, state, state.plan.subtasks[done])
        learned.append(state)
        done += 1
        stop_if_futile(run, state)
    return await solve(run, state)


def _estimate(run: Run, subtasks: int, *, at_most: bool) -> None:
    """Calls and tokens to expect; a model that costs nothing needs no estimate."""
    if run.model.name != OFFLINE:
        run.emit(Estimated(3 + 2 * subtasks, subtasks * _TOKENS_PER_SUBTASK, at_most))


def stop_if_futile(run: Run, state: State) -> None:
    """Raise Futile when the last two subtasks got no code or failed alike, or the library cannot be imported at all."""
    if len(state.codeless) > 1:
        raise Futile(f"The model gave no code for two subtasks in a row: {state.codeless[-1]}")
    if not state.experience or state.experience[-1].observation.ran:
        return
    last = state.experience[-1]
    error = last.observation.error
    roots = {info.name.partition(".")[0] for info in run.knowledge.libraries}
    if error and error.name == "ModuleNotFoundError" and any(f"'{root}'" in error.message for root in roots):
        raise Futile(f"Every candidate failed to import the library: {error.headline}.")
    before = state.experience[-2] if len(state.experience) > 1 else None
    if before and not before.observation.ran and failure(before) == failure(last):
        raise Futile(f"Two subtasks in a row failed in the same way: {failure(last)}.")


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
