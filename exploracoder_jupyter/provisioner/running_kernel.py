"""Requests to a running kernel: to describe itself and to fork itself, by messages that every Jupyter kernel accepts.

The requests leave nothing in the kernel's namespace: they are expressions in a silent execute request. This package
must be importable in the kernel, and the kernel must be idle: its main thread answers.
"""

from __future__ import annotations

import ast
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
from jupyter_client.asynchronous.client import AsyncKernelClient

from exploracoder_jupyter.core.errors import KernelError

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


async def evaluate(connection_file: Path, expression: str) -> str:
    """Evaluate the expression in the kernel and return its text. Raises KernelError: the kernel does not answer, or the
    expression fails."""
    async with _client(connection_file) as client:
        try:
            with anyio.fail_after(_SECONDS):
                answer = await _evaluate_unaborted(client, expression)
        except TimeoutError as error:
            raise KernelError(f"The kernel did not answer within {_SECONDS:g} s: it is busy or gone.") from error
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
