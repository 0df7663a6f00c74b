"""Makes the siblings of one run: each has its own folder, copy of the working directory, limits and setup."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

import anyio
import zmq.asyncio
from anyio import to_thread

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.time_limits import scale_limit
from exploracoder_jupyter.kernels.launcher import Launcher
from exploracoder_jupyter.kernels.observing.output_collector import OutputCollector
from exploracoder_jupyter.kernels.processes.spawned_process import LaunchSpec, start_sibling
from exploracoder_jupyter.kernels.runtime_folder import remove_tree
from exploracoder_jupyter.kernels.sandbox.file_mounts import FileView
from exploracoder_jupyter.kernels.sandbox.hidden_credentials import maskable_paths
from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import Snapshot
from exploracoder_jupyter.kernels.sibling_kernel import AnySibling, Sibling

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
                await to_thread.run_sync(remove_tree, folder)
            if isinstance(error, OSError):  # mostly a full disk
                raise KernelError(f"A sibling kernel could not be started: {_reason(error)}.") from error
            raise

    async def dispose(self, sibling: Sibling) -> None:
        """End the sibling and remove its folder. Idempotent; not interrupted by cancellation."""
        with anyio.CancelScope(shield=True):
            await sibling.close()
            if sibling.process.folder is not None:
                await to_thread.run_sync(remove_tree, sibling.process.folder)

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
