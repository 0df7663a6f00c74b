"""A kernel as a user has it: started by jupyter_client, with a thread that forks it when asked, as a front end has one.

The thread reads addresses from a named pipe, so that the kernel is forked while a cell runs as well as between cells.
"""

from __future__ import annotations

import ast
import os
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
from anyio import to_thread
from jupyter_client.manager import AsyncKernelManager

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.kernels.live_kernel import LiveKernel

REPOSITORY = Path(__file__).resolve().parents[2]
_RELAY = """
def _relay(shell, path):
    import threading, time
    from exploracoder_jupyter.kernel_agent.forking import kernel_fork
    shell.explora_forks = []
    def listen():
        while True:
            with open(path) as pipe:
                for address in pipe:
                    begun = time.perf_counter()
                    kernel_fork.fork(shell, address.strip())
                    shell.explora_forks.append((begun, time.perf_counter()))
    threading.Thread(target=listen, daemon=True).start()
_relay(get_ipython(), {path!r})
del _relay
"""


class UserKernel:
    """An async context manager."""

    def __init__(self, folder: Path, *, python: str | None = None, timeout: float = 300) -> None:
        """`folder`: its working directory; `python`: an interpreter that has ipykernel, else this one."""
        self._folder, self._python, self._timeout = folder, python, timeout
        self._manager = AsyncKernelManager(kernel_name="python3")
        self._pipe = folder.parent / f"{folder.name}.relay"

    async def __aenter__(self) -> Self:
        self._folder.mkdir(exist_ok=True)
        if self._python:
            self._manager.kernel_spec.argv[0] = self._python
        environ = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
        await self._manager.start_kernel(cwd=str(self._folder), env=environ, stderr=subprocess.DEVNULL)
        self._client = self._manager.client()
        self._client.start_channels()
        await self._client.wait_for_ready(timeout=60)
        os.mkfifo(self._pipe)
        await self.run(_RELAY.format(path=str(self._pipe)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            self._client.stop_channels()
            await self._manager.shutdown_kernel(now=True)
            self._pipe.unlink(missing_ok=True)

    @property
    def pid(self) -> int:
        """Of its process."""
        return int(self._manager.provisioner.pid)

    @property
    def live(self) -> LiveKernel:
        """What is offered to a run."""
        return LiveKernel(fork=self._fork)

    async def run(self, code: str) -> None:
        """Run a cell. Raises RuntimeError when it fails."""
        await self._execute(code, {})

    async def value(self, expression: str) -> Any:
        """The value of an expression that is written as a literal."""
        content = await self._execute("", {"value": expression})
        given = content["user_expressions"]["value"]
        if given["status"] != "ok":
            raise RuntimeError(f"{given['ename']}: {given['evalue']}")
        return ast.literal_eval(given["data"]["text/plain"])

    async def _execute(self, code: str, expressions: dict[str, str]) -> dict[str, Any]:
        silent = not code
        asked = self._client.execute(
            code, silent=silent, user_expressions=expressions, reply=True, timeout=self._timeout
        )
        content: dict[str, Any] = (await asked)["content"]
        if content["status"] != "ok":
            raise RuntimeError(f"{content['ename']}: {content['evalue']}")
        return content

    async def _fork(self, address: str) -> None:
        try:
            await to_thread.run_sync(self._pipe.write_text, f"{address}\n")
        except OSError as error:
            raise KernelError(f"The kernel cannot be asked: {error}") from error


def private_mb(pid: int) -> float:
    """Memory that no other process has, in megabytes (10^6 bytes)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024 / 1e6


def now_ms() -> float:
    """A clock in milliseconds."""
    return time.perf_counter() * 1000
