"""Branches by forking: the implementation of the `Branch` port for Linux.

A branch is a process that runs a kernel; `fork` creates processes that start from its memory, shared until written, and
from a copy of its files. The root is itself a fork, of a fresh kernel or of the caller's live one: it is confined and
never runs anything, so that its state does not change. Expected forks are made ahead, while the model is still writing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.kernels.branching.forker import ForkRefused, host_path
from exploracoder_jupyter.kernels.branching.observed_fork_hangs import record_hang
from exploracoder_jupyter.kernels.branching.rerun_branch import Step
from exploracoder_jupyter.kernels.observing.observation import (
    add_hidden_file_note,
    build_observation,
    state_lost_observation,
)
from exploracoder_jupyter.kernels.observing.output_collector import OutputCollector
from exploracoder_jupyter.kernels.processes.forked_process import ForkedProcess
from exploracoder_jupyter.kernels.processes.stall_detection import StallDetector
from exploracoder_jupyter.kernels.sandbox.written_files import copy_written
from exploracoder_jupyter.kernels.sibling_kernel import Sibling
from exploracoder_jupyter.kernels.warm_pool import WarmPool
from exploracoder_jupyter.pipeline.ports import Branch

if TYPE_CHECKING:
    from exploracoder_jupyter.kernels.branching.fork_siblings import ForkSiblings

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
