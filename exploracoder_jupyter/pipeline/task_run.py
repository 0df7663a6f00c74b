"""Runs a task with a strategy, by default the exploration, and applies the controls of the user."""

from __future__ import annotations

from functools import partial
from typing import Protocol

import anyio

from exploracoder_jupyter.core.errors import BudgetExceeded, ExploraError, format_error
from exploracoder_jupyter.core.events import EffortChosen, Notice, PlanMade, RunFinished, Steered, SubtaskFinished
from exploracoder_jupyter.core.types import Plan, Solution, StopCause, Subtask, Verdict
from exploracoder_jupyter.pipeline.context import CHANGED_BY_USER, CHOSEN_BY_USER, Run, failure_notice, reporting
from exploracoder_jupyter.pipeline.exploring.planning import clean_titles
from exploracoder_jupyter.pipeline.exploring.subtasks import run_edited
from exploracoder_jupyter.pipeline.phase_loop import FirstPhase, Futile, PhaseLoop
from exploracoder_jupyter.pipeline.solving.solution import RunResult, to_solution
from exploracoder_jupyter.protocol.messages import Choose, Control, Explore, Replan, Retry, RunEdited, Skip

# A strategy: one method of turning a task into a solution. The exploration of this package is one of several.
#
# Strategies are registered as entry points in the group `exploracoder_jupyter.strategies` and selected by the
# setting `exploration.strategy`. They differ in method alone: all use the ports, limits and events of the same
# `Run`.


class Strategy(Protocol):
    """What an entry point in the group `exploracoder_jupyter.strategies` refers to: a coroutine function."""

    async def __call__(self, run: Run) -> RunResult:
        """Solve the task of the run with its ports, and return the result.

        Emits the event of everything it does, except `RunFinished`. Model requests go through
        `pipeline.prompting.requests`, which charges and records them; code runs in forks of `run.root`.

        Raises:
            BudgetExceeded: the budget of the run is used up.
            EndpointError, KernelError: the endpoint or a kernel failed.
        """


# Applies user controls to the running pipeline, or refuses them with a reason.

_MOST_SUBTASKS = 20
"""Limit for a plan that the user writes."""


