"""Branches by forking: the implementation of the `Branch` port for Linux.

A branch is a process that runs a kernel; `fork` creates processes that start from its memory, shared until written, and
from a copy of its files. The root is itself a fork, of a fresh kernel or of the caller's live one: it is confined and
never runs anything, so that its state does not change. Expected forks are made ahead, while the model is still writing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from exploracoder_jupyter.core.errors import BranchingChanged, KernelError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.kernels.branching.forker import Forker, ForkRefused, host_path
from exploracoder_jupyter.kernels.branching.observed_fork_hangs import record_hang
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSiblings, Step
from exploracoder_jupyter.kernels.observing.observation import (
    add_hidden_file_note,
    build_observation,
    state_lost_observation,
)
from exploracoder_jupyter.kernels.observing.output_collector import OutputCollector
from exploracoder_jupyter.kernels.processes.forked_process import ForkedProcess
from exploracoder_jupyter.kernels.processes.resource_watchdog import ResourceWatchdog
from exploracoder_jupyter.kernels.processes.stall_detection import StallDetector
from exploracoder_jupyter.kernels.sandbox.written_files import copy_written
from exploracoder_jupyter.kernels.sibling_kernel import Sibling
from exploracoder_jupyter.kernels.warm_pool import CORES
from exploracoder_jupyter.pipeline.ports import Branch

_MAX_CONCURRENT: Final = max(4, CORES)
_MAX_AHEAD: Final = 8
_POLL_SECONDS: Final = 0.3
_VERIFY_SECONDS: Final = 20.0


RerunFallback = Callable[[], Awaitable[RerunSiblings]]
"""Returns the siblings that re-run code, for states that cannot be forked."""


class ForkPool:
    """Forks of one state, made before they are needed."""

    def __init__(
        self,
        forker: Forker,
        parent: ForkedProcess,
        watchdog: ResourceWatchdog,
        tasks: TaskGroup,
        fork_limiter: anyio.CapacityLimiter,
    ) -> None:
        self._forker, self._parent, self._watchdog = forker, parent, watchdog
        self._tasks, self._fork_limiter = tasks, fork_limiter
        self._sender, self._receiver = anyio.create_memory_object_stream[Sibling | KernelError](float("inf"))
        self._in_progress = self._expected = self._waiting = 0
        self._closed = False

    def expect(self, n: int) -> None:
        """Expect `n` forks to be taken, and make the missing ones in the background."""
        self._expected = max(self._expected, n)
        self._top_up()

    async def take(self) -> Sibling:
        """Return a fork of this state that has no other user. Raises KernelError: the fork could not be made."""
        while True:
            item = await self._next()
            if isinstance(item, KernelError):
                self._drop_failures()
                raise item
            if item.is_alive:
                return item
            await item.close()

    async def close(self) -> None:
        """End the forks that were not taken."""
        self._closed = True
        while self._ready:
            item = self._receiver.receive_nowait()
            if isinstance(item, Sibling):
                await item.close()
        self._sender.close()
        self._receiver.close()

    @property
    def _ready(self) -> int:
        return self._receiver.statistics().current_buffer_used

    async def _next(self) -> Sibling | KernelError:
        self._waiting += 1
        self._top_up()
        try:
            item = await self._receiver.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return KernelError("The state to branch from no longer exists.")
        finally:
            self._waiting -= 1
        self._expected = max(0, self._expected - 1)
        self._top_up()
        return item

    def _drop_failures(self) -> None:
        """Drop queued failures, so that each is reported once: the next caller tries again."""
        items = [self._receiver.receive_nowait() for _ in range(self._ready)]
        for item in items:
            if isinstance(item, Sibling):
                self._sender.send_nowait(item)

    def _top_up(self) -> None:
        wanted = 0 if self._closed else max(self._waiting, min(self._expected, _MAX_AHEAD))
        for _ in range(wanted - self._in_progress - self._ready):
            self._in_progress += 1
            self._tasks.start_soon(self._make)

    async def _make(self) -> None:
        try:
            fork = await self._fork()
        finally:
            self._in_progress -= 1
        if not self._closed:
            self._sender.send_nowait(fork)
        elif isinstance(fork, Sibling):
            await fork.close()

    async def _fork(self) -> Sibling | KernelError:
        """Make a fork and watch it from the start: code of its parent may be running in it. Never raises."""
        try:
            async with self._fork_limiter:
                sibling = await self._forker.branch(self._parent)
        except KernelError as error:
            return error
        except Exception as error:  # one fork fails, the run continues
            return KernelError(f"A kernel could not be forked: {type(error).__name__}: {error}.")
        self._watchdog.watch(sibling)
        return sibling


class ForkBranches:
    """The branches of one run: their shared resources and their shutdown."""

    def __init__(
        self,
        forker: Forker,
        root: ForkedProcess,
        watchdog: ResourceWatchdog,
        tasks: TaskGroup,
        *,
        output_kb: int,
        open_fallback: RerunFallback,
    ) -> None:
        self.forker, self.watchdog, self._tasks = forker, watchdog, tasks
        self.output_kb, self.open_fallback = output_kb, open_fallback
        self.rerun_siblings: RerunSiblings | None = None
        """Makes all branches from now on, set once a state could not be forked."""
        self.run_limiter = anyio.CapacityLimiter(_MAX_CONCURRENT)
        """Limits concurrent executions: with more, they would make each other time out."""
        self._fork_limiter = anyio.CapacityLimiter(CORES)
        self._root = root
        self._root_pool = self.fork_pool(root)
        self._open: set[ForkBranch] = set()

    def root(self) -> ForkBranch:
        """Return a branch in the initial state."""
        return self.branch(None, self._root_pool)

    def branch(self, sibling: Sibling | None, parent_pool: ForkPool, steps: tuple[Step, ...] = ()) -> ForkBranch:
        """Return a branch that is this sibling, or that is taken from `parent_pool` when first needed.

        `steps` are the steps that led to its state.
        """
        branch = ForkBranch(self, sibling, parent_pool, steps)
        self._open.add(branch)
        return branch

    def discard(self, branch: ForkBranch) -> None:
        """Remove a branch that has been closed."""
        self._open.discard(branch)

    def fork_pool(self, parent: ForkedProcess) -> ForkPool:
        """Return a pool of forks of this process."""
        return ForkPool(self.forker, parent, self.watchdog, self._tasks, self._fork_limiter)

    async def switch_to_rerunning(self, refused: ForkRefused) -> BranchingChanged:
        """Make branches by re-running from now on; return the error that notifies the pipeline."""
        if self.rerun_siblings is None:
            self.rerun_siblings = await self.open_fallback()
        return BranchingChanged(
            f"{refused.message} From now on, experiments run in kernels that repeat the earlier code."
        )

    async def close(self) -> None:
        """End all branches and the root."""
        with anyio.CancelScope(shield=True):
            try:
                await self._root_pool.close()
                for branch in tuple(self._open):
                    await branch.close()
            finally:
                await self._root.end()
                await self._root.release()


class ForkBranch:
    """One state: a `Branch` that is a forked kernel, or the state of the root until code runs in it."""

    def __init__(
        self, branches: ForkBranches, sibling: Sibling | None, parent_pool: ForkPool, steps: tuple[Step, ...]
    ) -> None:
        self._branches, self._sibling, self._parent_pool, self._steps = branches, sibling, parent_pool, steps
        self._pool: ForkPool | None = None
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
        async with self._run_lock, self._branches.run_limiter:
            if self._lost_reason:
                return state_lost_observation(self._lost_reason)
            await self._close_pool()
            sibling = await self._ensure_sibling()
            observed = await self._execute(sibling, code, timeout)
            observation = add_hidden_file_note(observed, self._branches.forker.orders.launcher.files)
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
            if self._branches.rerun_siblings is not None:
                return [self._branches.rerun_siblings.branch(self._steps) for _ in range(n)]
            if self._lost_reason:
                raise KernelError(f"This branch cannot be forked: {self._lost_reason}.")
            pool = self._fork_pool()
            pool.expect(n)
            forks: list[ForkBranch] = []
            try:
                while len(forks) < n:
                    forks.append(self._adopt(await pool.take()))
            except BaseException as error:
                await _close_all(forks)
                if isinstance(error, ForkRefused):
                    raise await self._branches.switch_to_rerunning(error) from None
                raise
            return forks

    def expect(self, n: int) -> None:
        """Prepare `n` forks in the background. Returns at once."""
        if self._branches.rerun_siblings is not None:
            self._branches.rerun_siblings.expect()
        elif not self._lost_reason:
            self._fork_pool().expect(n)

    async def files(self, folder: Path) -> tuple[str, ...]:
        """Copy what was written in this branch since the root into a new folder; see `Branch.files`."""
        process = self.process
        if process is None or not process.is_alive:
            return ()
        orders = self._branches.forker.orders
        work = Path(host_path(str(process.home / ("up" if orders.level.overlay else "work")), process))
        most = orders.launcher.sandbox.copy_mb
        return await to_thread.run_sync(lambda: copy_written(work, orders.snapshot, folder, most_mb=most))

    async def close(self) -> None:
        """End the process and every process that it started; forks of it live on. Idempotent."""
        self._lost_reason = self._lost_reason or "this branch was closed"
        self._branches.discard(self)
        with anyio.CancelScope(shield=True):
            await self._close_pool()
            if self._sibling is not None:
                await self._sibling.close()

    def _fork_pool(self) -> ForkPool:
        """The pool from which forks of this state are taken."""
        process = self.process
        if process is None:
            return self._parent_pool
        if self._pool is None:
            self._pool = self._branches.fork_pool(process)
        return self._pool

    def _adopt(self, sibling: Sibling) -> ForkBranch:
        return self._branches.branch(sibling, self._parent_pool, self._steps)

    async def _ensure_sibling(self) -> Sibling:
        if self._sibling is None:
            try:
                self._sibling = await self._parent_pool.take()
            except ForkRefused as refused:
                raise await self._branches.switch_to_rerunning(refused) from None
        return self._sibling

    async def _execute(self, sibling: Sibling, code: str, timeout: float) -> Observation:
        collector = OutputCollector(self._branches.output_kb * 1000)
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
        again = (await self._branches.open_fallback()).branch(self._steps)
        observed = await again.run(code, timeout=min(timeout, scale_limit(_VERIFY_SECONDS)))
        await again.close()
        if observed.status == "timeout":
            return observed
        if observed.status == "ok":
            await to_thread.run_sync(record_hang, library)
        raise await self._branches.switch_to_rerunning(
            ForkRefused(f"its forks hang because {library} is loaded", library=library)
        )

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


async def _close_all(branches: Sequence[ForkBranch]) -> None:
    with anyio.CancelScope(shield=True):
        for branch in branches:
            await branch.close()
