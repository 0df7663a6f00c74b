"""The siblings of one run where states are branched by forking, with the fallback for states that cannot be forked.

The root is forked from the caller's live kernel, or from a fresh one that is started here, prepared, forked once and
ended. When a library appears that a fork does not carry, or a fork hangs, later branches are made by re-running; see
`open_fallback`.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio
import zmq.asyncio
from anyio.abc import TaskStatus

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.errors import BranchingChanged, KernelError
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.kernels.branching.fork_branch import ForkBranch
from exploracoder_jupyter.kernels.branching.fork_request import ForkRequestBuilder
from exploracoder_jupyter.kernels.branching.forker import Forker, ForkRefused
from exploracoder_jupyter.kernels.branching.observed_fork_hangs import libraries_that_hung
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSiblings, Step
from exploracoder_jupyter.kernels.launcher import open_launcher
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.kernels.processes.forked_process import ForkedProcess
from exploracoder_jupyter.kernels.processes.resource_watchdog import ResourceWatchdog
from exploracoder_jupyter.kernels.processes.spawned_process import LaunchSpec, start_sibling
from exploracoder_jupyter.kernels.sandbox.fork_sandbox_level import SandboxLevel
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import Isolation
from exploracoder_jupyter.kernels.sibling_factory import make_private_folders, run_setup, startup_arguments
from exploracoder_jupyter.kernels.sibling_kernel import Sibling, open_context
from exploracoder_jupyter.kernels.siblings_base import LocalSiblings
from exploracoder_jupyter.kernels.warm_pool import CORES, WarmPool

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
