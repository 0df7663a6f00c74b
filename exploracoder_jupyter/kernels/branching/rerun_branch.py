"""Branches by re-running: the implementation of the `Branch` port that works everywhere.

A branch is the list of steps that ran in it. `fork` copies the list; the first `run` of a fork takes a warm sibling, in
a fresh copy of the working directory, and repeats the list there, which restores memory and files. Output of the
repetition is dropped. When a list cannot be repeated (a step was cut off, or now ends differently), `run` returns an
observation that reports it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import to_thread

from exploracoder_jupyter.core.types import Environment, Observation, Status
from exploracoder_jupyter.kernels.launcher import open_launcher
from exploracoder_jupyter.kernels.output_collector import OutputCollector
from exploracoder_jupyter.kernels.processes.watching import ResourceWatchdog
from exploracoder_jupyter.kernels.sandbox.views import VisibleFiles
from exploracoder_jupyter.kernels.sandbox.working_directory import copy_written
from exploracoder_jupyter.kernels.sibling_kernel import (
    AnySibling,
    Sibling,
    add_hidden_file_note,
    build_observation,
    open_context,
    state_lost_observation,
)
from exploracoder_jupyter.kernels.siblings import CORES, LocalSiblings, SiblingFactory, Siblings, WarmPool, run_setup

_MAX_WARM: Final = 8


@dataclass(frozen=True, slots=True)
class Step:
    """Code that was run, and how it ended."""

    code: str
    timeout: float
    status: Status


class RerunSource(Siblings):
    """The siblings of a run whose branches re-run."""

    factory: Any
    """Starts and disposes of siblings."""
    max_concurrent = max(4, CORES)
    warm_siblings = min(CORES, _MAX_WARM) + 1

    async def _open(self, stack: AsyncExitStack) -> None:
        watch = await self._open_factory(stack)
        self.run_limiter = anyio.CapacityLimiter(self.max_concurrent)
        """Limits concurrent executions: with more, they would make each other time out."""
        self.branches: set[RerunBranch] = set()
        stack.push_async_callback(self._close_branches)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        self.pool: WarmPool[AnySibling] = WarmPool(tasks, self._start, self.factory.dispose, size=self.warm_siblings)
        tasks.start_soon(watch)
        self.pool.warm_up()

    @abstractmethod
    async def _open_factory(self, stack: AsyncExitStack) -> Callable[[], Coroutine[Any, Any, None]]:
        """Set `factory`, and return what runs in the background while the siblings live."""

    @property
    @abstractmethod
    def files(self) -> VisibleFiles | None:
        """The user's files that siblings can see; `None` on another machine."""

    @abstractmethod
    async def copy_written_files(self, sibling: AnySibling, folder: Path) -> tuple[str, ...]:
        """Copy what was written in the sibling's working directory; see `Branch.files`."""

    async def root(self) -> RerunBranch:
        """Return a branch in the initial state."""
        return self.branch(())

    def branch(self, steps: tuple[Step, ...]) -> RerunBranch:
        """Return a branch in the state after these steps."""
        branch = RerunBranch(self, steps)
        self.branches.add(branch)
        return branch

    async def take(self) -> AnySibling:
        """Return a fresh sibling. Raises KernelError: no sibling could be started."""
        return await self.pool.take()

    async def _start(self) -> AnySibling:
        sibling: AnySibling = await self.factory.start()
        try:
            await run_setup(sibling, self._setup)
        except BaseException:
            await self.factory.dispose(sibling)
            raise
        return sibling

    async def _close_branches(self) -> None:
        with anyio.CancelScope(shield=True):
            await self.pool.close()
            async with anyio.create_task_group() as tasks:
                for branch in tuple(self.branches):
                    tasks.start_soon(branch.close)


