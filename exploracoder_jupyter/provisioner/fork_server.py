"""A fork of a running kernel, served at an address that stays the same when the fork is replaced by another one.

The root of the forks is not served itself (see `kernels.branching.fork_branch`), and needed for a moment only. The
sockets of a
confined fork lie in its own view of the files, so the address is links to wherever they are just now: clients that are
connected find the next fork there, as they find a restarted kernel at its old ports.
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import zmq.asyncio
from anyio import to_thread

from exploracoder_jupyter.core.settings import Sandbox
from exploracoder_jupyter.kernels.branching.fork_request import Order, Orders
from exploracoder_jupyter.kernels.branching.forker import Forker, seen_from_here
from exploracoder_jupyter.kernels.launcher import Launcher, open_launcher
from exploracoder_jupyter.kernels.processes.forked_process import Forked
from exploracoder_jupyter.kernels.sandbox.sandbox_level import Level, find_level
from exploracoder_jupyter.kernels.sandbox.scratch_folder import Snapshot, take_snapshot
from exploracoder_jupyter.kernels.zmq_context import end_context
from exploracoder_jupyter.provisioner.kernel_requests import RunningKernel

_PORTS: Final = {"shell_port": 1, "iopub_port": 2, "stdin_port": 3, "control_port": 4, "hb_port": 5}
_LONGEST_FOLDER: Final = 60


@dataclass(slots=True)
class Served:
    """At most one fork at a time. `close` must be awaited in the end."""

    kernel: RunningKernel
    confined: bool = True
    """Whether the fork is kept apart like an experiment; else it may do whatever the kernel may."""
    sandbox: Sandbox = field(default_factory=Sandbox)
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    level: Level | None = None
    """How far the last fork is confined."""
    body: Forked | None = None
    """The last fork's process."""
    _folder: Path = field(default_factory=lambda: _make_folder())
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def connection(self) -> dict[str, Any]:
        """What stands in a connection file."""
        return {
            **_PORTS,
            "transport": "ipc",
            "ip": str(self._folder / "k"),
            "key": self.key,
            "signature_scheme": "hmac-sha256",
            "kernel_name": "",
        }

    @property
    def connection_file(self) -> Path:
        """A file with that, for clients; it is there from the first start on."""
        return self._folder / "connection.json"

    @property
    def isolation(self) -> str:
        """How far the fork is confined, for people; empty before the first start."""
        return self.level.describe(network=self.sandbox.network) if self.level else ""

    async def start(self) -> None:
        """Fork the kernel as it is now.

        Raises:
            KernelError: it could not be forked.
            MissingMeans: the settings ask for something that this machine cannot give.
        """
        workdir = await self.kernel.folder()
        async with AsyncExitStack() as stack:
            launcher = await stack.enter_async_context(open_launcher(self.sandbox, workdir=workdir))
            self.level = await to_thread.run_sync(find_level, launcher.archive) if self.confined else Level("open")
            forker = await self._forker(launcher, self.level, workdir, stack)
            self.body = await self._fork(forker, stack)
            self._stack = stack.pop_all()

    async def ended(self) -> None:
        """Wait until the fork has ended."""
        if self.body:
            await anyio.wait_readable(self.body.process)

    async def end(self) -> None:
        """End the fork with all that it started."""
        with anyio.CancelScope(shield=True):
            await self._stack.aclose()

    async def close(self) -> None:
        """End the fork, and give up the address."""
        await self.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _forker(self, launcher: Launcher, level: Level, workdir: Path, stack: AsyncExitStack) -> Forker:
        snapshot = Snapshot(workdir, workdir, (), ())
        if level.name != "open":
            hidden, borrow = (*launcher.files.hidden, launcher.folder), level.name == "namespaces"
            files = launcher.folder / "files"
            snapshot = await to_thread.run_sync(
                lambda: take_snapshot(workdir, files, most_mb=self.sandbox.copy_mb, hidden=hidden, borrow=borrow)
            )
        context = zmq.asyncio.Context()
        stack.callback(end_context, context)
        return Forker(Orders(launcher, snapshot, level, watched=False), context)

    async def _fork(self, forker: Forker, stack: AsyncExitStack) -> Forked:
        root = await forker.root(self.kernel.fork, chdir=None)
        stack.push_async_callback(_let_go, root)
        order = forker.orders.branch(1, root.home)
        order["connection"]["key"] = self.key
        body = await forker.child(root, order)
        stack.push_async_callback(_let_go, body)
        await root.end()
        await self._lead_to(order, body)
        return body

    async def _lead_to(self, order: Order, body: Forked) -> None:
        """Let the address lead to this fork."""
        there = seen_from_here(order["connection"]["ip"], body)
        for port in _PORTS.values():
            link = self._folder / f"k-{port}"
            with suppress(FileNotFoundError):
                link.unlink()
            link.symlink_to(f"{there}-{port}")
        self.connection_file.write_text(json.dumps(self.connection, indent=2))


def _make_folder() -> Path:
    """A private folder with a short path: those of sockets end at about 107 characters."""
    usual = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="xfork-", dir=usual if len(usual) <= _LONGEST_FOLDER else "/tmp"))


async def _let_go(body: Forked) -> None:
    await body.end()
    await body.release()


@asynccontextmanager
async def open_fork(
    connection_file: Path, *, confined: bool = True, sandbox: Sandbox | None = None
) -> AsyncIterator[Served]:
    """A fork of the running kernel with this connection file, for as long as the block lasts.

    Raises:
        KernelError: it could not be forked.
    """
    served = Served(RunningKernel(connection_file), confined, sandbox or Sandbox())
    try:
        await served.start()
        yield served
    finally:
        await served.close()
