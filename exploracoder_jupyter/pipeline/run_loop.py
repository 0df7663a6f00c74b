"""A run's way through the plan, leg by leg, with the user's hand on the wheel.

A leg is the beginning (introduction and plan), one subtask, or the solution. The states before the subtasks are kept in
the order of the plan, so that one can go back to any of them. Where the run stands is changed at once when a control is
taken; the leg under way is cancelled if that makes it pointless, and the next one starts from there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import anyio

from exploracoder_jupyter.core.events import Estimated, PlanMade, ReviewAsked, Steered
from exploracoder_jupyter.core.settings import OFFLINE
from exploracoder_jupyter.core.types import Subtask
from exploracoder_jupyter.pipeline.exploring.carried_candidate import carry_forward
from exploracoder_jupyter.pipeline.exploring.planning import introduce, make_plan
from exploracoder_jupyter.pipeline.exploring.stop_criteria import stop_if_futile
from exploracoder_jupyter.pipeline.exploring.subtask_exploration import explore_subtask
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.retrieval.snippet_learning import store_snippets
from exploracoder_jupyter.pipeline.run_outcome import RunResult
from exploracoder_jupyter.pipeline.solving.solution import solve
from exploracoder_jupyter.pipeline.step_context import Run, State
from exploracoder_jupyter.pipeline.task_groups import task_group

_TOKENS_PER_SUBTASK = 13_000
"""Prompt and completion tokens a subtask takes at m = 5; the paper measured 56 k a problem (their Table 4)."""

_TOKENS_PER_TEST_CALL = 5_000
"""Of a request for test inputs, and of one for a judgement, as long as their prompts may be."""


class RunLoop:
    """Where a run is, and how it gets on."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.states: list[State] = []
        """The state before each subtask that has begun, and before what is under way; empty before there is a plan."""
        self.finished = False
        """Whether the ending is known."""
        self._branches: list[Branch] = []
        """Those of states that were reached, until they are ended."""
        self._phase = anyio.CancelScope()
        self._restarting = False
        self._approval: anyio.Event | None = None

    @property
    def current(self) -> int:
        """Position in the plan of the subtask under way; while the solution is, the length of the plan."""
        return len(self.states) - 1

    @property
    def reviewing(self) -> bool:
        """Whether the plan waits for the user's word."""
        return self._approval is not None and not self._approval.is_set()

    @property
    def _has_recorded_plan(self) -> bool:
        """Whether the plan is that of an earlier run."""
        return self.run.given is not None and bool(self.run.given.titles)

    @property
    def _was_reviewed(self) -> bool:
        """Whether the user has had a word on that plan."""
        return self._has_recorded_plan and self.run.given is not None and self.run.given.reviewed

    async def execute(self, listen: Callable[[], Coroutine[Any, Any, None]]) -> RunResult:
        """Go all the way; `listen` takes the controls meanwhile.

        Raises:
            BudgetSpent, Futile: the run stops with what it has.
        """
        async with task_group() as group:
            group.start_soon(listen)
            ending = await self._execute()
            self.finished = True
            group.cancel_scope.cancel()
        return ending

    def end_review(self) -> None:
        """End the review."""
        if self._approval:
            self._approval.set()

    def restart_phase(self) -> None:
        """Give up the leg under way, and go on from where the run now stands."""
        self._restarting = True
        self._phase.cancel()

    def skip_current(self) -> None:
        """Leave the subtask under way, in the state before it."""
        self.states.append(self.states[-1])
        self.restart_phase()

    def go_back_to(self, position: int) -> None:
        """Return to the state before the subtask at this position."""
        self.run.agenda.forget_choices(self.run.agenda.plan.subtasks[position:])
        del self.states[position + 1 :]
        self.restart_phase()

    async def close(self) -> None:
        """End the branches of all states."""
        await self._close_branches(self._branches)

    async def _execute(self) -> RunResult:
        await self._run_phase(self._prepare)
        if self.run.settings.review and self.run.steerable and not self._was_reviewed:
            await self._review()
        while True:
            await self._close_unreachable()
            at_end = self.current == len(self.run.agenda.plan.subtasks)
            if ending := await self._run_phase(self._solve if at_end else self._explore):
                return ending

    async def _run_phase(self, phase: Callable[[], Awaitable[RunResult | None]]) -> RunResult | None:
        """Go one leg within the budget of seconds; the ending if it was the last one."""
        self._restarting = False
        with anyio.move_on_after(self.run.meter.seconds_left) as self._phase:
            ending = await phase()
            return None if self._restarting else ending
        if self._restarting:
            return None
        raise self.run.meter.out_of_time()

    async def _prepare(self) -> None:
        run, given = self.run, self.run.given
        if not self._has_recorded_plan:
            self._estimate(run.settings.subtasks, at_most=True)
        introduction = await introduce(run)
        if given is not None and self._has_recorded_plan:
            run.agenda.adopt(given)
            run.emit(PlanMade(run.agenda.plan))
        else:
            run.root.expect(run.settings.candidates)
            await make_plan(run, introduction)
            run.agenda.add_hint(given.hint if given else "")
        self._estimate(len(run.agenda.plan.subtasks) - len(run.agenda.carried), at_most=False)
        self.states.append(State(introduction, run.root))

    async def _review(self) -> None:
        self._approval = anyio.Event()
        self.run.emit(ReviewAsked())
        with self.run.meter.paused():
            await self._approval.wait()

    async def _explore(self) -> None:
        before, subtask = self.states[-1], self.run.agenda.plan.subtasks[self.current]
        carried = await self._carry_over(before, subtask)
        after = carried or await explore_subtask(self.run, before, subtask)
        if after.branch is not before.branch:
            self._branches.append(after.branch)
        if not self._restarting:
            self.states.append(after)
            if carried is None:  # what failed in an earlier run is no reason to give up anew
                stop_if_futile(self.run, after)

    async def _carry_over(self, state: State, subtask: Subtask) -> State | None:
        """The state after a subtask that need not be explored; `None` where it has to be."""
        if subtask.id in self.run.agenda.skipped:
            return state
        if hint := self.run.agenda.unannounced.pop(subtask.id, ""):
            self.run.emit(Steered("retry", subtask=subtask.id, hint=hint))
        return await carry_forward(self.run, state, subtask)

    async def _solve(self) -> RunResult:
        state = self.states[-1]
        ending = await solve(self.run, state)
        await store_snippets(self.run, state.experience, ending)
        return ending

    async def _close_unreachable(self) -> None:
        """End the branches that no candidate will start from again: all but the last, where one cannot go back."""
        states = self.states if self.run.steerable else self.states[-1:]
        kept = [state.branch for state in states]
        left = [branch for branch in self._branches if branch not in kept]
        self._branches = [branch for branch in self._branches if branch in kept]
        await self._close_branches(left)

    async def _close_branches(self, branches: Sequence[Branch]) -> None:
        with anyio.CancelScope(shield=True):
            for branch in branches:
                await branch.close()

    def _estimate(self, subtasks: int, *, at_most: bool) -> None:
        """Calls and tokens to expect; a model that costs nothing needs no estimate."""
        tests = 2 if self.run.settings.tests else 0
        if self.run.model.name != OFFLINE:
            tokens = subtasks * _TOKENS_PER_SUBTASK + tests * _TOKENS_PER_TEST_CALL
            self.run.emit(Estimated(3 + 2 * subtasks + tests, tokens, at_most))
