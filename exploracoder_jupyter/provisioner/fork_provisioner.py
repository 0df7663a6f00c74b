"""The kernel provisioner `explora-fork`: starting a kernel forks a running kernel, restarting forks it again.

Use it in a `kernel.json`:

    "metadata": {"kernel_provisioner": {"provisioner_name": "explora-fork",
                                        "config": {"connection_file": ".../kernel-xyz.json", "confined": true}}}

The kernelspec's command and the environment and folder that a client requests are ignored: a fork has those of the
kernel it comes from, unless confinement changes them. A fork ends with the process that started it.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from pydantic import TypeAdapter, ValidationError
from traitlets import Bool, Dict, Unicode

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.kernels.processes.forked_process import ForkedProcess
from exploracoder_jupyter.provisioner.fork_server import ForkServer


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
