"""The command lines of the siblings of a run, and what they share."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio
import psutil
from anyio import to_thread

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.core.secrets.secret_names import is_secret_variable
from exploracoder_jupyter.kernels.agent import Interpreter, find_interpreter, write_agent_archive
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import Isolation, find_isolation, needed_by_interpreter
from exploracoder_jupyter.kernels.sandbox.syscall_filter import SyscallFilter, compile_filter
from exploracoder_jupyter.kernels.sandbox.views import FileView, VisibleFiles, allowed_environment, find_visible_files
from exploracoder_jupyter.kernels.sandbox.working_directory import Snapshot, take_snapshot

# Composes the command lines of siblings, and opens what those of one run share: interpreter, isolation, a folder.
#
# A `Launcher` is opened once per run. It composes the command line of a process (confinement, interpreter, limits,
# module of `kernel_agent`) and owns the run's private temporary folder (`launcher`), whose name is short
# because socket paths are limited to about 107 characters.

_MEGABYTE: Final = 1 << 20
_MACHINE_SHARE: Final = 0.8
_THREADS_PER_PROCESS: Final = 4
_MAX_LARGE_FILES: Final = 4


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts the processes of one run."""

    sandbox: Sandbox
    interpreter: Interpreter
    isolation: Isolation
    folder: Path
    """The run's folder, which contains everything temporary."""
    archive: Path
    """The zip of `kernel_agent`."""
    files: VisibleFiles
    filter: SyscallFilter | None = None
    """For spawned processes; forks have a filter of their own."""

    @property
    def all_runs(self) -> Path:
        """The folder that contains those of all runs of this user, which siblings do not see."""
        return self.folder.parent

    @property
    def memory(self) -> int:
        """Bytes of memory that one sibling may use: the setting, limited to 80 % of the machine's memory."""
        return min(self.sandbox.memory_mb * _MEGABYTE, int(psutil.virtual_memory().total * _MACHINE_SHARE))

    @property
    def disk(self) -> int:
        """Bytes of disk that one sibling may use: its copy of the working directory plus a few large files."""
        return (self.sandbox.copy_mb + _MAX_LARGE_FILES * self.sandbox.file_mb) * _MEGABYTE

    @property
    def readable(self) -> tuple[Path, ...]:
        """Paths that must stay readable wherever they are."""
        return (*self.files.shown, self.archive)

    def environ(self, private: Path) -> dict[str, str]:
        """Return the environment of a process whose own writable folder is `private`."""
        kernelspec = self.interpreter.environ.items()
        given = {name: value for name, value in kernelspec if not is_secret_variable(name, value)}
        own = {
            "IPYTHONDIR": str(private / "ipython"),
            "MPLCONFIGDIR": str(private / "matplotlib"),
            # Numba-compiled libraries cannot be imported where their caches cannot be written.
            "NUMBA_CACHE_DIR": str(private / "numba"),
            # Python on Windows reads the last two, and TMPDIR before them.
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), "/tmp" if self.isolation.mounts else str(private / "tmp")),
        }
        if sys.platform == "win32":  # what programs print for this process; elsewhere UTF-8 is usual
            own["PYTHONIOENCODING"] = "utf-8"
        return {**allowed_environment(os.environ, network=self.sandbox.network), **given, **own}

    def command(self, module: str, arguments: Sequence[str], view: FileView) -> list[str]:
        """Return the command line that runs a module of `kernel_agent` within the view."""
        encoded = None if self.filter is None else base64.b64encode(self.filter.program).decode()
        limits = json.dumps({**self.limits(), "filter": encoded})
        program = [*self.interpreter.command, str(self.archive), limits, module, *arguments]
        return self.isolation.command(program, view)

    async def snapshot(self, workdir: Path, *, borrow: bool) -> Snapshot:
        """Copy the working directory into the run's folder; see `take_snapshot`.

        What must stay readable in it and was not copied, such as an interpreter below the home folder, is borrowed.
        """
        hidden, named, most_mb = (*self.files.hidden, self.all_runs), self.files.named, self.sandbox.copy_mb
        folder = self.folder / "files"
        snapshot = await to_thread.run_sync(
            lambda: take_snapshot(workdir, folder, most_mb=most_mb, hidden=hidden, named=named, borrow=borrow)
        )
        borrowed = list(snapshot.borrowed)
        for path in (path.relative_to(workdir) for path in self.readable if borrow and path.is_relative_to(workdir)):
            if not ((snapshot.folder / path).exists() or any(path.is_relative_to(outer) for outer in borrowed)):
                borrowed.append(path)
        return replace(snapshot, borrowed=tuple(borrowed))

    @property
    def max_tasks(self) -> int:
        """Limit on the processes and threads of one sibling."""
        return self.sandbox.processes * _THREADS_PER_PROCESS

    def limits(self) -> dict[str, int | bool | None]:
        """Return the limits that each sibling sets for itself; see `kernel_agent.confinement.resource_limits.apply`."""
        return {
            "memory": self.memory,
            "cpu": self.sandbox.cpu_seconds,
            "file": self.sandbox.file_mb * _MEGABYTE,
            "open": self.sandbox.open_files,
            "processes": self.max_tasks if self.isolation.counts_processes else None,
        }


@asynccontextmanager
async def open_launcher(
    sandbox: Sandbox, *, workdir: Path, paths: Sequence[str] = (), kernels: bool = True
) -> AsyncIterator[Launcher]:
    """Open a launcher for work in this folder; its temporary folder is removed on exit.

    `paths`: import paths of a live kernel in addition to those of its interpreter. `kernels`: whether it starts
    kernels, not only other programs. Raises MissingRequirement: the kernel named in the settings cannot be used."""
    interpreter = await to_thread.run_sync(lambda: find_interpreter(sandbox.kernel, sandbox.python, kernels=kernels))
    isolation = await to_thread.run_sync(lambda: find_isolation(network=sandbox.network))
    async with AsyncExitStack() as stack:
        folder = await _enter_run_folder(stack)
        archive = write_agent_archive(folder / "kernel_agent.zip")
        needed = needed_by_interpreter([*interpreter.paths, *interpreter.command[:1], *paths])
        files = await to_thread.run_sync(
            lambda: find_visible_files(os.environ, workdir=workdir, needed=needed, allow_read=sandbox.allow_read)
        )
        compiled = compile_filter("bubblewrap" if isolation.mounts else "limits", network=sandbox.network)
        yield Launcher(sandbox, interpreter, isolation, folder, archive, files, compiled)


async def _enter_run_folder(stack: AsyncExitStack) -> Path:
    """Open the run's folder, which is removed with the stack."""
    run_folder = system.open_run_folder()

    async def leave() -> None:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(run_folder.__exit__, None, None, None)

    with anyio.CancelScope(shield=True):
        folder = await to_thread.run_sync(run_folder.__enter__)
    stack.push_async_callback(leave)
    return folder
