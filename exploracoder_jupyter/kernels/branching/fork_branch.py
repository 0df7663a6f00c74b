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
from exploracoder_jupyter.core.time_limits import scale
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.kernels.branching.fork_blocklist import remember
from exploracoder_jupyter.kernels.branching.forker import Forker, ForkRefused, seen_from_here
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSiblings, Step
from exploracoder_jupyter.kernels.observing.observation import explain_unseen, observe, unrun
from exploracoder_jupyter.kernels.observing.output_collector import Collector
from exploracoder_jupyter.kernels.processes.forked_process import Forked
from exploracoder_jupyter.kernels.processes.resource_watchdog import Guard
from exploracoder_jupyter.kernels.processes.stall_detection import Stall
from exploracoder_jupyter.kernels.sandbox.written_files import copy_written
from exploracoder_jupyter.kernels.sibling_kernel import Sibling
from exploracoder_jupyter.kernels.warm_pool import CORES
from exploracoder_jupyter.pipeline.ports import Branch

_AT_ONCE: Final = max(4, CORES)
_MOST_AHEAD: Final = 8
_LOOK_SECONDS: Final = 0.3
_PROOF_SECONDS: Final = 20.0


FallBack = Callable[[], Awaitable[RerunSiblings]]
"""Returns the siblings that re-run code, for states that cannot be forked."""


class Reserve:
    """Forks of one state, made before they are needed."""

    def __init__(
        self, forker: Forker, parent: Forked, guard: Guard, tasks: TaskGroup, at_once: anyio.CapacityLimiter
    ) -> None:
        self._forker, self._parent, self._guard = forker, parent, guard
        self._tasks, self._at_once = tasks, at_once
        self._give, self._receive = anyio.create_memory_object_stream[Sibling | KernelError](float("inf"))
        self._making = self._expected = self._waiting = 0
        self._closed = False

    def expect(self, n: int) -> None:
        """Expect `n` forks to be taken, and make the missing ones in the background."""
        self._expected = max(self._expected, n)
        self._top_up()

    async def take(self) -> Sibling:
        """Return a fork of this state that has no other user.

        Raises:
            KernelError: the fork could not be made.
        """
        while True:
            given = await self._next()
            if isinstance(given, KernelError):
                self._forget_failures()
                raise given
            if given.is_alive:
                return given
            await given.close()

    async def close(self) -> None:
        """End the forks that were not taken."""
        self._closed = True
        while self._ready:
            given = self._receive.receive_nowait()
            if isinstance(given, Sibling):
                await given.close()
        self._give.close()
        self._receive.close()

    @property
    def _ready(self) -> int:
        return self._receive.statistics().current_buffer_used

    async def _next(self) -> Sibling | KernelError:
        self._waiting += 1
        self._top_up()
        try:
            given = await self._receive.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return KernelError("The state to branch from no longer exists.")
        finally:
            self._waiting -= 1
        self._expected = max(0, self._expected - 1)
        self._top_up()
        return given

    def _forget_failures(self) -> None:
        """Drop queued failures, so that each is reported once: the next caller tries again."""
        made = [self._receive.receive_nowait() for _ in range(self._ready)]
        for one in made:
            if isinstance(one, Sibling):
                self._give.send_nowait(one)

    def _top_up(self) -> None:
        wanted = 0 if self._closed else max(self._waiting, min(self._expected, _MOST_AHEAD))
        for _ in range(wanted - self._making - self._ready):
            self._making += 1
            self._tasks.start_soon(self._make)

    async def _make(self) -> None:
        try:
            made = await self._forked()
        finally:
            self._making -= 1
        if not self._closed:
            self._give.send_nowait(made)
        elif isinstance(made, Sibling):
            await made.close()

    async def _forked(self) -> Sibling | KernelError:
        """Make a fork and watch it from the start: code of its parent may be running in it. Never raises."""
        try:
            async with self._at_once:
                sibling = await self._forker.branch(self._parent)
        except KernelError as error:
            return error
        except Exception as error:  # one fork fails, the run continues
            return KernelError(f"A kernel could not be forked: {type(error).__name__}: {error}.")
        self._guard.watch(sibling)
        return sibling


