"""The siblings of one run: each with its own folder and files, and a few started ahead."""

from __future__ import annotations

import json
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

import anyio
import zmq.asyncio
from anyio import to_thread
from anyio.abc import TaskGroup

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import ExploraError, KernelError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.kernels.agent import inspect, read_interpreter_facts
from exploracoder_jupyter.kernels.launcher import Launcher
from exploracoder_jupyter.kernels.output_collector import OutputCollector
from exploracoder_jupyter.kernels.processes.processes import LaunchSpec, start_sibling
from exploracoder_jupyter.kernels.sandbox.syscall_filter import NO_FILTER_NOTE, SyscallFilter
from exploracoder_jupyter.kernels.sandbox.views import FileView, maskable_paths
from exploracoder_jupyter.kernels.sandbox.working_directory import Snapshot
from exploracoder_jupyter.kernels.sibling_kernel import AnySibling, Sibling
from exploracoder_jupyter.pipeline.ports import Branch

# The siblings of one run: what the implementations have in common.

_known_facts: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {}
"""By interpreter: when its folders were modified, and the facts about it then. A server opens siblings often."""


class Siblings(ABC):
    """The siblings of one run. An async context manager; the same task must enter and leave it."""

    _environment: Environment

    def __init__(self, sandbox: Sandbox, *, workdir: Path, setup: str = "", variables: Path | None = None) -> None:
        """`setup` is code that a fresh kernel runs first; `variables` a folder written by
        `kernel_agent.variable_encoding.dump`."""
        self.sandbox, self._workdir = sandbox, workdir.resolve()
        self._setup, self._variables = setup, variables
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await self._open(stack)
            self._environment = await self._read_environment()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, traceback)

    @abstractmethod
    async def root(self) -> Branch:
        """Return a branch in the initial state."""

    @abstractmethod
    def inspect(self, module: str, arguments: Sequence[str]) -> AsyncIterator[str]:
        """Run a module of `kernel_agent` in the siblings' interpreter; see `kernels.agent.Inspect`."""

    def environment(self) -> Environment:
        """Return where the siblings run and how far they are isolated."""
        return self._environment

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user."""
        return ()

    @abstractmethod
    async def _open(self, stack: AsyncExitStack) -> None:
        """Start everything; the stack ends it."""

    @abstractmethod
    async def _read_environment(self) -> Environment: ...


class LocalSiblings(Siblings):
    """Siblings on this machine."""

    _launcher: Launcher
    state: str
    """Where experiments start, and why; recorded as `Environment.state`."""

    def inspect(self, module: str, arguments: Sequence[str]) -> AsyncIterator[str]:
        """Run a module of `kernel_agent` in the siblings' interpreter; see `kernels.agent.Inspect`."""
        return inspect(self._launcher, module, arguments, workdir=self._workdir)

    async def _read_facts(self) -> dict[str, Any]:
        """Return `read_interpreter_facts`; where nothing has been installed since, without starting a program."""
        key = repr((self._launcher.interpreter, self._workdir, _python_variables()))
        searched = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        folders = [Path(one) for one in (*self._launcher.interpreter.paths, *searched) if one]
        state = tuple(map(_modified, (*folders, self._workdir)))
        known = _known_facts.get(key)
        if known is None or known[0] != state:
            known = _known_facts[key] = (state, await read_interpreter_facts(self.inspect))
        return known[1]

    async def _describe_environment(
        self, isolation: str, filter: SyscallFilter | None, snapshot: Snapshot, branching: str
    ) -> Environment:
        unfiltered = NO_FILTER_NOTE if filter is None and sys.platform.startswith("linux") else ""
        return Environment(
            **await self._read_facts(),
            kernel=self._launcher.interpreter.name,
            isolation="; ".join(part for part in (isolation, unfiltered, snapshot.note) if part),
            branching=branching,
            state=self.state,
        )


def _python_variables() -> list[tuple[str, str]]:
    return sorted(item for item in os.environ.items() if item[0].startswith(("PYTHON", "TZ", "VIRTUAL_ENV", "CONDA")))


