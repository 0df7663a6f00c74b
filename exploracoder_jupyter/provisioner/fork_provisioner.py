"""The kernel provisioner `explora-fork`: starting a kernel forks a running kernel, restarting forks it again.

Use it in a `kernel.json`:

    "metadata": {"kernel_provisioner": {"provisioner_name": "explora-fork",
                                        "config": {"connection_file": ".../kernel-xyz.json", "confined": true}}}

The kernelspec's command and the environment and folder that a client requests are ignored: a fork has those of the
kernel it comes from, unless confinement changes them. A fork ends with the process that started it.
"""

from __future__ import annotations

import ast
import json
import secrets
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import anyio
from anyio import to_thread
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from pydantic import TypeAdapter, ValidationError
from traitlets import Bool, Dict, Unicode

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.platforms import system
from exploracoder_jupyter.kernels.branching.forker import PORTS, Forker, ForkRequestBuilder, host_path
from exploracoder_jupyter.kernels.launcher import open_launcher
from exploracoder_jupyter.kernels.processes.forked_process import ForkedProcess
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import SandboxLevel, find_level
from exploracoder_jupyter.kernels.sandbox.working_directory import Snapshot
from exploracoder_jupyter.kernels.sibling_kernel import open_context

# Requests to a running kernel: to describe itself and to fork itself, by messages that every Jupyter kernel
# accepts.
#
# The requests leave nothing in the kernel's namespace: they are expressions in a silent execute request. This
# package must be importable in the kernel, and the kernel must be idle: its main thread answers.

_SECONDS: Final = 15.0
_DESCRIBE: Final = "__import__('exploracoder_jupyter.kernel_agent.forking.fork_endpoint', fromlist=['_']).describe()"
_FORK: Final = "__import__('exploracoder_jupyter.kernel_agent.forking.fork_endpoint', fromlist=['_']).fork({address!r})"


async def find_working_directory(connection_file: Path) -> Path:
    """Return the kernel's working directory. Raises KernelError: the kernel does not answer, lacks this package or must
    not be forked."""
    description = json.loads(await evaluate(connection_file, _DESCRIBE))
    if description["refused"]:
        raise KernelError(f"The kernel cannot be forked: {description['refused']}.")
    return Path(description["folder"])


async def request_fork(connection_file: Path, address: str) -> None:
    """Ask the kernel to fork itself; the child connects to the UNIX socket at the address. Raises KernelError: the
    kernel does not fork."""
    await evaluate(connection_file, _FORK.format(address=address))


async def evaluate(connection_file: Path, expression: str, seconds: float = _SECONDS) -> str:
    """Evaluate the expression in the kernel and return its text. Raises KernelError: the kernel does not answer, or the
    expression fails."""
    async with _client(connection_file) as client:
        try:
            with anyio.fail_after(seconds):
                answer = await _evaluate_unaborted(client, expression)
        except TimeoutError as error:
            raise KernelError(f"The kernel did not answer within {seconds:g} s: it is busy or gone.") from error
    if answer.get("status") != "ok":
        problem = f"{answer.get('ename', 'no reply')}: {answer.get('evalue', '')}"
        raise KernelError(f"The kernel cannot be forked: {problem.rstrip(': ')}.")
    return str(ast.literal_eval(answer["data"]["text/plain"]))


async def _evaluate_unaborted(client: AsyncKernelClient, expression: str) -> dict[str, Any]:
    """Return the result of the expression. A failing cell aborts the requests queued behind it; retry after that."""
    while True:
        request = client.execute("", silent=True, store_history=False, user_expressions={"answer": expression})
        while (message := await client.get_shell_msg(timeout=None))["parent_header"].get("msg_id") != request:
            pass
        content = message["content"]
        answer: dict[str, Any] = content.get("user_expressions", {}).get("answer", content)
        if answer.get("status") != "aborted":
            return answer


@asynccontextmanager
async def _client(connection_file: Path) -> AsyncIterator[AsyncKernelClient]:
    client = AsyncKernelClient()
    try:
        client.load_connection_file(str(connection_file))
    except (OSError, ValueError) as error:
        raise KernelError(f"{connection_file} is not the connection file of a kernel.") from error
    client.start_channels(iopub=False, stdin=False, hb=False, control=False)
    try:
        yield client
    finally:
        client.stop_channels()
        client.context.destroy(linger=0)


