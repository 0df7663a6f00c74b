"""Executes recorded code again: each piece in a fork of the state that it started from, in one set of siblings.

States form a tree. A branch is closed as soon as no remaining execution starts from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import anyio

from exploracoder_jupyter.core.errors import BranchingChanged, KernelError
from exploracoder_jupyter.core.types import Observation, Task
from exploracoder_jupyter.pipeline.async_task_groups import task_group
from exploracoder_jupyter.pipeline.branch_operations import MOST_CHANGES, accept_own_end, close_branches
from exploracoder_jupyter.pipeline.exploring.result_objection import refuse_invented
from exploracoder_jupyter.pipeline.ports import Branch
from exploracoder_jupyter.pipeline.solving.program_execution import run_on_input, run_with_check
from exploracoder_jupyter.pipeline.solving.user_check import CheckCode
from exploracoder_jupyter.runs.trace_check import relocated_paths
from exploracoder_jupyter.trace.recorded_executions import Execution

_T = TypeVar("_T")
_STATE_LOST = "StateLost"
_SLOWDOWN = 3
"""Factor by which a long execution may take longer than recorded, because this machine may be slower."""


@dataclass(frozen=True, slots=True)
class ExecutionOptions:
    """Options for all executions of a check."""

    timeout: float
    """Time limit of an execution in the run, in seconds."""
    task: Task
    probe: CheckCode | None
    """The user's check of a solution."""
    parallel: int
    done: Callable[[str], None]
    """Called with the id of each finished execution."""


def with_ancestors(ids: Iterable[str], every: Sequence[Execution]) -> tuple[Execution, ...]:
    """Return the executions with these ids and all that they start from, in recorded order."""
    parents = {one.id: one.parent for one in every}
    needed: set[str] = set()
    for id_ in ids:
        while id_ in parents and id_ not in needed:
            needed.add(id_)
            id_ = parents[id_]
    return tuple(one for one in every if one.id in needed)


async def execute_again(root: Branch, chosen: Sequence[Execution], how: ExecutionOptions) -> Mapping[str, Observation]:
    """Execute everything again and return the observations by id.

    Executions whose starting state was lost are missing.

    Raises:
        KernelError: no kernel could be started.
    """
    following: dict[str, list[Execution]] = {}
    ids = {one.id for one in chosen}
    for one in chosen:
        following.setdefault(one.parent if one.parent in ids else "", []).append(one)
    return await retry_on_branching_change(lambda: _Pass(how, following).run(root))


async def retry_on_branching_change(work: Callable[[], Awaitable[_T]]) -> _T:
    """Return the result of `work`, restarted if the method of branching changes."""
    for _ in range(MOST_CHANGES):
        with suppress(BranchingChanged):
            return await work()
    return await work()


@dataclass(slots=True)
class _Pass:
    how: ExecutionOptions
    following: dict[str, list[Execution]]
    """The executions that start from each id."""
    limiter: anyio.CapacityLimiter = field(init=False)
    seen: dict[str, Observation] = field(default_factory=dict)

    async def run(self, root: Branch) -> Mapping[str, Observation]:
        self.limiter = anyio.CapacityLimiter(self.how.parallel)
        await self._execute_children("", root)
        return self.seen

    async def _execute_children(self, id_: str, branch: Branch) -> None:
        async with task_group() as group:
            for one in self.following.get(id_, ()):
                group.start_soon(self._execute, one, branch)

    async def _execute(self, one: Execution, base: Branch) -> None:
        async with self.limiter:
            branch = await self._fork(base, one)
            if branch is None:
                return
            try:
                observation = await _observe(one, branch, self.how)
            except BaseException:
                await close_branches([branch])
                raise
        if not never_ran(observation):
            self.seen[one.id] = observation
        self.how.done(one.id)
        try:
            await self._execute_children(one.id, branch)
        finally:
            await close_branches([branch])

    async def _fork(self, base: Branch, one: Execution) -> Branch | None:
        try:
            [branch] = await base.fork(1)
        except BranchingChanged:
            raise
        except KernelError:
            if not one.parent:  # the root state cannot have been lost
                raise
            return None
        return branch


def never_ran(observation: Observation) -> bool:
    """Whether the code did not run at all, because its starting state was lost."""
    error = observation.error
    return observation.status == "died" and error is not None and error.name == _STATE_LOST and not observation.outputs


async def _observe(one: Execution, branch: Branch, how: ExecutionOptions) -> Observation:
    duration = 0.0 if one.observation.status == "timeout" else min(one.observation.seconds, how.timeout)
    seconds = max(how.timeout, _SLOWDOWN * duration)

    async def step(code: str) -> Observation:
        return await branch.run(relocated_paths.expand_home(code), timeout=seconds)

    if one.given is not None:
        return (await run_on_input(step, one.code, one.given)).observation
    if one.kind == "solution":
        observed = await run_with_check(step, one.code, how.probe)
    else:
        observed = accept_own_end(await step(one.code))
    return observed if one.observation.unmet != "input" else refuse_invented(how.task, one.code, observed)
