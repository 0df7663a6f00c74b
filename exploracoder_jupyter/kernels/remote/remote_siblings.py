"""Siblings on another machine: branches by re-running, through the URL of a Jupyter Server or Kernel Gateway.

Nothing has to be installed there. Each sibling is a kernel that the server starts; it receives our code, a limited copy
of the working directory and the variables (`remote_payload`), and works in a fresh folder of its own. Its isolation is
up to that server: this side only limits memory, CPU seconds and file size. The kernels are deleted when the run ends;
by a process that outlives this one if this one is killed (`kernel_lifetime`); and if this machine is lost, they end
themselves (`kernel_agent.adopted_kernel`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from pydantic import SecretStr

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import KernelError, MissingRequirement, UsageError
from exploracoder_jupyter.core.types import Environment
from exploracoder_jupyter.kernels.agent import Inspect, read_interpreter_facts, split_lines
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSource
from exploracoder_jupyter.kernels.remote.gateway import Gateway, gateway_token, open_gateway
from exploracoder_jupyter.kernels.remote.kernel_lifetime import KernelReaper
from exploracoder_jupyter.kernels.remote.remote_payload import MAX_MB, Payload, build_payload, unpack_written
from exploracoder_jupyter.kernels.remote.remote_sibling import SILENCE_LIMIT_SECONDS, RemoteSibling
from exploracoder_jupyter.kernels.sibling_kernel import AnySibling


@dataclass(slots=True)
class RemoteFactory:
    """Starts and disposes of remote siblings; see `siblings.Factory`."""

    gateway: Gateway
    reaper: KernelReaper
    payload: Payload
    living: set[RemoteSibling] = field(default_factory=set)

    async def start(self) -> RemoteSibling:
        """Start a fresh sibling with its files and variables in place. Raises KernelError: it did not start, or could
        not be prepared."""
        sibling = await RemoteSibling.start(self.gateway, self.payload, self.reaper)
        self.living.add(sibling)
        return sibling

    async def dispose(self, sibling: AnySibling) -> None:
        """Delete the kernel. Idempotent; not interrupted by cancellation."""
        self.living = {other for other in self.living if other is not sibling}
        with anyio.CancelScope(shield=True):
            await sibling.close()

    async def keep_alive(self) -> None:
        """Notify the kernels that the run is still active, until cancelled."""
        while True:
            await anyio.sleep(SILENCE_LIMIT_SECONDS / 4)
            for sibling in tuple(self.living):
                await sibling.notify_alive()


class RemoteSiblings(RerunSource):
    """The siblings of one run on the server of `sandbox.gateway`.

    Entering raises UsageError or MissingRequirement when the server cannot be used with these settings, and KernelError
    when it starts no kernel. `token` is the server's token, by default from the environment.
    """

    factory: RemoteFactory
    max_concurrent = 4
    warm_siblings = 3

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        workdir: Path,
        setup: str = "",
        variables: Path | None = None,
        token: SecretStr | None = None,
    ) -> None:
        super().__init__(sandbox, workdir=workdir, setup=setup, variables=variables)
        self._token = token

    async def _open_factory(self, stack: AsyncExitStack) -> Callable[[], Coroutine[Any, Any, None]]:
        if self.sandbox.isolation == "require":
            raise MissingRequirement("The isolation of a remote kernel is unknown.", remedy="Omit --isolation require.")
        if self.sandbox.state == "live" or self.sandbox.branching == "fork":
            raise MissingRequirement(
                "Experiments on another machine start in fresh kernels, which are not forked.",
                remedy="Omit --gateway or --state live.",
            )
        factory = _open_factory(self.sandbox, self._workdir, self._variables, self._token)
        self.factory = await stack.enter_async_context(factory)
        return self.factory.keep_alive

    @property
    def files(self) -> None:
        """`None`: siblings see the files of another machine."""
        return None

    @property
    def notices(self) -> tuple[str, ...]:
        """Sentences for the user."""
        gateway = self.factory.gateway
        sent = f"The working directory is sent to {gateway.host}, at most {self._max_mb} MB of it."
        return (f"{sent} The connection is not encrypted." if gateway.is_exposed else sent,)

    async def copy_written_files(self, sibling: AnySibling, folder: Path) -> tuple[str, ...]:
        """Fetch what was written in the sibling's working directory; see `Branch.files`."""
        assert isinstance(sibling, RemoteSibling)
        max_bytes = self._max_mb * 1_000_000
        try:
            archive = await sibling.fetch_written(max_bytes)
        except KernelError:  # the kernel is lost, with its files
            return ()
        return await to_thread.run_sync(lambda: unpack_written(archive, folder, max_bytes=max_bytes))

    async def inspect(self, module: str, arguments: Sequence[str]) -> AsyncGenerator[str, None]:
        """Run a module of `kernel_agent` in the siblings' interpreter; see `kernels.agent.Inspect`."""
        sibling = await self.pool.take()
        assert isinstance(sibling, RemoteSibling)
        async with aclosing(_run_program(self.factory, sibling, module, arguments)) as lines:
            async for line in lines:
                yield line

    @property
    def _max_mb(self) -> int:
        return min(self.sandbox.copy_mb, MAX_MB)

    async def _read_environment(self) -> Environment:
        gateway, note = self.factory.gateway, self.factory.payload.note
        isolation = f"remote kernel at {gateway.host}: its isolation is up to that server; limits only"
        exposed = "the connection is not encrypted" if gateway.is_exposed else ""
        return Environment(
            **await read_interpreter_facts(self.inspect),
            kernel=gateway.kernel,
            isolation="; ".join(filter(None, [isolation, exposed, note])),
            branching="rerun (remote)",
            state="fresh: the siblings are on another machine",
        )


def remote_inspector(sandbox: Sandbox, *, token: SecretStr | None = None) -> Inspect:
    """Return an `Inspect` for the environment behind `sandbox.gateway`; each call starts one kernel."""

    async def run(module: str, arguments: Sequence[str]) -> AsyncGenerator[str, None]:
        async with (
            _open_factory(sandbox, None, None, token) as factory,
            aclosing(_run_program(factory, await factory.start(), module, arguments)) as lines,
        ):
            async for line in lines:
                yield line

    return run


@asynccontextmanager
async def _open_factory(
    sandbox: Sandbox, workdir: Path | None, variables: Path | None, token: SecretStr | None
) -> AsyncIterator[RemoteFactory]:
    if not sandbox.gateway:
        raise UsageError("No gateway is given.", remedy="Add --gateway URL.")
    gateway = await open_gateway(sandbox.gateway, kernel=sandbox.kernel, token=token or gateway_token())
    payload = await to_thread.run_sync(
        lambda: build_payload(workdir, sandbox, variables=variables, silence_limit=SILENCE_LIMIT_SECONDS)
    )
    reaper = KernelReaper(gateway)
    try:
        yield RemoteFactory(gateway, reaper, payload)
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(reaper.close)


async def _run_program(
    factory: RemoteFactory, sibling: RemoteSibling, module: str, arguments: Sequence[str]
) -> AsyncGenerator[str, None]:
    """Yield the lines that a module of `kernel_agent` prints next to the kernel, which is deleted afterwards."""
    try:
        async with aclosing(sibling.run_program(module, arguments)) as chunks, aclosing(split_lines(chunks)) as lines:
            async for line in lines:
                yield line
    finally:
        await factory.dispose(sibling)
