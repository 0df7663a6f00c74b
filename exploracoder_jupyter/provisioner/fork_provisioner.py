"""The kernel provisioner `explora-fork`: start is a fork, restart is another fork, of the same running kernel.

    "metadata": {"kernel_provisioner": {"provisioner_name": "explora-fork",
                                        "config": {"connection_file": ".../kernel-xyz.json", "confined": true}}}

in a `kernel.json`. The command of the kernelspec, the environment and the folder that a client asks for are passed
over: a fork has those of the kernel it comes from, as far as it is not confined. A fork ends with the process that
started it.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from pydantic import ValidationError
from traitlets import Bool, Dict, Unicode

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.core.settings import Sandbox
from exploracoder_jupyter.kernels.processes.forked_process import Forked
from exploracoder_jupyter.provisioner.fork_server import Served
from exploracoder_jupyter.provisioner.kernel_requests import RunningKernel


class ForkProvisioner(KernelProvisionerBase):
    """Provides forks of one running kernel. See `jupyter_client.provisioning.KernelProvisionerBase`."""

    connection_file = Unicode(help="connection file of the running kernel").tag(config=True)
    confined = Bool(True, help="whether forks are kept apart like experiments").tag(config=True)
    sandbox = Dict(help="settings of the section [sandbox] for confined forks").tag(config=True)

    _served: Served | None = None

    @property
    def _body(self) -> Forked | None:
        return self._served.body if self._served else None

    @property
    def has_process(self) -> bool:
        """Whether a fork has been made and not yet been waited for."""
        return self._body is not None

    @property
    def pid(self) -> int | None:
        """The fork's process, as this process sees it."""
        return self._body.pid if self._body else None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """There is no command to prepare."""
        kwargs.pop("extra_arguments", None)
        kwargs.pop("transport_encryption", None)
        prepared: dict[str, Any] = await super().pre_launch(cmd=[], **kwargs)
        return prepared

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork the running kernel.

        Raises:
            KernelError: it could not be forked, or the kernelspec does not say which kernel.
        """
        served = self._served = self._served or self._serve()
        await served.start()
        self.connection_info = cast(KernelConnectionInfo, {**served.connection, "key": served.key.encode()})
        return self.connection_info

    async def poll(self) -> int | None:
        """`None` while the fork lives. How it ended is told to nobody but its parent."""
        return None if self._body and self._body.is_alive else 0

    async def wait(self) -> int | None:
        """Wait for its end."""
        if self._served:
            await self._served.ended()
            await self._let_go()
        return 0

    async def send_signal(self, signum: int) -> None:
        """Send it a signal."""
        if self._body:
            with suppress(OSError):
                signal.pidfd_send_signal(self._body.process, signum)

    async def kill(self, restart: bool = False) -> None:
        """End it with all that it started."""
        if self._body:
            await self._body.end()

    async def terminate(self, restart: bool = False) -> None:
        """Ask it to end."""
        await self.send_signal(signal.SIGTERM)

    async def cleanup(self, restart: bool = False) -> None:
        """Leave nothing behind; the address stays when another fork is to follow."""
        await self._let_go()
        if self._served and not restart:
            await self._served.close()
            self._served = None

    def _serve(self) -> Served:
        if not self.connection_file:
            raise KernelError("The kernelspec does not say which kernel to fork: config.connection_file is missing.")
        try:
            sandbox = Sandbox(**self.sandbox)
        except ValidationError as error:
            raise KernelError(f"The kernelspec's config.sandbox is not valid: {error.errors()[0]['msg']}.") from error
        kernel = RunningKernel(Path(self.connection_file).expanduser())
        return Served(kernel, self.confined, sandbox)

    async def _let_go(self) -> None:
        if self._served and self._served.body:
            await self._served.end()
            self._served.body = None
