"""The folder of a run for everything temporary, and the command lines of its siblings."""

from __future__ import annotations

import base64
import json
import os
import secrets
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio
import psutil
from anyio import to_thread

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.files import try_lock
from exploracoder_jupyter.core.secrets.secret_names import is_secret_variable
from exploracoder_jupyter.kernels.agent import Interpreter, find_interpreter, write_agent_archive
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import Isolation, find_isolation, needed_by_interpreter
from exploracoder_jupyter.kernels.sandbox.syscall_filter import SyscallFilter, compile_filter
from exploracoder_jupyter.kernels.sandbox.views import FileView, VisibleFiles, allowed_environment, find_visible_files
from exploracoder_jupyter.kernels.sandbox.working_directory import Snapshot, take_snapshot

# The folder of each run for everything temporary: made, removed at the end, and removed later if its run was
# killed.
#
# All runs of a user share one private folder within the folder for temporary files, where anybody may make anything
# under any name. So it counts only if its descriptor shows that it belongs to this user and that nobody else can
# enter it; if somebody else holds its name, one with an unpredictable name is made. Whatever is opened or removed
# is reached by descriptors and through no link, and nothing that belongs to others is touched.
#
# `$XDG_RUNTIME_DIR` is private as well, but is a small file system in memory, whereas runs copy working
# directories.

_LONGEST_FOLDER: Final = 60
_STALE_SECONDS: Final = 60.0
_ROUNDS: Final = 3
_OPEN: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_FOLDER: Final = _OPEN | getattr(os, "O_DIRECTORY", 0)
_OPEN_PATH: Final = getattr(os, "O_PATH", 0)


def short_temporary_folder() -> Path:
    """Return the folder for temporary folders that contain sockets, whose paths are limited."""
    usual = Path(tempfile.gettempdir()).resolve()
    return usual if len(str(usual)) <= _LONGEST_FOLDER else Path("/tmp")


@contextmanager
def open_run_folder() -> Iterator[Path]:
    """Yield a new folder for one run, whose path is short; removed on exit. Removes those of killed runs first.

    Blocks. Raises OSError: it could not be made.
    """
    path, private, name = _make_run_folder()
    try:
        _remove_stale_folders(private)
        lock = os.open(path / name / "lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            try_lock(lock)  # marks the folder as in use until this process ends
            try:
                yield path / name
            finally:
                _remove(name, private)
        finally:
            os.close(lock)
    finally:
        os.close(private)
        with suppress(OSError):  # other runs are active
            path.rmdir()


def remove_tree(folder: Path) -> None:
    """Remove a folder, even if a process in it removed its own permissions. Files that cannot be removed stay."""
    with suppress(OSError), _opened(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as parent:
        _remove(folder.name, parent)


def _make_run_folder() -> tuple[Path, int, str]:
    """Make a folder for one run; return the private folder, a descriptor of that, and the name in it."""
    while True:
        path, private = _open_private_folder()
        try:
            return path, private, _make_folder(private)
        except FileNotFoundError:  # the last of the other runs has just removed it
            os.close(private)
        except BaseException:
            os.close(private)
            raise


def _open_private_folder() -> tuple[Path, int]:
    """Return the path and a descriptor of the folder that this user's runs share, which is made if there is none."""
    shared, prefix = short_temporary_folder(), f"xplora-{os.geteuid()}"
    with suppress(OSError):
        (shared / prefix).mkdir(mode=0o700)
    if (private := _open_if_private(shared / prefix)) is not None:
        return shared / prefix, private
    for path in sorted(shared.glob(f"{prefix}-*")):
        if (private := _open_if_private(path)) is not None:
            return path, private
    path = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=shared))
    return path, os.open(path, _OPEN_FOLDER)


def _open_if_private(path: Path) -> int | None:
    """Open a folder that belongs to this user and that only this user can enter; return `None` for any other."""
    try:
        folder = os.open(path, _OPEN_FOLDER)
    except OSError:
        return None
    status = os.fstat(folder)
    if status.st_uid == os.geteuid() and not status.st_mode & 0o077:
        return folder
    os.close(folder)
    return None


def _make_folder(parent: int) -> str:
    """Make a folder with a new short name, and return the name."""
    while True:
        name = secrets.token_hex(2)
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=parent)
            return name


def _remove_stale_folders(private: int) -> None:
    """Remove the folders of runs that were killed: their locks are old, and no process has them."""
    for name in _names(private):
        with suppress(OSError), _opened(name, _OPEN_FOLDER, private) as folder, _opened("lock", _OPEN, folder) as lock:
            status = os.fstat(lock)
            own = status.st_uid == os.fstat(folder).st_uid == os.geteuid() and stat.S_ISREG(status.st_mode)
            if own and time.time() - status.st_mtime >= _STALE_SECONDS and try_lock(lock):
                _remove(name, private)


def _remove(name: str, parent: int) -> None:
    """Remove a file, or a folder with its content: inner folders are moved to the top first, so that no depth matters.

    A link is removed, and what it points to is not looked at. Processes may still change the content meanwhile.
    """
    with suppress(OSError):
        if _unlink(name, parent):
            return
        with _entered(name, parent) as top:
            for _ in range(_ROUNDS):
                waiting = _names(top)
                while waiting:
                    with suppress(OSError):
                        waiting += _empty(waiting.pop(), top)
        os.rmdir(name, dir_fd=parent)


def _empty(name: str, top: int) -> list[str]:
    """Remove an entry of a folder; return the names that the folders in it have there now."""
    if _unlink(name, top):
        return []
    moved = []
    with _entered(name, top) as folder:
        for child in _names(folder):
            with suppress(OSError):
                if _unlink(child, folder):
                    continue
                with _entered(child, folder):  # moving it needs permissions on it, as its parent changes
                    moved.append(secrets.token_hex(8))
                    os.rename(child, moved[-1], src_dir_fd=folder, dst_dir_fd=top)
    os.rmdir(name, dir_fd=top)
    return moved


def _names(folder: int) -> list[str]:
    return os.listdir(folder)


def _unlink(name: str, parent: int) -> bool:
    """Remove an entry unless it is a folder; return whether it is gone."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


@contextmanager
def _entered(name: str, parent: int) -> Iterator[int]:
    """Yield a descriptor of a folder, on which its owner gets all permissions. Raises OSError: it is not a folder."""
    with suppress(OSError):
        if _OPEN_PATH:  # a folder without permissions can be opened in no other way
            with _opened(name, _OPEN_PATH | _OPEN_FOLDER, parent) as handle:
                if stat.S_IMODE(os.fstat(handle).st_mode) & 0o700 != 0o700:
                    Path(f"/proc/self/fd/{handle}").chmod(0o700)
        else:
            os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
    with _opened(name, _OPEN_FOLDER, parent) as folder:
        yield folder


@contextmanager
def _opened(path: str | Path, flags: int, parent: int | None = None) -> Iterator[int]:
    """Yield a descriptor, closed afterwards."""
    descriptor = os.open(path, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


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
            "TMPDIR": "/tmp" if self.isolation.mounts else str(private / "tmp"),
        }
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
    run_folder = open_run_folder()

    async def leave() -> None:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(run_folder.__exit__, None, None, None)

    with anyio.CancelScope(shield=True):
        folder = await to_thread.run_sync(run_folder.__enter__)
    stack.push_async_callback(leave)
    return folder
