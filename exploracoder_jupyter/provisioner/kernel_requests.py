"""Asks a running kernel, by the messages that every Jupyter kernel understands, what it is and to fork itself.

Nothing is left in its namespace: the questions are expressions of a silent request. This package must be importable
there, and the kernel idle: its main thread answers.
"""

from __future__ import annotations

import ast
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
from jupyter_client.asynchronous.client import AsyncKernelClient

from exploracoder_jupyter.core.errors import KernelError

_SECONDS: Final = 15.0
_TELL: Final = "__import__('exploracoder_jupyter.kernel_agent.forking.fork_endpoint', fromlist=['_']).tell()"
_FORK: Final = "__import__('exploracoder_jupyter.kernel_agent.forking.fork_endpoint', fromlist=['_']).fork({address!r})"


@dataclass(frozen=True, slots=True)
class RunningKernel:
    """A kernel that somebody else started."""

    connection_file: Path

    async def folder(self) -> Path:
        """Its working directory.

        Raises:
            KernelError: it does not answer, lacks this package, or must not be forked; the message says why.
        """
        told = json.loads(await self._ask(_TELL))
        if told["refused"]:
            raise KernelError(f"The kernel cannot be forked: {told['refused']}.")
        return Path(told["folder"])

    async def fork(self, address: str) -> None:
        """Let it fork itself; the child connects to the UNIX socket at the address.

        Raises:
            KernelError: it does not.
        """
        await self._ask(_FORK.format(address=address))

    async def _ask(self, expression: str) -> str:
        """The text that the expression yields there."""
        async with _client(self.connection_file) as client:
            try:
                with anyio.fail_after(_SECONDS):
                    answer = await _answer(client, expression)
            except TimeoutError as error:
                raise KernelError(f"The kernel is busy or gone: no answer within {_SECONDS:g} s.") from error
        if answer.get("status") != "ok":
            problem = f"{answer.get('ename', 'no reply')}: {answer.get('evalue', '')}"
            raise KernelError(f"The kernel cannot be forked: {problem.rstrip(': ')}.")
        return str(ast.literal_eval(answer["data"]["text/plain"]))


async def _answer(client: AsyncKernelClient, expression: str) -> dict[str, Any]:
    """What became of the expression; a cell that fails aborts what waits behind it, which is then asked again."""
    while True:
        request = client.execute("", silent=True, store_history=False, user_expressions={"answer": expression})
        answer = await _reply(client, request)
        if answer.get("status") != "aborted":
            return answer


async def _reply(client: AsyncKernelClient, request: str) -> dict[str, Any]:
    """What became of the expression."""
    while True:
        message = await client.get_shell_msg(timeout=None)
        if message["parent_header"].get("msg_id") == request:
            found: dict[str, Any] = message["content"].get("user_expressions", {}).get("answer", message["content"])
            return found


@asynccontextmanager
async def _client(connection_file: Path) -> AsyncIterator[AsyncKernelClient]:
    client = AsyncKernelClient()
    try:
        client.load_connection_file(str(connection_file))
    except (OSError, ValueError) as error:
        raise KernelError(f"There is no connection file of a kernel at {connection_file}.") from error
    client.start_channels(iopub=False, stdin=False, hb=False, control=False)
    try:
        yield client
    finally:
        client.stop_channels()
        client.context.destroy(linger=0)
