"""The siblings of one run where states are branched by forking, with the fallback for states that cannot be forked.

The root is forked from the caller's live kernel, or from a fresh one that is started here, prepared, forked once and
ended. When a library appears that a fork does not carry, or a fork hangs, later branches are made by re-running; see
`open_fallback`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import anyio
import zmq.asyncio
from anyio import to_thread
from anyio.abc import TaskStatus

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.kernels.agent_programs import inspect, read_interpreter_facts
from exploracoder_jupyter.kernels.branching.fork_branch import ForkBranch, ForkBranches
from exploracoder_jupyter.kernels.branching.fork_request import ForkRequestBuilder
from exploracoder_jupyter.kernels.branching.forker import Forker
from exploracoder_jupyter.kernels.branching.observed_fork_hangs import libraries_that_hung
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSiblings
from exploracoder_jupyter.kernels.launcher import Launcher, open_launcher
from exploracoder_jupyter.kernels.live_kernel import LiveKernel
from exploracoder_jupyter.kernels.processes.forked_process import ForkedProcess
from exploracoder_jupyter.kernels.processes.resource_watchdog import ResourceWatchdog
from exploracoder_jupyter.kernels.processes.spawned_process import LaunchSpec, start_sibling
from exploracoder_jupyter.kernels.sandbox.fork_sandbox_level import SandboxLevel
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import Isolation
from exploracoder_jupyter.kernels.sandbox.syscall_filter import NO_FILTER_NOTE
from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import take_snapshot
from exploracoder_jupyter.kernels.sibling_factory import run_setup
from exploracoder_jupyter.kernels.sibling_kernel import Sibling
from exploracoder_jupyter.kernels.zmq_context import close_context

_KERNEL_ARGUMENTS: Final = ("-f", "{connection_file}", "--HistoryManager.enabled=False")


@dataclass(frozen=True, slots=True)
class Origin:
    """What the root is forked from."""

    live: LiveKernel | None = None
    """The caller's kernel; `None` for a fresh one."""
    setup: str = ""
    """Code that a fresh kernel runs first."""
    variables: Path | None = None
    """Folder written by `kernel_agent.variable_transfer.dump`, loaded into a fresh kernel."""


class ForkSiblings:
    """The siblings of one run. An async context manager; the same task must enter and leave it."""

    def __init__(self, sandbox: Sandbox, level: SandboxLevel, *, workdir: Path, origin: Origin, state: str) -> None:
        """`state` is recorded as `Environment.state`."""
        self._sandbox, self._level, self._workdir = sandbox, level, workdir.resolve()
        self._origin, self._state = origin, state
        self._stack = AsyncExitStack()
        self._rerun: RerunSiblings | None = None
        self._fallback_lock = anyio.Lock()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            paths = self._origin.live.paths if self._origin.live else ()
            launcher = open_launcher(self._sandbox, workdir=self._workdir, paths=paths)
            self._launcher: Launcher = await stack.enter_async_context(launcher)
            self._tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(self._tasks.cancel_scope.cancel)
            await self._start_branches(stack)
            self._environment = await self._read_environment()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, traceback)

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user: which parts of the live kernel experiments lack."""
        if self._origin.live is None:
            return ()
        clauses = [hazard.what for hazard in self._origin.live.hazards]
        clauses += [f"in experiments, {note}" for note in self._forker.notes]
        return tuple(f"{clause[:1].upper()}{clause[1:]}." for clause in clauses)

    async def root(self) -> ForkBranch:
        """Return a branch in the initial state."""
        return self._branches.root()

    def inspect(self, module: str, arguments: Sequence[str]) -> AsyncIterator[str]:
        """Run a module of `kernel_agent` in the siblings' interpreter; see `kernels.agent_programs.Inspect`."""
        return inspect(self._launcher, module, arguments, workdir=self._workdir)

    def environment(self) -> Environment:
        """Return where the siblings run and how far they are isolated."""
        return self._environment

    async def open_fallback(self) -> RerunSiblings:
        """Return the siblings that re-run code, started on the first call."""
        async with self._fallback_lock:
            if self._rerun is None:
                self._rerun = await self._tasks.start(self._run_fallback)
            return self._rerun

    async def _run_fallback(self, *, task_status: TaskStatus[RerunSiblings]) -> None:
        origin = self._origin
        siblings = RerunSiblings(self._sandbox, workdir=self._workdir, setup=origin.setup, variables=origin.variables)
        async with siblings:
            task_status.started(siblings)
            await anyio.sleep_forever()

    async def _start_branches(self, stack: AsyncExitStack) -> None:
        launcher, sandbox = self._launcher, self._sandbox
        context = zmq.asyncio.Context()
        stack.callback(close_context, context)
        snapshot = await to_thread.run_sync(
            lambda: take_snapshot(
                self._workdir,
                launcher.folder / "files",
                most_mb=sandbox.copy_mb,
                hidden=(*launcher.files.hidden, launcher.folder),
                borrow=self._level.name == "namespaces",
            )
        )
        self._forker = Forker(ForkRequestBuilder(launcher, snapshot, self._level), context, libraries_that_hung())
        root = await self._fork_root(context)
        watchdog = ResourceWatchdog(memory=launcher.memory, processes=sandbox.processes, disk=launcher.disk)
        self._tasks.start_soon(watchdog.run)
        stack.push_async_callback(lambda: self._branches.close())
        forks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(forks.cancel_scope.cancel)  # cancels unfinished forks before the rest is closed
        self._branches = ForkBranches(
            self._forker, root, watchdog, forks, output_kb=sandbox.output_kb, open_fallback=self.open_fallback
        )

    async def _fork_root(self, context: zmq.asyncio.Context) -> ForkedProcess:
        """Fork the root from the live kernel, or from a fresh one, which is started, prepared, forked and ended."""
        if self._origin.live is not None:
            return await self._forker.root(self._origin.live.fork, chdir=None)
        fresh = await self._start_fresh(context)
        try:
            await run_setup(fresh, self._origin.setup)
            return await self._forker.root(
                lambda address: run_setup(fresh, f"get_ipython().explora_fork({address!r})"), chdir=self._workdir
            )
        finally:
            with anyio.CancelScope(shield=True):
                await fresh.close()

    async def _start_fresh(self, context: zmq.asyncio.Context) -> Sibling:
        """Start a kernel without confinement, which is safe because it never runs code that a model wrote."""
        folder = self._launcher.folder / "z"
        for name in ("tmp", "ipython", "matplotlib"):
            (folder / name).mkdir(parents=True, mode=0o700)
        bare = replace(self._launcher, isolation=Isolation(""))
        variables = self._origin.variables
        options = {
            "output": self._sandbox.output_kb * 1000,
            "variables": None if variables is None else str(variables),
            "pickled": self._sandbox.pickle,
            "forks": True,
        }
        command = [
            *bare.interpreter.command,
            str(bare.archive),
            "{}",
            "kernel_startup",
            json.dumps(options),
            *_KERNEL_ARGUMENTS,
        ]
        return await start_sibling(LaunchSpec(command, bare.environ(folder), folder, folder, supervised=False), context)

    async def _read_environment(self) -> Environment:
        described = self._level.describe(network=self._sandbox.network)
        unfiltered = "" if self._forker.orders.filter else NO_FILTER_NOTE
        return Environment(
            **await read_interpreter_facts(self.inspect),
            kernel=self._launcher.interpreter.name,
            isolation="; ".join(filter(None, [described, unfiltered, self._forker.orders.snapshot.note])),
            branching="fork",
            state=self._state,
        )