class Branches:
    """The branches of one run: their shared resources and their shutdown."""

    def __init__(
        self, forker: Forker, root: Forked, guard: Guard, tasks: TaskGroup, *, output_kb: int, fall_back: FallBack
    ) -> None:
        self.forker, self.guard, self._tasks = forker, guard, tasks
        self.output_kb, self.fall_back = output_kb, fall_back
        self.rerunning: RerunSiblings | None = None
        """Makes all branches from now on, set once a state could not be forked."""
        self.at_once = anyio.CapacityLimiter(_AT_ONCE)
        """Limits concurrent executions: with more, they would make each other time out."""
        self._forks_at_once = anyio.CapacityLimiter(CORES)
        self._root = root
        self._roots = self.reserve(root)
        self._open: set[ForkBranch] = set()

    def root(self) -> ForkBranch:
        """Return a branch in the initial state."""
        return self.branch(None, self._roots)

    def branch(self, sibling: Sibling | None, origin: Reserve, steps: tuple[Step, ...] = ()) -> ForkBranch:
        """Return a branch that is this sibling, or that is forked from its origin when first needed.

        `steps` are the steps that led to its state.
        """
        branch = ForkBranch(self, sibling, origin, steps)
        self._open.add(branch)
        return branch

    def forget(self, branch: ForkBranch) -> None:
        """Remove a branch that has been closed."""
        self._open.discard(branch)

    def reserve(self, parent: Forked) -> Reserve:
        """Return a pool of forks of this process."""
        return Reserve(self.forker, parent, self.guard, self._tasks, self._forks_at_once)

    async def change(self, refused: ForkRefused) -> BranchingChanged:
        """Make branches by re-running from now on; return the error that notifies the pipeline."""
        if self.rerunning is None:
            self.rerunning = await self.fall_back()
        return BranchingChanged(
            f"{refused.message} From now on, experiments run in kernels that repeat the earlier code."
        )

    async def close(self) -> None:
        """End all branches and the root."""
        with anyio.CancelScope(shield=True):
            try:
                await self._roots.close()
                for branch in tuple(self._open):
                    await branch.close()
            finally:
                await self._root.end()
                await self._root.release()


