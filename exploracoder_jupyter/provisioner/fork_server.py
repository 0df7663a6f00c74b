"""A fork of a running kernel, served at an address that stays the same when another fork replaces it.

The root of the forks is not served itself (see `kernels.branching.fork_branch`) and exists for a moment only. The
sockets of a confined fork are in its private view of the file system, so the address consists of links to wherever they
are at present: connected clients find the next fork there, as they find a restarted kernel at its old ports.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.kernels.branching.fork_request import PORTS, ForkRequestBuilder
from exploracoder_jupyter.kernels.branching.forker import Forker, host_path
from exploracoder_jupyter.kernels.launcher import open_launcher
from exploracoder_jupyter.kernels.processes.forked_process import ForkedProcess
from exploracoder_jupyter.kernels.runtime_folder import remove_tree, short_temporary_folder
from exploracoder_jupyter.kernels.sandbox.fork_sandbox_level import SandboxLevel, find_level
from exploracoder_jupyter.kernels.sandbox.workdir_snapshot import Snapshot
from exploracoder_jupyter.kernels.sibling_kernel import open_context
from exploracoder_jupyter.provisioner.running_kernel import find_working_directory, request_fork


@dataclass(slots=True)
class ForkServer:
    """Serves at most one fork of a kernel at a time. Await `close` in the end."""

    kernel: Path
    """The connection file of the running kernel."""
    confined: bool = True
    """Whether the fork is isolated like an experiment; otherwise it may do whatever the kernel may."""
    sandbox: Sandbox = field(default_factory=Sandbox)
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    level: SandboxLevel | None = None
    """The isolation level of the last fork."""
    fork: ForkedProcess | None = None
    """The process of the last fork."""
    _folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="xfork-", dir=short_temporary_folder())))
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    @property
    def connection(self) -> dict[str, Any]:
        """The content of the connection file."""
        return {
            **PORTS,
            "transport": "ipc",
            "ip": str(self._folder / "k"),
            "key": self.key,
            "signature_scheme": "hmac-sha256",
            "kernel_name": "",
        }

    @property
    def connection_file(self) -> Path:
        """The connection file for clients; it exists from the first start on."""
        return self._folder / "connection.json"

    @property
    def isolation(self) -> str:
        """The fork's isolation in words, for display; empty before the first start."""
        return self.level.describe(network=self.sandbox.network) if self.level else ""

    async def start(self) -> None:
        """Fork the kernel in its present state. Raises KernelError: the kernel could not be forked; MissingRequirement:
        the settings require something that this machine cannot provide."""
        workdir = await find_working_directory(self.kernel)
        async with AsyncExitStack() as stack:
            launcher = await stack.enter_async_context(open_launcher(self.sandbox, workdir=workdir))
            snapshot, level = Snapshot(workdir, workdir, (), ()), SandboxLevel("open")
            if self.confined:
                level = await to_thread.run_sync(find_level, launcher.archive)
                snapshot = await launcher.snapshot(workdir, borrow=level.name == "namespaces")
            self.level = level
            context = stack.enter_context(open_context())
            forker = Forker(ForkRequestBuilder(launcher, snapshot, level, watched=False), context)
            root = await forker.root(partial(request_fork, self.kernel), chdir=None)
            stack.push_async_callback(_end_and_release, root)
            order = forker.orders.branch(1, root.home)
            order["connection"]["key"] = self.key
            self.fork = await forker.child(root, order)
            stack.push_async_callback(_end_and_release, self.fork)
            await root.end()
            self._link_sockets(host_path(order["connection"]["ip"], self.fork))
            self._stack = stack.pop_all()

    async def ended(self) -> None:
        """Wait until the fork has ended."""
        if self.fork:
            await anyio.wait_readable(self.fork.process)

    async def end(self) -> None:
        """End the fork and all processes that it started."""
        with anyio.CancelScope(shield=True):
            await self._stack.aclose()

    async def close(self) -> None:
        """End the fork and remove the address."""
        await self.end()
        remove_tree(self._folder)

    def _link_sockets(self, target: str) -> None:
        """Point the address at these sockets."""
        for port in PORTS.values():
            link = self._folder / f"k-{port}"
            with suppress(FileNotFoundError):
                link.unlink()
            link.symlink_to(f"{target}-{port}")
        self.connection_file.write_text(json.dumps(self.connection, indent=2))


async def _end_and_release(process: ForkedProcess) -> None:
    await process.end()
    await process.release()


@asynccontextmanager
async def open_fork(
    connection_file: Path, *, confined: bool = True, sandbox: Sandbox | None = None
) -> AsyncIterator[ForkServer]:
    """Serve a fork of the running kernel with this connection file until the block is left. Raises KernelError: the
    kernel could not be forked."""
    server = ForkServer(connection_file, confined, sandbox or Sandbox())
    try:
        await server.start()
        yield server
    finally:
        await server.close()
