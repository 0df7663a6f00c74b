"""Branches by forking, and the siblings of a run where states are branched so."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio
import zmq.asyncio
from anyio import to_thread
from anyio.abc import TaskStatus

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import BranchingChanged, KernelError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import Environment, Observation
from exploracoder_jupyter.kernels.branching.forker import (
    Forker,
    ForkRefused,
    ForkRequestBuilder,
    host_path,
    libraries_that_hung,
    record_hang,
)
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSiblings, Step
from exploracoder_jupyter.kernels.launcher import open_launcher
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.kernels.output_collector import OutputCollector
from exploracoder_jupyter.kernels.processes.forked_process import ForkedProcess
from exploracoder_jupyter.kernels.processes.processes import LaunchSpec, start_sibling
from exploracoder_jupyter.kernels.processes.watching import ResourceWatchdog, StallDetector
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import SandboxLevel
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import Isolation
from exploracoder_jupyter.kernels.sandbox.working_directory import copy_written
from exploracoder_jupyter.kernels.sibling_kernel import (
    Sibling,
    add_hidden_file_note,
    build_observation,
    open_context,
    state_lost_observation,
)
from exploracoder_jupyter.kernels.siblings import (
    CORES,
    LocalSiblings,
    WarmPool,
    make_private_folders,
    run_setup,
    startup_arguments,
)
from exploracoder_jupyter.pipeline.ports import Branch

# Branches by forking: the implementation of the `Branch` port for Linux.
#
# A branch is a process that runs a kernel; `fork` creates processes that start from its memory, shared until
# written, and from a copy of its files. The root is itself a fork, of a fresh kernel or of the caller's live one:
# it is confined and never runs anything, so that its state does not change. Expected forks are made ahead, while
# the model is still writing.

_POLL_SECONDS: Final = 0.3
_VERIFY_SECONDS: Final = 20.0


class ForkBranch:
    """One state: a `Branch` that is a forked kernel, or the state of the root until code runs in it."""

    def __init__(
        self, siblings: ForkSiblings, sibling: Sibling | None, parent_pool: WarmPool[Sibling], steps: tuple[Step, ...]
    ) -> None:
        self._siblings, self._sibling, self._parent_pool, self._steps = siblings, sibling, parent_pool, steps
        self._pool: WarmPool[Sibling] | None = None
        self._stall_detector: StallDetector | None = None
        self._lost_reason = ""
        self._run_lock = anyio.Lock()

    @property
    def process(self) -> ForkedProcess | None:
        """The forked process; `None` before the fork."""
        process = self._sibling.process if self._sibling else None
        return process if isinstance(process, ForkedProcess) else None

    async def run(self, code: str, *, timeout: float) -> Observation:
        """Run code here, which changes this state. One call at a time: a second one waits for the first. Raises
        BranchingChanged: the code hung because of something that a fork does not carry, or this state cannot be forked;
        KernelError: the process could not be created at all."""
        async with self._run_lock, self._siblings.run_limiter:
            if self._lost_reason:
                return state_lost_observation(self._lost_reason)
            await self._close_pool()
            sibling = await self._ensure_sibling()
            observed = await self._execute(sibling, code, timeout)
            observation = add_hidden_file_note(observed, self._siblings.forker.orders.launcher.files)
            self._steps += (Step(code, timeout, observation.status),)
            if observation.status == "died" or not sibling.is_alive:
                self._lost_reason = f"the state of this branch is lost: {observation.note}"
                await sibling.close()
            return observation

    async def fork(self, n: int) -> Sequence[Branch]:
        """Return `n` branches that start from this state; each is already a process. Raises BranchingChanged: this
        state cannot be forked; call again for branches that re-run; KernelError: a fork could not be made, or this
        state is lost."""
        async with self._run_lock:
            if self._siblings.rerun_siblings is not None:
                return [self._siblings.rerun_siblings.branch(self._steps) for _ in range(n)]
            if self._lost_reason:
                raise KernelError(f"This branch cannot be forked: {self._lost_reason}.")
            pool = self._fork_pool()
            pool.expect(n)
            forks: list[ForkBranch] = []
            try:
                while len(forks) < n:
                    forks.append(self._siblings.branch(await pool.take(), self._parent_pool, self._steps))
            except BaseException as error:
                with anyio.CancelScope(shield=True):
                    for branch in forks:
                        await branch.close()
                if isinstance(error, ForkRefused):
                    raise await self._siblings.switch_to_rerunning(error) from None
                raise
            return forks

    def expect(self, n: int) -> None:
        """Prepare `n` forks in the background. Returns at once."""
        if self._siblings.rerun_siblings is not None:
            self._siblings.rerun_siblings.pool.warm_up()
        elif not self._lost_reason:
            self._fork_pool().expect(n)

    async def files(self, folder: Path) -> tuple[str, ...]:
        """Copy what was written in this branch since the root into a new folder; see `Branch.files`."""
        process = self.process
        if process is None or not process.is_alive:
            return ()
        orders = self._siblings.forker.orders
        work = Path(host_path(str(process.home / ("up" if orders.level.overlay else "work")), process))
        most = orders.launcher.sandbox.copy_mb
        return await to_thread.run_sync(lambda: copy_written(work, orders.snapshot, folder, most_mb=most))

    async def close(self) -> None:
        """End the process and every process that it started; forks of it live on. Idempotent."""
        self._lost_reason = self._lost_reason or "this branch was closed"
        self._siblings.branches.discard(self)
        with anyio.CancelScope(shield=True):
            await self._close_pool()
            if self._sibling is not None:
                await self._sibling.close()

    def _fork_pool(self) -> WarmPool[Sibling]:
        """The pool from which forks of this state are taken."""
        if self.process is None:
            return self._parent_pool
        if self._pool is None:
            self._pool = self._siblings.fork_pool(self.process)
        return self._pool

    async def _ensure_sibling(self) -> Sibling:
        if self._sibling is None:
            try:
                self._sibling = await self._parent_pool.take()
            except ForkRefused as refused:
                raise await self._siblings.switch_to_rerunning(refused) from None
        return self._sibling

    async def _execute(self, sibling: Sibling, code: str, timeout: float) -> Observation:
        collector = OutputCollector(self._siblings.sandbox.output_kb * 1000)
        hung = anyio.Event()
        async with anyio.create_task_group() as watching:
            watching.start_soon(self._end_if_stalled, sibling, hung)
            result = await sibling.execute(code, timeout=timeout, collector=collector)
            watching.cancel_scope.cancel()
        if hung.is_set() and self.process is not None:
            return await self._run_unforked(code, timeout, self.process.loaded[0])
        return build_observation(result, collector, timeout=timeout)

    async def _run_unforked(self, code: str, timeout: float, library: str) -> Observation:
        """Run the code in a kernel that was not forked, to find out whether the fork or the code itself hangs. Raises
        BranchingChanged: the code ends there, so the fork caused the hang."""
        again = (await self._siblings.open_fallback()).branch(self._steps)
        observed = await again.run(code, timeout=min(timeout, scale_limit(_VERIFY_SECONDS)))
        await again.close()
        if observed.status == "timeout":
            return observed
        if observed.status == "ok":
            await to_thread.run_sync(record_hang, library)
        raise await self._siblings.switch_to_rerunning(ForkRefused(f"its forks hang because {library} is loaded"))

    async def _end_if_stalled(self, sibling: Sibling, hung: anyio.Event) -> None:
        """End a kernel that hangs because it was forked. Watches only where a library known to cause that is loaded."""
        process = self.process
        if process is None or not process.loaded:
            return
        if self._stall_detector is None:
            self._stall_detector = StallDetector(process.pid)
        while not self._stall_detector.is_stalled():
            await anyio.sleep(_POLL_SECONDS)
        hung.set()
        await sibling.end("it hung after being forked")

    async def _close_pool(self) -> None:
        """Close the forks made ahead: their state is about to change or end."""
        if self._pool is not None:
            ahead, self._pool = self._pool, None
            await ahead.close()


# The siblings of one run where states are branched by forking, with the fallback for states that cannot be forked.
#
# The root is forked from the caller's live kernel, or from a fresh one that is started here, prepared, forked once
# and ended. When a library appears that a fork does not carry, or a fork hangs, later branches are made by
# re-running; see `open_fallback`.

_MAX_CONCURRENT: Final = max(4, CORES)


class ForkSiblings(LocalSiblings):
    """The siblings of one run, forked from the live kernel, or without one from a fresh kernel."""

    def __init__(
        self,
        sandbox: Sandbox,
        level: SandboxLevel,
        *,
        workdir: Path,
        state: str,
        live: LiveKernel | None = None,
        setup: str = "",
        variables: Path | None = None,
    ) -> None:
        super().__init__(sandbox, workdir=workdir, setup=setup, variables=variables)
        self._level, self._live, self.state = level, live, state
        self.run_limiter = anyio.CapacityLimiter(_MAX_CONCURRENT)
        """Limits concurrent executions: with more, they would make each other time out."""
        self._fork_limiter = anyio.CapacityLimiter(CORES)
        self.branches: set[ForkBranch] = set()
        self._fallback: RerunSiblings | None = None
        self._fallback_lock = anyio.Lock()
        self.rerun_siblings: RerunSiblings | None = None
        """Makes all branches from now on, set once a state could not be forked."""

    async def _open(self, stack: AsyncExitStack) -> None:
        paths = self._live.paths if self._live else ()
        launcher = await stack.enter_async_context(open_launcher(self.sandbox, workdir=self._workdir, paths=paths))
        self._launcher = launcher
        self._tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(self._tasks.cancel_scope.cancel)
        context = stack.enter_context(open_context())
        snapshot = await launcher.snapshot(self._workdir, borrow=self._level.name == "namespaces")
        self.forker = Forker(ForkRequestBuilder(launcher, snapshot, self._level), context, libraries_that_hung())
        self._root = await self._fork_root(context)
        self._watchdog = ResourceWatchdog(memory=launcher.memory, processes=self.sandbox.processes, disk=launcher.disk)
        self._tasks.start_soon(self._watchdog.run)
        stack.push_async_callback(self._close_branches)
        self._fork_tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(self._fork_tasks.cancel_scope.cancel)  # cancels unfinished forks before the rest is closed
        self._root_pool = self.fork_pool(self._root)

    async def _read_environment(self) -> Environment:
        described, orders = self._level.describe(network=self.sandbox.network), self.forker.orders
        return await self._describe_environment(described, orders.filter, orders.snapshot, "fork")

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user: which parts of the live kernel experiments lack."""
        if self._live is None:
            return ()
        clauses = [hazard.what for hazard in self._live.hazards]
        clauses += [f"in experiments, {note}" for note in self.forker.notes]
        return tuple(f"{clause[:1].upper()}{clause[1:]}." for clause in clauses)

    async def root(self) -> ForkBranch:
        """Return a branch in the initial state."""
        return self.branch(None, self._root_pool, ())

    def branch(self, sibling: Sibling | None, parent_pool: WarmPool[Sibling], steps: tuple[Step, ...]) -> ForkBranch:
        """Return a branch in the state after these steps that is this sibling, or that is taken from `parent_pool` when
        first needed."""
        branch = ForkBranch(self, sibling, parent_pool, steps)
        self.branches.add(branch)
        return branch

    def fork_pool(self, parent: ForkedProcess) -> WarmPool[Sibling]:
        """Return a pool of forks of this process."""

        async def fork() -> Sibling:
            try:
                sibling = await self.forker.branch(parent)
            except KernelError:
                raise
            except Exception as error:  # one fork fails, the run continues
                raise KernelError(f"A kernel could not be forked: {type(error).__name__}: {error}.") from error
            self._watchdog.watch(sibling)  # from the start: code of its parent may be running in it
            return sibling

        return WarmPool(self._fork_tasks, fork, Sibling.close, limiter=self._fork_limiter)

    async def switch_to_rerunning(self, refused: ForkRefused) -> BranchingChanged:
        """Make branches by re-running from now on; return the error that notifies the pipeline."""
        if self.rerun_siblings is None:
            self.rerun_siblings = await self.open_fallback()
        return BranchingChanged(
            f"{refused.message} From now on, experiments run in kernels that repeat the earlier code."
        )

    async def open_fallback(self) -> RerunSiblings:
        """Return the siblings that re-run code, started on the first call."""
        async with self._fallback_lock:
            if self._fallback is None:
                self._fallback = await self._tasks.start(self._run_fallback)
            return self._fallback

    async def _run_fallback(self, *, task_status: TaskStatus[RerunSiblings]) -> None:
        siblings = RerunSiblings(self.sandbox, workdir=self._workdir, setup=self._setup, variables=self._variables)
        async with siblings:
            task_status.started(siblings)
            await anyio.sleep_forever()

    async def _close_branches(self) -> None:
        with anyio.CancelScope(shield=True):
            try:
                await self._root_pool.close()
                for branch in tuple(self.branches):
                    await branch.close()
            finally:
                await self._root.end()
                await self._root.release()

    async def _fork_root(self, context: zmq.asyncio.Context) -> ForkedProcess:
        """Fork the root from the live kernel, or from a fresh one, which is started, prepared, forked and ended."""
        if self._live is not None:
            return await self.forker.root(self._live.fork, chdir=None)
        fresh = await self._start_fresh(context)
        try:
            await run_setup(fresh, self._setup)
            return await self.forker.root(
                lambda address: run_setup(fresh, f"get_ipython().explora_fork({address!r})"), chdir=self._workdir
            )
        finally:
            with anyio.CancelScope(shield=True):
                await fresh.close()

    async def _start_fresh(self, context: zmq.asyncio.Context) -> Sibling:
        """Start a kernel without confinement, which is safe because it never runs code that a model wrote."""
        folder = self._launcher.folder / "z"
        make_private_folders(folder)
        bare = replace(self._launcher, isolation=Isolation(""))
        arguments = startup_arguments(bare, self._variables, forks=True)
        command = [*bare.interpreter.command, str(bare.archive), "{}", "kernel_startup", *arguments]
        return await start_sibling(LaunchSpec(command, bare.environ(folder), folder, folder, supervised=False), context)
