"""Finds the kernels that run on this machine: by the connection files of this user, and by running Jupyter Servers.

A server tells which notebook a kernel belongs to. Its token is read from its own file, as `jupyter server list` does,
and sent to nobody but the server on the loopback interface. Keys of connections stay in this process.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from anyio import to_thread
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_core.paths import jupyter_runtime_dir

from exploracoder_jupyter.agent_tools.tool_limits import Answer
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.http_client import httpx

_SERVER_SECONDS: Final = 3.0
_ANSWER_SECONDS: Final = 1.5
"""Seconds for a kernel to answer who it is; one that does not is busy."""
_CONNECT_SECONDS: Final = 0.5
_MAX_KERNELS: Final = 100
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class RunningKernel:
    """A kernel that runs on this machine."""

    id: str
    connection_file: Path
    notebook: str = ""
    """Path of its notebook; empty if no server tells."""
    language: str = ""
    """Empty if it does not answer."""
    busy: bool = False

    @property
    def why_not_forked(self) -> str:
        """Why it cannot be forked now, as far as can be told without asking it; empty if nothing is known."""
        if self.language not in ("", "python"):
            return f"it runs {self.language}, not Python"
        return "it is busy; try again when it is idle" if self.busy else ""

    def plain(self, why_not_forked: str = "") -> Answer:
        """Convert the kernel to JSON, with another reason against a fork if there is one."""
        return {
            "kernel": self.id,
            "notebook": self.notebook or None,
            "language": self.language or None,
            "busy": self.busy,
            "why_not_forked": self.why_not_forked or why_not_forked or None,
        }


async def list_kernels() -> list[RunningKernel]:
    """Return the kernels that run now, those with a notebook first."""
    files = await to_thread.run_sync(lambda: [*_connection_files()])
    notebooks = await _notebooks()
    found: list[RunningKernel] = []

    async def look(kernel: RunningKernel) -> None:
        language, busy = await _ask(kernel.connection_file)
        found.append(replace(kernel, notebook=notebooks.get(kernel.id, ""), language=language, busy=busy))

    async with anyio.create_task_group() as tasks:
        for file in files:
            tasks.start_soon(look, RunningKernel(_id(file), file))
    return sorted(found, key=lambda one: (not one.notebook, one.notebook, one.id))


async def find_kernel(name: str) -> RunningKernel:
    """Return the running kernel of this id or notebook; the beginning of an id and the end of a path suffice.

    Raises UsageError: no running kernel, or more than one, is meant.
    """
    files = await to_thread.run_sync(lambda: [*_connection_files()])
    kernels = [RunningKernel(_id(file), file) for file in files]
    matching = [one for one in kernels if one.id == name] or [
        one for one in kernels if one.id.startswith(name) and name
    ]
    if not matching:
        notebooks = await _notebooks()
        kernels = [replace(one, notebook=notebooks.get(one.id, "")) for one in kernels]
        matching = [one for one in kernels if one.notebook and _is_end(name, one.notebook)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        ids = ", ".join(one.id for one in matching)
        raise UsageError(f"More than one kernel is meant by {name[:200]!r}.", remedy=f"Use one of these ids: {ids}.")
    known = ", ".join(one.notebook or one.id for one in kernels[:10]) or "none"
    raise UsageError(f"There is no running kernel {name[:200]!r}.", remedy=f'Running: {known}. Or use "fresh".')


def _connection_files() -> Iterator[Path]:
    """Yield the connection files whose kernels still listen, newest first."""
    folder = Path(jupyter_runtime_dir())
    files = [(file.stat().st_mtime, file) for file in folder.glob("kernel-*.json") if file.is_file()]
    listening = (file for _, file in sorted(files, reverse=True)[: 10 * _MAX_KERNELS] if _is_listening(file))
    yield from (file for file, _ in zip(listening, range(_MAX_KERNELS), strict=False))


def _is_listening(file: Path) -> bool:
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
        address, port, ipc = str(given["ip"]), int(given["shell_port"]), given.get("transport") == "ipc"
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if ipc:
        return Path(f"{address}-{port}").is_socket()
    with suppress(OSError), socket.create_connection((address, port), _CONNECT_SECONDS):
        return True
    return False


def _id(file: Path) -> str:
    return file.stem.removeprefix("kernel-")


def _is_end(name: str, path: str) -> bool:
    wanted, parts = Path(name).parts, Path(path).parts
    return bool(wanted) and parts[-len(wanted) :] == wanted


async def _ask(file: Path) -> tuple[str, bool]:
    """Return the kernel's language, empty if it does not answer, and whether it is busy."""
    client = AsyncKernelClient()
    try:
        client.load_connection_file(str(file))
    except (OSError, ValueError):
        return "", False
    client.start_channels(iopub=False, stdin=False, hb=False)
    try:
        told = {"shell": "", "control": ""}

        async def ask(channel: str) -> None:
            with anyio.move_on_after(_ANSWER_SECONDS):
                told[channel] = await _language(client, channel)

        async with anyio.create_task_group() as tasks:
            for channel in told:
                tasks.start_soon(ask, channel)
        # The control channel is answered whatever the main thread is doing.
        return told["shell"] or told["control"], not told["shell"]
    finally:
        client.stop_channels()
        client.context.destroy(linger=0)


async def _language(client: AsyncKernelClient, channel: str) -> str:
    request = client.session.msg("kernel_info_request", {})
    stream = client.shell_channel if channel == "shell" else client.control_channel
    stream.send(request)
    while True:
        message = await stream.get_msg(timeout=None)
        if message["parent_header"].get("msg_id") == request["header"]["msg_id"]:
            return str(message["content"].get("language_info", {}).get("name", ""))


async def _notebooks() -> dict[str, str]:
    """Return the notebook of each kernel, by its id, as the running servers tell."""
    servers = await to_thread.run_sync(lambda: [*_servers()])
    found: dict[str, str] = {}

    async def ask(server: dict[str, Any]) -> None:
        for session in await _sessions(server):
            with suppress(KeyError, TypeError):
                path, root = str(session["path"]), str(server.get("root_dir") or "")
                found[str(session["kernel"]["id"])] = str(Path(root, path)) if root else path

    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(ask, server)
    return found


def _servers() -> Iterator[dict[str, Any]]:
    for file in sorted(Path(jupyter_runtime_dir()).glob("jpserver-*.json")):
        with suppress(OSError, ValueError):
            given = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(given, dict) and urlsplit(str(given.get("url", ""))).hostname in _LOOPBACK:
                yield given


async def _sessions(server: dict[str, Any]) -> Sequence[Any]:
    """Return the sessions of a server; none if it does not answer."""
    headers = {"Authorization": f"token {server['token']}"} if server.get("token") else {}
    async with httpx.AsyncClient(trust_env=False, timeout=_SERVER_SECONDS, headers=headers) as client:
        with suppress(httpx.HTTPError, ValueError):
            answer = await client.get(f"{str(server['url']).rstrip('/')}/api/sessions")
            found = answer.json() if answer.status_code == 200 else []
            return found if isinstance(found, list) else []
    return []