# A fork of a running kernel, served at an address that stays the same when another fork replaces it.
#
# The root of the forks is not served itself (see `kernels.branching.fork_siblings`) and exists for a moment only. The
# sockets of a confined fork are in its private view of the file system, so the address consists of links to
# wherever they are at present: connected clients find the next fork there, as they find a restarted kernel at its
# old ports.


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
    _folder: Path = field(
        default_factory=lambda: Path(tempfile.mkdtemp(prefix="xfork-", dir=system.short_temporary_folder()))
    )
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
        system.remove_tree(self._folder)

    def _link_sockets(self, target: str) -> None:
        """Point the address at these sockets."""
        for port in PORTS.values():
            link = self._folder / f"k-{port}"
            with suppress(FileNotFoundError):
                link.unlink()
            link.symlink_to(f"{target}-{port}")
        self.connection_file.write_text(json.dumps(self.connection, indent=2), encoding="utf-8")


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


class ForkProvisioner(KernelProvisionerBase):
    """Provides forks of one running kernel. See `jupyter_client.provisioning.KernelProvisionerBase`."""

    connection_file = Unicode(help="connection file of the running kernel").tag(config=True)
    confined = Bool(True, help="whether forks are isolated like experiments").tag(config=True)
    sandbox = Dict(help="settings of the section [sandbox] for confined forks").tag(config=True)

    _server: ForkServer | None = None

    @property
    def _fork(self) -> ForkedProcess | None:
        return self._server.fork if self._server else None

    @property
    def has_process(self) -> bool:
        """Whether a fork was started whose end has not been awaited yet."""
        return self._fork is not None

    @property
    def pid(self) -> int | None:
        """The fork's process id, as this process sees it."""
        return self._fork.pid if self._fork else None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Return the launch arguments; there is no command to prepare."""
        kwargs.pop("extra_arguments", None)
        kwargs.pop("transport_encryption", None)
        prepared: dict[str, Any] = await super().pre_launch(cmd=[], **kwargs)
        return prepared

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork the running kernel. Raises KernelError: the kernel could not be forked, or the kernelspec names no
        kernel."""
        server = self._server = self._server or self._make_server()
        await server.start()
        self.connection_info = cast(KernelConnectionInfo, {**server.connection, "key": server.key.encode()})
        return self.connection_info

    async def poll(self) -> int | None:
        """Return `None` while the fork is alive, else 0: only the fork's parent learns its exit status."""
        return None if self._fork and self._fork.is_alive else 0

    async def wait(self) -> int | None:
        """Wait until the fork has ended."""
        if self._server:
            await self._server.ended()
            await self._end_fork()
        return 0

    async def send_signal(self, signum: int) -> None:
        """Send a signal to the fork."""
        if self._fork:
            with suppress(OSError):
                signal.pidfd_send_signal(self._fork.process, signum)

    async def kill(self, restart: bool = False) -> None:
        """Kill the fork and all processes that it started."""
        if self._fork:
            await self._fork.end()

    async def terminate(self, restart: bool = False) -> None:
        """Ask the fork to end."""
        await self.send_signal(signal.SIGTERM)

    async def cleanup(self, restart: bool = False) -> None:
        """Release all resources; the address is kept if another fork is to follow."""
        await self._end_fork()
        if self._server and not restart:
            await self._server.close()
            self._server = None

    def _make_server(self) -> ForkServer:
        if not self.connection_file:
            raise KernelError("The kernelspec does not name the kernel to fork: config.connection_file is missing.")
        try:
            sandbox = TypeAdapter(Sandbox).validate_python({**self.sandbox})
        except ValidationError as error:
            raise KernelError(f"The kernelspec's config.sandbox is not valid: {error.errors()[0]['msg']}.") from error
        return ForkServer(Path(self.connection_file).expanduser(), self.confined, sandbox)

    async def _end_fork(self) -> None:
        if self._server and self._server.fork:
            await self._server.end()
            self._server.fork = None