def _modified(folder: Path) -> int:
    """Return when the folder, or the metadata of a distribution in it, was last modified; 0 if there is none."""
    latest = 0
    for file in (folder, *folder.glob("*.dist-info/METADATA"), *folder.glob("*.egg-info/PKG-INFO")):
        with suppress(OSError):
            latest = max(latest, file.stat().st_mtime_ns)
    return latest


# Makes the siblings of one run: each has its own folder, copy of the working directory, limits and setup.

_SETUP_SECONDS: Final = 60.0
_KERNEL_ARGUMENTS: Final = ("-f", "{connection_file}", "--HistoryManager.enabled=False")


@dataclass(slots=True)
class SiblingFactory:
    """Starts siblings and disposes of them."""

    launcher: Launcher
    snapshot: Snapshot
    context: zmq.asyncio.Context
    variables: Path | None = None
    """Folder written by `kernel_agent.variable_encoding.dump`, loaded into every sibling."""
    _serial: count[int] = field(default_factory=count)

    async def start(self) -> Sibling:
        """Start a fresh sibling and load its variables. Raises KernelError: it did not start."""
        folder = self.launcher.folder / f"s{next(self._serial)}"
        try:
            await to_thread.run_sync(self._prepare, folder)
            return await start_sibling(self._launch(folder), self.context)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(system.remove_tree, folder)
            if isinstance(error, OSError):  # mostly a full disk
                raise KernelError(f"A sibling kernel could not be started: {_reason(error)}.") from error
            raise

    async def dispose(self, sibling: Sibling) -> None:
        """End the sibling and remove its folder. Idempotent; not interrupted by cancellation."""
        with anyio.CancelScope(shield=True):
            await sibling.close()
            if sibling.process.folder is not None:
                await to_thread.run_sync(system.remove_tree, sibling.process.folder)

    def _prepare(self, folder: Path) -> None:
        make_private_folders(folder)
        shutil.copytree(self.snapshot.folder, folder / "work", symlinks=True)
        for fonts in font_caches():
            shutil.copy2(fonts, folder / "matplotlib")

    def _launch(self, folder: Path) -> LaunchSpec:
        mounts = self.launcher.isolation.mounts
        arguments = startup_arguments(self.launcher, self.variables, reap=not mounts)
        return LaunchSpec(
            command=self.launcher.command("kernel_startup", arguments, self._file_view(folder)),
            environ=self.launcher.environ(folder),
            cwd=folder if mounts else folder / "work",
            folder=folder,
            supervised=mounts,
        )

    def _file_view(self, folder: Path) -> FileView:
        source = self.snapshot.source
        variables = () if self.variables is None else (self.variables,)
        return FileView(
            workdir=source,
            copy=folder / "work",
            temporary=folder / "tmp",
            writable=(folder,),
            readable=(*self.launcher.readable, *variables),
            borrowed=tuple(source / path for path in self.snapshot.borrowed),
            hidden=maskable_paths((*self.launcher.files.hidden, *self.snapshot.hidden)),
            covered=self.launcher.files.covered,
            private=self.launcher.all_runs,
            shared_memory=self.launcher.memory // 4,
        )


def make_private_folders(folder: Path) -> None:
    """Create a sibling's own folder, which only this user can enter."""
    for name in ("tmp", "ipython", "matplotlib"):
        (folder / name).mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)


def startup_arguments(launcher: Launcher, variables: Path | None, **flags: bool) -> list[str]:
    """Return the arguments of `kernel_agent.kernel_startup`."""
    options = {
        "output": launcher.sandbox.output_kb * 1000,
        "variables": None if variables is None else str(variables),
        "pickled": launcher.sandbox.pickle,
        **flags,
    }
    return [json.dumps(options), *_KERNEL_ARGUMENTS]