class RerunSiblings(LocalSiblings, RerunSource):
    """The siblings of one run on this machine."""

    factory: SiblingFactory
    state = "fresh"

    async def _open_factory(self, stack: AsyncExitStack) -> Callable[[], Coroutine[Any, Any, None]]:
        launcher = await stack.enter_async_context(open_launcher(self.sandbox, workdir=self._workdir))
        self._launcher = launcher
        context = stack.enter_context(open_context())
        snapshot = await launcher.snapshot(self._workdir, borrow=launcher.isolation.mounts)
        self.factory = SiblingFactory(launcher, snapshot, context, self._variables)
        self._watchdog = ResourceWatchdog(memory=launcher.memory, processes=self.sandbox.processes, disk=launcher.disk)
        return self._watchdog.run

    async def _read_environment(self) -> Environment:
        launcher, snapshot = self._launcher, self.factory.snapshot
        return await self._describe_environment(launcher.isolation.description, launcher.filter, snapshot, "rerun")

    @property
    def files(self) -> VisibleFiles:
        """The user's files that siblings can see."""
        return self._launcher.files

    async def take(self) -> AnySibling:
        """Return a fresh sibling, watched from now on, or raise KernelError."""
        sibling = await super().take()
        assert isinstance(sibling, Sibling)
        self._watchdog.watch(sibling)
        return sibling

    async def copy_written_files(self, sibling: AnySibling, folder: Path) -> tuple[str, ...]:
        """Copy what was written in the sibling's working directory; see `Branch.files`."""
        assert isinstance(sibling, Sibling) and sibling.process.folder is not None
        work, most_mb = sibling.process.folder / "work", self.sandbox.copy_mb
        return await to_thread.run_sync(lambda: copy_written(work, self.factory.snapshot, folder, most_mb=most_mb))


class RerunBranch:
    """One state: a `Branch` that is reproduced by repeating its steps."""

    def __init__(self, siblings: RerunSource, steps: tuple[Step, ...]) -> None:
        self._siblings = siblings
        self._steps = steps
        self._sibling: AnySibling | None = None
        self._lost_reason = ""
        self._run_lock = anyio.Lock()

    async def run(self, code: str, *, timeout: float) -> Observation:
        """Run code here, which changes this state. One call at a time: a second one waits for the first. Raises
        KernelError: the sibling could not be started at all."""
        async with self._run_lock, self._siblings.run_limiter:
            sibling = await self._ensure_sibling()
            if sibling is None:
                return state_lost_observation(self._lost_reason)
            observed = await _execute(sibling, code, timeout=timeout, output_kb=self._siblings.sandbox.output_kb)
            observation = add_hidden_file_note(observed, self._siblings.files)
            self._steps += (Step(code, timeout, observation.status),)
            if observation.status == "died":
                self._lost_reason = f"the state of this branch is lost: {observation.note}"
                await self._siblings.factory.dispose(sibling)
            return observation

    async def fork(self, n: int) -> Sequence[RerunBranch]:
        """Return `n` branches that start from this state, which is reproduced at the first run of each."""
        return [self._siblings.branch(self._steps) for _ in range(n)]

    def expect(self, n: int) -> None:
        """Start missing warm siblings: any fork can use one, whatever its state."""
        self._siblings.pool.warm_up()

    async def files(self, folder: Path) -> tuple[str, ...]:
        """Copy what was written in this branch since the root into a new folder; return the relative paths copied.
        Raises OSError: the folder cannot be written."""
        async with self._run_lock:
            if self._sibling is None or self._lost_reason:
                return ()
            return await self._siblings.copy_written_files(self._sibling, folder)

    async def close(self) -> None:
        """End the kernel and every process that it started. Idempotent."""
        self._lost_reason = self._lost_reason or "this branch was closed"
        self._siblings.branches.discard(self)
        if self._sibling is not None:
            await self._siblings.factory.dispose(self._sibling)

    async def _ensure_sibling(self) -> AnySibling | None:
        """Return the sibling in this branch's state; `None`, with `_lost_reason` set, when that is impossible."""
        if self._lost_reason:
            return None
        if self._sibling is None:
            for step in self._steps:
                if step.status not in ("ok", "error"):  # it was interrupted, or its kernel died
                    self._lost_reason = (
                        f"the earlier state cannot be reproduced: one of its steps ended with {step.status!r}"
                    )
                    return None
            self._sibling = await self._siblings.take()
            self._lost_reason = await self._repeat(self._sibling)
        return None if self._lost_reason else self._sibling

    async def _repeat(self, sibling: AnySibling) -> str:
        """Repeat the steps. Return an empty string, or the reason when a step ends differently than before."""
        for number, step in enumerate(self._steps, 1):
            again = await _execute(sibling, step.code, timeout=step.timeout, output_kb=self._siblings.sandbox.output_kb)
            if again.status != step.status:
                why = again.error.headline if again.error else again.note or f"it ended with {again.status!r}"
                return f"the earlier state cannot be reproduced: step {number} of {len(self._steps)} gave {why}"
        return ""


async def _execute(sibling: AnySibling, code: str, *, timeout: float, output_kb: int) -> Observation:
    collector = OutputCollector(output_kb * 1000)
    result = await sibling.execute(code, timeout=timeout, collector=collector)
    return build_observation(result, collector, timeout=timeout)