class ControlHandler:
    """Handles the user controls of a run."""

    def __init__(self, loop: PhaseLoop) -> None:
        self._loop = loop
        self._run = loop.run
        self._agenda = loop.run.agenda

    async def listen(self) -> None:
        """Handle each control as it arrives; one that cannot be applied is answered by a notice."""
        while True:
            problem = self._apply(await self._run.steering.next())
            if problem:
                self._run.emit(Notice(problem, "warning"))

    def _apply(self, control: Control) -> str:
        """Apply a control; return the reason as a sentence if that is impossible, else an empty string."""
        if self._loop.finished:
            return "The run has finished: nothing was changed."
        if isinstance(control, Explore):
            if not self._loop.in_first_phase:
                return "The run explores already."
            self._run.emit(EffortChosen("explore", CHOSEN_BY_USER))
            self._loop.restart_phase()
            return ""
        if not self._loop.states:
            return "There is no plan yet: nothing was changed."
        if self._loop.reviewing and not isinstance(control, Replan):
            return "The plan is waiting for your review: accept or edit it first."
        match control:
            case Skip():
                return self._skip(control.subtask)
            case Retry():
                return self._retry(control.subtask, control.hint)
            case Choose():
                return self._choose(control.candidate)
            case RunEdited():
                return self._run_edited(control)
            case Replan():
                return self._replan(clean_titles(control.titles))

    def _skip(self, subtask: str) -> str:
        position = self._position(subtask)
        if position is None:
            return f"There is no subtask {subtask} to skip."
        if position < self._loop.current or subtask in self._agenda.skipped:
            return f"Subtask {subtask} has finished: it cannot be skipped."
        self._run.emit(Steered("skip", subtask))
        if position == self._loop.current:
            self._loop.skip_current()
        else:
            self._agenda.skipped.add(subtask)
        self._run.emit(SubtaskFinished(subtask, "skipped", "skipped by the user"))
        return ""

    def _retry(self, subtask: str, hint: str) -> str:
        position = self._begun_position(subtask)
        if position is None:
            return f"No subtask {subtask} has started: it cannot be explored again."
        self._run.emit(Steered("retry", subtask, hint=hint))
        self._loop.go_back_to(position)
        self._agenda.hints[subtask] = hint
        return ""

    def _choose(self, candidate: str) -> str:
        chosen = self._agenda.ran.get(candidate)
        if chosen is None:
            return f"Candidate {candidate} cannot be carried forward: no candidate of this name ran to completion."
        subtask = chosen.subtask.id
        position = self._begun_position(subtask)
        if position is None:
            return f"Candidate {candidate} cannot be carried forward: its subtask has not started again."
        if chosen.candidate in [item.candidate for item in self._loop.states[-1].experience]:
            return f"Candidate {candidate} is carried forward already."
        self._run.emit(Steered("choose", subtask, candidate))
        self._loop.go_back_to(position)
        self._agenda.chosen[subtask] = chosen
        return ""

    def _run_edited(self, control: RunEdited) -> str:
        position = self._begun_position(control.subtask)
        if position is None:
            return f"The edited candidate {control.candidate} was not run: its subtask has not started again."
        try:
            self._run.meter.check()
        except BudgetExceeded as spent:
            return f"The edited candidate {control.candidate} was not run: {spent}"
        subtask, state = self._agenda.plan.subtasks[position], self._loop.states[position]
        self._run.emit(Steered("edit", subtask.id, control.candidate))
        work = partial(run_edited, self._run, state, subtask, edited=control.candidate, code=control.code)
        self._loop.run_beside(position, work)
        return ""

    def _replan(self, titles: list[str]) -> str:
        plan, begun = self._agenda.plan, 0 if self._loop.reviewing else self._loop.current + 1
        done, rest = plan.subtasks[:begun], plan.subtasks[begun:]
        planned = [subtask.title for subtask in rest]
        titles = titles if titles == planned else _drop_begun(done, titles)
        if not (done or titles):
            return "A plan needs at least one subtask: nothing was changed."
        if len(done) + len(titles) > _MOST_SUBTASKS:
            return f"A plan can have at most {_MOST_SUBTASKS} subtasks: nothing was changed."
        self._run.emit(Steered("replan"))
        if titles != planned:
            subtasks = (*done, *self._match_titles(rest, titles))
            if self._loop.reviewing:
                subtasks = self._agenda.renumber(subtasks)
            self._agenda.plan, self._agenda.fixed = Plan(subtasks, plan.revision + 1), True
            self._run.emit(PlanMade(self._agenda.plan, CHANGED_BY_USER))
            if self._loop.current == len(plan.subtasks):  # the solution is being written
                self._loop.restart_phase()
        self._loop.end_review()
        return ""

    def _match_titles(self, rest: tuple[Subtask, ...], titles: list[str]) -> list[Subtask]:
        """Return the subtasks with these titles; those that stay in order keep their ids."""
        found: list[Subtask] = []
        left = list(rest)
        for title in titles:
            place = next((place for place, subtask in enumerate(left) if subtask.title == title), None)
            if place is None:
                found += self._agenda.new_subtasks([title])
            else:
                found.append(left[place])
                del left[: place + 1]
        return found

    def _position(self, subtask: str) -> int | None:
        ids = [item.id for item in self._agenda.plan.subtasks]
        return ids.index(subtask) if subtask in ids else None

    def _begun_position(self, subtask: str) -> int | None:
        """Return the position of a subtask that has started or finished."""
        position = self._position(subtask)
        return position if position is not None and position <= self._loop.current else None


def _drop_begun(done: tuple[Subtask, ...], titles: list[str]) -> list[str]:
    """Drop the titles of subtasks that started while the user was editing: those that lead the list."""
    begun = [subtask.title for subtask in done]
    most = min(len(begun), len(titles))
    known = max(count for count in range(most + 1) if begun[len(begun) - count :] == titles[:count])
    return titles[known:]


# Runs a task with a strategy: by default the exploration, which plans, explores every subtask and solves.
#
# Emits exactly one `RunFinished`, whatever happens: after a spent budget, a stop by the user or a fault, the result
# keeps what was learned and names the reason.


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