async def run_setup(sibling: AnySibling, code: str) -> None:
    """Run the code that every sibling runs first, if there is any. Raises KernelError: the code failed."""
    if not code:
        return
    collector = OutputCollector(10_000)
    result = await sibling.execute(code, timeout=scale_limit(_SETUP_SECONDS), collector=collector)
    if result.cause != "finished" or result.reply.get("status") != "ok":
        why = collector.error.headline if collector.error else result.note or result.cause
        raise KernelError(f"The code that prepares each sibling failed: {why}.")


def _reason(error: OSError) -> str:
    """Return what went wrong, for the user; copying a folder raises an error that lists all files that failed."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list) and error.args[0]:
        return str(error.args[0][0][-1])
    return str(error)


def font_caches() -> list[Path]:
    """Return Matplotlib's font caches, if the user has any: each sibling would take seconds to build its own."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get("MPLCONFIGDIR") or home / "matplotlib")
    return sorted(folder.glob("fontlist-*.json"))


# Keeps a few siblings started ahead, so that a branch finds one ready: fresh kernels, or forks of one state.
#
# A start that fails while no caller waits is ignored: the next caller tries again and gets the error.

CORES: Final = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
_MAX_AHEAD: Final = 8

S = TypeVar("S", bound=AnySibling)


class WarmPool(Generic[S]):
    """Siblings started ahead. Starts run in the task group, which must outlive the pool."""

    def __init__(
        self,
        tasks: TaskGroup,
        start: Callable[[], Awaitable[S]],
        dispose: Callable[[S], Coroutine[Any, Any, None]],
        *,
        size: int = 0,
        limiter: anyio.CapacityLimiter | None = None,
    ) -> None:
        """`size` siblings are always kept ready; `start` raises KernelError; `limiter` limits concurrent starts."""
        self._tasks, self._start, self._dispose, self._size = tasks, start, dispose, size
        self._start_limiter = limiter or anyio.CapacityLimiter(CORES)
        self._sender, self._receiver = anyio.create_memory_object_stream[S | ExploraError](float("inf"))
        self._starting = self._takers = self._expected = 0
        self._closed = False

    def expect(self, n: int) -> None:
        """Expect `n` siblings to be taken, and start the missing ones in the background."""
        self._expected = max(self._expected, n)
        self.warm_up()

    def warm_up(self) -> None:
        """Start the missing siblings in the background. Returns at once."""
        wanted = 0 if self._closed else self._size + self._takers + min(self._expected, _MAX_AHEAD)
        for _ in range(wanted - self._starting - self._receiver.statistics().current_buffer_used):
            self._starting += 1
            self._tasks.start_soon(self._start_one)

    async def take(self) -> S:
        """Return a living sibling with no other user; the caller closes it. Raises KernelError: none could be
        started."""
        while True:
            item = await self._next()
            if isinstance(item, ExploraError):
                raise item
            if item.is_alive:
                return item
            await self._dispose(item)

    async def close(self) -> None:
        """End the siblings that were not taken."""
        self._closed = True
        async with anyio.create_task_group() as tasks:
            with suppress(anyio.WouldBlock):
                while True:
                    item = self._receiver.receive_nowait()
                    if not isinstance(item, ExploraError):
                        tasks.start_soon(self._dispose, item)
        self._sender.close()
        self._receiver.close()

    async def _next(self) -> S | ExploraError:
        self._expected = max(0, self._expected - 1)
        self._takers += 1
        self.warm_up()
        try:
            item = await self._receiver.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise KernelError("The state to branch from no longer exists.") from None
        finally:
            self._takers -= 1
        self.warm_up()
        return item

    async def _start_one(self) -> None:
        try:
            async with self._start_limiter:
                item: S | ExploraError = await self._start()
        except ExploraError as error:
            item = error
        finally:
            self._starting -= 1
        if isinstance(item, ExploraError):
            if self._takers > self._receiver.statistics().current_buffer_used:  # a taker may not wait yet
                self._sender.send_nowait(item)
        elif self._closed:
            await self._dispose(item)
        else:
            self._sender.send_nowait(item)
