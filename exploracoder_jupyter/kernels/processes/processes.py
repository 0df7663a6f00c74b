"""The processes of siblings that are started, not forked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import zmq.asyncio
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.kernels.processes.process_tree import ProcessTree, TreeUsage
from exploracoder_jupyter.kernels.sibling_kernel import Sibling

# The process of a spawned sibling: started with or without bubblewrap in its own folder; it ends with this process.

_REAP_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """The parameters for starting one sibling."""

    command: Sequence[str]
    """Confinement, interpreter and start-up module; `{connection_file}` is a placeholder."""
    environ: dict[str, str]
    cwd: Path
    folder: Path
    """The sibling's own folder, with a short path; contains sockets, connection file and log."""
    supervised: bool
    """Whether a supervisor (bubblewrap) is the root of the tree."""


async def start_sibling(launch: LaunchSpec, context: zmq.asyncio.Context) -> Sibling:
    """Start a kernel and wait until it answers. Raises KernelError: the kernel did not start; the message contains the
    last line of its log."""
    # Sockets in the sibling's own folder reach into a namespace without network, and need no free ports. Windows has
    # ports alone: there the key of the connection keeps others out.
    sockets = {} if sys.platform == "win32" else {"transport": "ipc", "ip": str(launch.folder / "k")}
    manager = AsyncKernelManager(
        **sockets,
        kernel_name="sibling",
        kernel_spec_manager=_SingleKernelSpec(launch.command),
        connection_file=str(launch.folder / "c.json"),
        context=context,
    )
    with anyio.CancelScope(shield=True):  # a cancellation in here would leave a process that nothing ends
        lifeline = await _start_process(launch, manager)
    return await Sibling.connect(manager.client(context=context), SpawnedProcess(launch, manager, lifeline))


class SpawnedProcess:
    """A spawned process with its tree and its lifeline to this process."""

    def __init__(self, launch: LaunchSpec, manager: AsyncKernelManager, lifeline: int) -> None:
        self._launch, self._manager, self._lifeline = launch, manager, lifeline
        self._process: subprocess.Popen[bytes] = getattr(manager.provisioner, "process")  # noqa: B009
        self._census = ProcessTree(self._process.pid)

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    @property
    def folder(self) -> Path:
        """Its own folder, which contains everything that it can write."""
        return self._launch.folder

    def usage(self, *, max_processes: int, shared: int, recount_above: float) -> TreeUsage:
        """Measure its process tree; see `ProcessTree.measure`."""
        return self._census.measure(max_processes=max_processes, shared=shared, recount_above=recount_above)

    def unshared_memory(self) -> int:
        """Bytes of memory that ending it would free."""
        return self._census.unshared_memory()

    def deleted_bytes(self, device: int) -> int:
        """Bytes of files on this device that it has deleted and still uses."""
        return self._census.deleted_bytes(device)

    async def interrupt(self) -> None:
        """Interrupt its code where it has to be done from outside: a kernel on Windows ignores the message."""
        if sys.platform == "win32":
            await self._manager.provisioner.send_signal(signal.SIGINT)

    async def end(self) -> None:
        """Kill every process of the tree and wait until they are gone."""
        await self._census.end(root_follows=self._launch.supervised)
        with anyio.move_on_after(_REAP_SECONDS):
            while self._process.poll() is None:
                await anyio.sleep(_POLL_SECONDS)

    async def release(self) -> None:
        """Close the lifeline and the manager's resources."""
        os.close(self._lifeline)
        await self._manager.cleanup_resources()

    def describe_end(self) -> str:
        """Describe how it ended."""
        return describe_exit(self._process.poll(), supervised=self._launch.supervised)

    def start_failure(self) -> str:
        """Return the last line of its log."""
        with suppress(OSError):
            lines = (self._launch.folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            if lines:
                return lines[-1]
        return "it did not answer in time."


class _SingleKernelSpec(KernelSpecManager):
    """Provides the spec of the one kernel to start."""

    def __init__(self, argv: Sequence[str]) -> None:
        super().__init__()
        self._spec = KernelSpec(argv=list(argv), display_name="sibling", language="python", interrupt_mode="message")

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        return self._spec


async def _start_process(launch: LaunchSpec, manager: AsyncKernelManager) -> int:
    """Start the process and return the descriptor of its lifeline, to which nothing is ever written.

    See `kernel_agent.confinement.exit_with_starter`.
    """
    theirs, ours = system.open_lifeline()
    try:
        with (launch.folder / "log").open("wb") as log:
            await manager.start_kernel(
                env=launch.environ, cwd=str(launch.cwd), stdin=theirs, stdout=subprocess.DEVNULL, stderr=log
            )
    except (OSError, RuntimeError) as error:
        os.close(ours)
        raise KernelError(f"A sibling kernel could not be started: {error}.") from error
    finally:
        os.close(theirs)
    return ours


def describe_exit(status: int | None, *, supervised: bool) -> str:
    """Describe how a kernel process ended. A supervisor reports signal `n` as status `128 + n`."""
    if status is None:
        return "the kernel is gone"
    number = -status if status < 0 else status - 128 if supervised and status > 128 else 0
    if number and number == getattr(signal, "SIGXCPU", None):
        return "the kernel exceeded its limit on CPU time and was ended"
    if number in set(signal.Signals):
        return f"the kernel process was ended by {signal.Signals(number).name}"
    return f"the kernel process exited with status {status}"
