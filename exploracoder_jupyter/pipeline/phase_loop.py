"""Runs the phases of an exploration and lets the user steer it meanwhile.

A phase is the preparation (introduction and plan), one subtask, or the solution. The states before the subtasks are
kept in the order of the plan, so that the run can return to any of them. A user control changes the current position at
once; if that makes the current phase pointless, the phase is cancelled and the next one starts from the new position.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup

from exploracoder_jupyter.core.configuration.sections import OFFLINE
from exploracoder_jupyter.core.errors import ExploraError
from exploracoder_jupyter.core.events import PlanMade, ReviewAsked, Steered
from exploracoder_jupyter.core.types import Introduction
from exploracoder_jupyter.pipeline.concurrency import task_group
from exploracoder_jupyter.pipeline.context import Run, State, close_branches, heuristic, merge_apis
from exploracoder_jupyter.pipeline.exploring.planning import introduce, make_plan
from exploracoder_jupyter.pipeline.exploring.selection import failure_kind
from exploracoder_jupyter.pipeline.exploring.subtasks import carry_forward, explore_subtask, first_candidates
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.prompting.requests import describe_cut
from exploracoder_jupyter.pipeline.retrieval.snippet_learning import store_snippets
from exploracoder_jupyter.pipeline.solving.program_execution import run_quoted_code
from exploracoder_jupyter.pipeline.solving.solution import RunResult, solve

# Announces what a run will probably cost, before it spends anything: requests, tokens and their price.

_TOKENS_PER_SUBTASK: Final = 13_000
"""Prompt and completion tokens of one subtask as published at m = 5; the paper measured 56 k per problem (Table 4)."""
_TOKENS_PER_REQUEST: Final = 6_000
"""Prompt and completion tokens of one request of the exploration otherwise, with prompts of maximum length."""
_TOKENS_PER_TEST_CALL: Final = 5_000
"""Tokens of one request for test inputs, or for one judgement, with prompts of maximum length."""
_TOKENS_PER_PROGRAM: Final = 4_000
"""Prompt and completion tokens of one program or repair; 2,400 at first (benchmarks/MEASUREMENTS.md)."""


def announce_programs(run: Run, requests: int) -> None:
    """Emit the most that programs written at once will take: one request each."""
    run.emit(run.meter.estimate(requests, requests * _TOKENS_PER_PROGRAM, at_most=True))


def announce_exploration(run: Run, subtasks: int, *, at_most: bool) -> None:
    """Emit what an exploration of so many subtasks will take; a model that costs nothing needs no estimate."""
    if run.model.name == OFFLINE:
        return
    tests = 2 if run.settings.tests else 0
    calls, tokens = 3 + 2 * subtasks, subtasks * _TOKENS_PER_SUBTASK
    if not run.as_published:
        calls, tokens = 2 + subtasks, (2 + subtasks) * _TOKENS_PER_REQUEST
    tokens += tests * _TOKENS_PER_TEST_CALL
    run.emit(run.meter.estimate(calls + tests, tokens, at_most=at_most))


FirstPhase = Callable[[], Awaitable[RunResult | None]]
"""A phase before the exploration, which may return the result of the run."""


class Futile(ExploraError):
    """Exploration cannot succeed; the message states why."""


class PhaseLoop:
    """Tracks the position of a run and runs its phases."""

    def __init__(self, run: Run, *, first: FirstPhase | None = None) -> None:
        self.run = run
        self._first = first
        self.states: list[State] = []
        """The state before each subtask that has started, and before the current phase; empty until there is a plan."""
        self.finished = False
        """Whether the result is known."""
        self._branches: list[Branch] = []
        """Branches of the states reached so far that are not closed yet."""
        self._phase = anyio.CancelScope()
        self._restarting = False
        self._approval: anyio.Event | None = None
        self._group: TaskGroup | None = None
        self._beside: list[tuple[int, anyio.CancelScope]] = []
        """What runs beside the phases, with the position of the subtask that it belongs to."""

    @property
    def current(self) -> int:
        """Position of the current subtask in the plan; the length of the plan during the solution phase."""
        return len(self.states) - 1

    @property
    def reviewing(self) -> bool:
        """Whether the run waits for the user to review the plan."""
        return self._approval is not None and not self._approval.is_set()

    async def execute(self, listen: Callable[[], Coroutine[Any, Any, None]]) -> RunResult:
        """Run all phases; `listen` handles user controls meanwhile."""
        async with task_group() as group:
            group.start_soon(listen)
            async with task_group() as self._group:  # waits for what runs beside the last phase
                result = await self._execute()
                self.finished = True
            group.cancel_scope.cancel()
        return result

    def run_beside(self, position: int, work: Callable[[], Awaitable[None]]) -> None:
        """Run something in the state before the subtask at this position, until the run returns to an earlier one."""
        scope = anyio.CancelScope()

        async def run() -> None:
            with scope:
                await work()

        self._beside.append((position, scope))
        if self._group:
            self._group.start_soon(run)

    @property
    def in_first_phase(self) -> bool:
        """Whether the run is still in the phase before the exploration."""
        return self._first is not None

    def end_review(self) -> None:
        """End the review of the plan."""
        if self._approval:
            self._approval.set()

    def restart_phase(self) -> None:
        """Cancel the current phase and continue from the current position."""
        self._restarting = True
        self._phase.cancel()

    def skip_current(self) -> None:
        """Skip the current subtask and keep the state before it."""
        self.states.append(self.states[-1])
        self.restart_phase()

    def go_back_to(self, position: int) -> None:
        """Return to the state before the subtask at this position."""
        self.run.agenda.forget_choices(self.run.agenda.plan.subtasks[position:])
        del self.states[position + 1 :]
        for place, scope in self._beside:
            if place > position:
                scope.cancel()
        self.restart_phase()

    async def close(self) -> None:
        """Close the branches of all states."""
        await close_branches(self._branches)

    async def _execute(self) -> RunResult:
        if self._first and (result := await self._run_phase(self._first)):
            return result
        self._first = None
        await self._run_phase(self._prepare)
        given = self.run.given
        reviewed = given is not None and given.titles and given.reviewed
        if self.run.settings.review and self.run.steerable and not reviewed:
            self._approval = anyio.Event()
            self.run.emit(ReviewAsked())
            with self.run.meter.paused():
                await self._approval.wait()
        while True:
            # No candidate will start again from other branches than the last, unless the run can be steered.
            reachable = [state.branch for state in (self.states if self.run.steerable else self.states[-1:])]
            unreachable = [branch for branch in self._branches if branch not in reachable]
            self._branches = [branch for branch in self._branches if branch in reachable]
            await close_branches(unreachable)
            self.run.progress.experience = self.states[-1].experience
            at_end = self.current == len(self.run.agenda.plan.subtasks)
            if result := await self._run_phase(self._solve if at_end else self._explore):
                return result

    async def _run_phase(self, phase: Callable[[], Awaitable[RunResult | None]]) -> RunResult | None:
        """Run one phase; return the result if it was the last one."""
        self._restarting = False
        with anyio.CancelScope() as self._phase:
            result = await phase()
            return None if self._restarting else result
        return None

    async def _prepare(self) -> None:
        """Introduce and plan."""
        run, given = self.run, self.run.given
        if given is None or not given.titles:
            announce_exploration(run, run.settings.subtasks, at_most=True)
        introduction = await introduce(run)
        state = State(introduction if run.asks_always else Introduction(""), run.root)
        if given is not None and given.titles:
            run.agenda.adopt(given)
            run.emit(PlanMade(run.agenda.plan))
        else:
            if not (run.asks_always or run.progress.seen):
                run.progress.seen = await run_quoted_code(run)
            run.root.expect(first_candidates(run))
            if not run.asks_always:  # APIs for the task as a whole: those found when it was tried at once come first
                found = await run.knowledge.search(run.task.text, run.settings.retrieved)
                state = replace(state, retrieved=merge_apis(run.progress.found, tuple(item.api for item in found)))
            await make_plan(run, introduction, state.retrieved)
            run.agenda.add_hint(given.hint if given else "")
        announce_exploration(run, len(run.agenda.plan.subtasks) - len(run.agenda.carried), at_most=False)
        self.states.append(state)

    async def _explore(self) -> None:
        run, before = self.run, self.states[-1]
        subtask = run.agenda.plan.subtasks[self.current]
        carried: State | None = before
        if subtask.id not in run.agenda.skipped:
            if hint := run.agenda.unannounced.pop(subtask.id, ""):
                run.emit(Steered("retry", subtask=subtask.id, hint=hint))
            carried = await carry_forward(run, before, subtask)
        after = carried or await explore_subtask(run, before, subtask)
        if after.branch is not before.branch:
            self._branches.append(after.branch)
        if not self._restarting:
            self.states.append(after)
            # Failures carried over from an earlier run do not count as futile.
            if carried is None and not run.as_published:
                _stop_if_futile(run, after)

    async def _solve(self) -> RunResult:
        state = self.states[-1]
        result = await solve(self.run, state)
        await store_snippets(self.run, state.experience, result)
        return result


@heuristic("checking whether to stop", lambda run, state: None)
def _stop_if_futile(run: Run, state: State) -> None:
    """Raise Futile if the same failure keeps recurring (future work of the paper).

    That is when the last two subtasks got no code or failed in the same way, or when the library cannot be imported at
    all.
    """
    if len(state.no_code_problems) > 1:
        if run.model.name == OFFLINE:
            raise Futile("The offline model found no documented calls for two subtasks in a row.")
        _, remedy = describe_cut(run.progress.cut)
        raise Futile(f"The model gave no code for two subtasks in a row: {state.no_code_problems[-1]} {remedy}".strip())
    failed = [item for item in state.experience[-2:] if not item.observation.ran]
    if not failed or failed[-1] is not state.experience[-1]:
        return
    kind, error = failure_kind(failed[-1]), failed[-1].observation.error
    roots = {info.name.partition(".")[0] for info in run.knowledge.libraries}
    if error and error.name == "ModuleNotFoundError" and any(f"'{root}'" in error.message for root in roots):
        raise Futile(f"Every candidate failed to import the library: {error.headline}.")
    if len(failed) > 1 and failure_kind(failed[0]) == kind:
        raise Futile(f"Two subtasks in a row failed in the same way: {kind}.")