class ForkBranch:
    """One state: a `Branch` that is a forked kernel, or the state of the root until code runs in it."""

    def __init__(self, branches: Branches, sibling: Sibling | None, origin: Reserve, steps: tuple[Step, ...]) -> None:
        self._branches, self._sibling, self._origin, self._steps = branches, sibling, origin, steps
        self._ahead: Reserve | None = None
        self._stall: Stall | None = None
        self._lost = ""
        self._turn = anyio.Lock()

    @property
    def process(self) -> Forked | None:
        """The forked process; `None` before the fork."""
        body = self._sibling.body if self._sibling else None
        return body if isinstance(body, Forked) else None

    async def run(self, code: str, *, timeout: float) -> Observation:
        """Run code here, which changes this state. One call at a time: a second one waits for the first.

        Raises:
            BranchingChanged: the code hung because of something that a fork does not carry, or this state cannot be
                forked.
            KernelError: the process could not be created at all.
        """
        async with self._turn, self._branches.at_once:
            if self._lost:
                return unrun(self._lost)
            await self._forget_forks()
            sibling = await self._awake()
            observed = await self._execute(sibling, code, timeout)
            observation = explain_unseen(observed, self._branches.forker.orders.launcher.files)
            self._steps += (Step(code, timeout, observation.status),)
            if observation.status == "died" or not sibling.is_alive:
                self._lost = f"the state of this branch is lost: {observation.note}"
                await sibling.close()
            return observation

    async def fork(self, n: int) -> Sequence[Branch]:
        """Return `n` branches that start from this state; each is already a process.

        Raises:
            BranchingChanged: this state cannot be forked; call again for branches that re-run.
            KernelError: a fork could not be made, or this state is lost.
        """
        async with self._turn:
            if self._branches.rerunning is not None:
                return [self._branches.rerunning.branch(self._steps) for _ in range(n)]
            if self._lost:
                raise KernelError(f"This branch cannot be forked: {self._lost}.")
            origin = self._forks()
            origin.expect(n)
            made: list[ForkBranch] = []
            try:
                while len(made) < n:
                    made.append(self._adopt(await origin.take()))
            except BaseException as error:
                await _close_all(made)
                if isinstance(error, ForkRefused):
                    raise await self._branches.change(error) from None
                raise
            return made

    def expect(self, n: int) -> None:
        """Prepare `n` forks in the background. Returns at once."""
        if self._branches.rerunning is not None:
            self._branches.rerunning.expect()
        elif not self._lost:
            self._forks().expect(n)

    async def files(self, folder: Path) -> tuple[str, ...]:
        """Copy what was written in this branch since the root into a new folder; see `Branch.files`."""
        body = self.process
        if body is None or not body.is_alive:
            return ()
        orders = self._branches.forker.orders
        work = Path(seen_from_here(str(body.home / ("up" if orders.level.overlay else "work")), body))
        most = orders.launcher.sandbox.copy_mb
        return await to_thread.run_sync(lambda: copy_written(work, orders.snapshot, folder, most_mb=most))

    async def close(self) -> None:
        """End the process and every process that it started; forks of it live on. Idempotent."""
        self._lost = self._lost or "this branch was closed"
        self._branches.forget(self)
        with anyio.CancelScope(shield=True):
            await self._forget_forks()
            if self._sibling is not None:
                await self._sibling.close()

    def _forks(self) -> Reserve:
        """The pool from which forks of this state are taken."""
        body = self.process
        if body is None:
            return self._origin
        if self._ahead is None:
            self._ahead = self._branches.reserve(body)
        return self._ahead

    def _adopt(self, sibling: Sibling) -> ForkBranch:
        return self._branches.branch(sibling, self._origin, self._steps)

    async def _awake(self) -> Sibling:
        if self._sibling is None:
            try:
                self._sibling = await self._origin.take()
            except ForkRefused as refused:
                raise await self._branches.change(refused) from None
        return self._sibling

    async def _execute(self, sibling: Sibling, code: str, timeout: float) -> Observation:
        collector = Collector(self._branches.output_kb * 1000)
        hung = anyio.Event()
        async with anyio.create_task_group() as watching:
            watching.start_soon(self._watch, sibling, hung)
            ending = await sibling.execute(code, timeout=timeout, collector=collector)
            watching.cancel_scope.cancel()
        if hung.is_set() and self.process is not None:
            return await self._without_forking(code, timeout, self.process.loaded[0])
        return observe(ending, collector, timeout=timeout)

    async def _without_forking(self, code: str, timeout: float, library: str) -> Observation:
        """Run the code in a kernel that was not forked, to find out whether the fork or the code itself hangs.

        Raises:
            BranchingChanged: the code ends there, so the fork caused the hang.
        """
        again = (await self._branches.fall_back()).branch(self._steps)
        observed = await again.run(code, timeout=min(timeout, scale(_PROOF_SECONDS)))
        await again.close()
        if observed.status == "timeout":
            return observed
        if observed.status == "ok":
            await to_thread.run_sync(remember, library)
        raise await self._branches.change(ForkRefused(f"its forks hang because {library} is loaded", library=library))

    async def _watch(self, sibling: Sibling, hung: anyio.Event) -> None:
        """End a kernel that hangs because it was forked. Watches only where a library known to cause that is loaded."""
        body = self.process
        if body is None or not body.loaded:
            return
        if self._stall is None:
            self._stall = Stall(body.pid)
        while not self._stall.look():
            await anyio.sleep(_LOOK_SECONDS)
        hung.set()
        await sibling.end("it hung after being forked")

    async def _forget_forks(self) -> None:
        """Close the forks made ahead: their state is about to change or end."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            await ahead.close()


async def _close_all(branches: Sequence[ForkBranch]) -> None:
    with anyio.CancelScope(shield=True):
        for branch in branches:
            await branch.close()
