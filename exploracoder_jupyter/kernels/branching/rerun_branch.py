"""Branches by re-running: the implementation of the `Branch` port that works everywhere.

A branch is the list of steps that ran in it. `fork` copies the list; the first `run` of a fork takes a warm sibling, in
a fresh copy of the working directory, and repeats the list there, which restores memory and files. Output of the
repetition is dropped. When a list cannot be repeated (a step was cut off, or now ends differently), `run` returns an
observation that reports it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import anyio
import zmq.asyncio
from anyio import to_thread

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.types import Environment, Observation, Status
from exploracoder_jupyter.kernels.agent_programs import inspect, read_interpreter_facts
from exploracoder_jupyter.kernels.launcher import Launcher, open_launcher
from exploracoder_jupyter.kernels.observing.observation import (
    add_hidden_file_note,
    build_observation,
    state_lost_observation,
)
from exploracoder_jupyter.kernels.observing.output_collector import OutputCollector
from exploracoder_jupyter.kernels.processes.resource_watchdog import ResourceWatchdog
from exploracoder_jupyter.kernels.sandbox.syscall_filter import NO_FILTER_NOTE
from exploracoder_jupyter.kernels.sandbox.visible_home_files import VisibleFiles
from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import take_snapshot
from exploracoder_jupyter.kernels.sandbox.written_files import copy_written
from exploracoder_jupyter.kernels.sibling_factory import SiblingFactory
from exploracoder_jupyter.kernels.sibling_kernel import Sibling
from exploracoder_jupyter.kernels.sibling_protocol import AnySibling
from exploracoder_jupyter.kernels.warm_pool import CORES, Factory, WarmPool
from exploracoder_jupyter.kernels.zmq_context import close_context

_MAX_WARM: Final = 8


@dataclass(frozen=True, slots=True)
class Step:
    """Code that was run, and how it ended."""

    code: str
    timeout: float
    status: Status

    @property
    def is_repeatable(self) -> bool:
        """Whether the step finished by itself: it was neither interrupted nor did its kernel die."""
        return self.status in ("ok", "error")


class RerunSource(ABC):
    """The siblings of a run whose branches re-run. An async context manager; the same task must enter and leave it."""

    factory: Factory[Any]
    _environment: Environment

    def __init__(self, sandbox: Sandbox, *, workdir: Path, max_concurrent: int, warm_siblings: int) -> None:
        self._sandbox, self._workdir = sandbox, workdir.resolve()
        self._stack = AsyncExitStack()
        self._branches: set[RerunBranch] = set()
        self._warm_siblings = warm_siblings
        self.run_limiter = anyio.CapacityLimiter(max_concurrent)
        """Limits concurrent executions: with more, they would make each other time out."""

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            watch = await self._open(stack)
            stack.push_async_callback(self._close_branches)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            self._pool: WarmPool[AnySibling] = WarmPool(tasks, self.factory, size=self._warm_siblings)
            tasks.start_soon(watch)
            self._pool.warm_up()
            self._environment = await self._read_environment()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, traceback)

    @abstractmethod
    async def _open(self, stack: AsyncExitStack) -> Callable[[], Coroutine[Any, Any, None]]:
        """Set `factory`, and return what runs in the background while the siblings live."""

    @abstractmethod
    async def _read_environment(self) -> Environment: ...

    @property
    @abstractmethod
    def files(self) -> VisibleFiles | None:
        """The user's files that siblings can see; `None` on another machine."""

    @abstractmethod
    async def copy_written_files(self, sibling: AnySibling, folder: Path) -> tuple[str, ...]:
        """Copy what was written in the sibling's working directory; see `Branch.files`."""

    @property
    def output_kb(self) -> int:
        """Limit on the output kept from one execution."""
        return self._sandbox.output_kb

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user."""
        return ()

    def environment(self) -> Environment:
        """Return where the siblings run and how far they are isolated."""
        return self._environment

    async def root(self) -> RerunBranch:
        """Return a branch in the initial state."""
        return self.branch(())

    def branch(self, steps: tuple[Step, ...]) -> RerunBranch:
        """Return a branch in the state after these steps."""
        branch = RerunBranch(self, steps)
        self._branches.add(branch)
        return branch

    def discard(self, branch: RerunBranch) -> None:
        """Remove a branch that has been closed."""
        self._branches.discard(branch)

    def expect(self) -> None:
        """Start missing warm siblings in the background. Returns at once."""
        self._pool.warm_up()

    async def take(self) -> AnySibling:
        """Return a fresh sibling. Raises KernelError: no sibling could be started."""
        return await self._pool.take()

    async def dispose(self, sibling: AnySibling) -> None:
        """End the sibling for good. Idempotent; not interrupted by cancellation."""
        await self.factory.dispose(sibling)

    async def _close_branches(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._pool.close()
            async with anyio.create_task_group() as tasks:
                for branch in tuple(self._branches):
                    tasks.start_soon(branch.close)


class RerunSiblings(RerunSource):
    """The siblings of one run on this machine.

    `setup` is code that every sibling runs first; `variables` a folder written by
    `kernel_agent.variable_transfer.dump`.
    """

    factory: SiblingFactory

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        workdir: Path,
        setup: str = "",
        variables: Path | None = None,
        state: str = "fresh",
    ) -> None:
        super().__init__(
            sandbox, workdir=workdir, max_concurrent=max(4, CORES), warm_siblings=min(CORES, _MAX_WARM) + 1
        )
        self.state = state
        """Where experiments start, and why; recorded as `Environment.state`."""
        self._setup, self._variables = setup, variables

    async def _open(self, stack: AsyncExitStack) -> Callable[[], Coroutine[Any, Any, None]]:
        launcher = open_launcher(self._sandbox, workdir=self._workdir)
        self._launcher: Launcher = await stack.enter_async_context(launcher)
        self.factory = await self._make_factory(stack)
        self.watchdog = ResourceWatchdog(
            memory=self._launcher.memory, processes=self._sandbox.processes, disk=self._launcher.disk
        )
        return self.watchdog.run

    @property
    def files(self) -> VisibleFiles:
        """The user's files that siblings can see."""
        return self._launcher.files

    async def take(self) -> AnySibling:
        """Return a fresh sibling, watched from now on, or raise KernelError."""
        sibling = await super().take()
        assert isinstance(sibling, Sibling)
        self.watchdog.watch(sibling)
        return sibling

    async def copy_written_files(self, sibling: AnySibling, folder: Path) -> tuple[str, ...]:
        """Copy what was written in the sibling's working directory; see `Branch.files`."""
        work, snapshot = self.factory.workdir(sibling), self.factory.snapshot
        return await to_thread.run_sync(lambda: copy_written(work, snapshot, folder, most_mb=self._sandbox.copy_mb))

    def inspect(self, module: str, arguments: Sequence[str]) -> AsyncIterator[str]:
        """Run a module of `kernel_agent` in the siblings' interpreter; see `kernels.agent_programs.Inspect`."""
        return inspect(self._launcher, module, arguments, workdir=self._workdir)

    async def _read_environment(self) -> Environment:
        described = self._launcher.isolation.description
        unfiltered = "" if self._launcher.filter else NO_FILTER_NOTE
        return Environment(
            **await read_interpreter_facts(self.inspect),
            kernel=self._launcher.interpreter.name,
            isolation="; ".join(filter(None, [described, unfiltered, self.factory.snapshot.note])),
            branching="rerun",
            state=self.state,
        )

    async def _make_factory(self, stack: AsyncExitStack) -> SiblingFactory:
        launcher = self._launcher
        context = zmq.asyncio.Context()
        stack.callback(close_context, context)
        snapshot = await to_thread.run_sync(
            lambda: take_snapshot(
                self._workdir,
                launcher.folder / "files",
                most_mb=self._sandbox.copy_mb,
                hidden=(*launcher.files.hidden, launcher.folder),
                borrow=launcher.isolation.mounts,
            )
        )
        return SiblingFactory(launcher, snapshot, context, self._setup, self._variables)


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
            observed = await _execute(sibling, code, timeout=timeout, output_kb=self._siblings.output_kb)
            observation = add_hidden_file_note(observed, self._siblings.files)
            self._steps += (Step(code, timeout, observation.status),)
            if observation.status == "died":
                self._lost_reason = f"the state of this branch is lost: {observation.note}"
                await self._siblings.dispose(sibling)
            return observation

    async def fork(self, n: int) -> Sequence[RerunBranch]:
        """Return `n` branches that start from this state, which is reproduced at the first run of each."""
        return [self._siblings.branch(self._steps) for _ in range(n)]

    def expect(self, n: int) -> None:
        """Start missing warm siblings: any fork can use one, whatever its state."""
        self._siblings.expect()

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
        self._siblings.discard(self)
        if self._sibling is not None:
            await self._siblings.dispose(self._sibling)

    async def _ensure_sibling(self) -> AnySibling | None:
        """Return the sibling in this branch's state; `None`, with `_lost_reason` set, when that is impossible."""
        if self._lost_reason:
            return None
        if self._sibling is None:
            cut_off = next((step for step in self._steps if not step.is_repeatable), None)
            if cut_off is not None:
                self._lost_reason = (
                    f"the earlier state cannot be reproduced: one of its steps ended with {cut_off.status!r}"
                )
                return None
            self._sibling = await self._siblings.take()
            self._lost_reason = await self._repeat(self._sibling)
        return None if self._lost_reason else self._sibling

    async def _repeat(self, sibling: AnySibling) -> str:
        """Repeat the steps. Return an empty string, or the reason when a step ends differently than before."""
        for number, step in enumerate(self._steps, 1):
            again = await _execute(sibling, step.code, timeout=step.timeout, output_kb=self._siblings.output_kb)
            if again.status != step.status:
                why = again.error.headline if again.error else again.note or f"it ended with {again.status!r}"
                return f"the earlier state cannot be reproduced: step {number} of {len(self._steps)} gave {why}"
        return ""


async def _execute(sibling: AnySibling, code: str, *, timeout: float, output_kb: int) -> Observation:
    collector = OutputCollector(output_kb * 1000)
    result = await sibling.execute(code, timeout=timeout, collector=collector)
    return build_observation(result, collector, timeout=timeout)
