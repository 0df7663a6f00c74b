"""The one place that imports the SDK of the Model Context Protocol, which changed its names between versions 1 and 2.

The extra `mcp` installs it; nothing else of the package needs it.
"""

from __future__ import annotations

import importlib
import os
import secrets
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.core.version import __version__

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_PATH: Final = "/mcp"
_LOOPBACK: Final = "127.0.0.1"


def new_server(name: str, instructions: str) -> Any:
    """Return a server without tools. Raises MissingRequirement: the SDK is not installed."""
    try:
        from mcp.server.mcpserver import MCPServer
    except ImportError:
        return _older_server(name, instructions)
    return MCPServer(name, instructions=instructions, version=__version__, log_level="WARNING")


def _older_server(name: str, instructions: str) -> Any:
    try:
        fastmcp: Any = importlib.import_module("mcp.server.fastmcp")
    except ImportError as error:
        raise MissingRequirement(
            "The package mcp is not installed.", remedy='Install it: pip install "exploracoder-jupyter[mcp]"'
        ) from error
    return fastmcp.FastMCP(name, instructions=instructions, log_level="WARNING")


def add_tool(
    server: Any, function: Callable[..., Awaitable[Any]], *, name: str, title: str, about: str, reads_only: bool
) -> None:
    """Add a tool; its arguments and their descriptions are those of the function."""
    from mcp.types import ToolAnnotations

    hints = {
        "readOnlyHint": reads_only,
        "destructiveHint": False,
        "idempotentHint": reads_only,
        "openWorldHint": name == "explore_task",
    }
    server.add_tool(
        function,
        name=name,
        title=title,
        description=about,
        annotations=ToolAnnotations.model_validate(hints),
        structured_output=False,
    )


def png_image(content: bytes) -> Any:
    """Return an image as a part of a tool's answer."""
    try:
        from mcp.server.mcpserver import Image
    except ImportError:
        return importlib.import_module("mcp.server.fastmcp").Image(data=content, format="png")
    return Image(data=content, format="png")


def tool_error(sentence: str) -> Exception:
    """Return the error of which a client is told this sentence, and nothing else."""
    try:
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        error: Exception = importlib.import_module("mcp.server.fastmcp.exceptions").ToolError(sentence)
        return error
    return ToolError(sentence)


async def serve_streams(server: Any) -> None:
    """Serve one client on the standard streams until it closes them. What libraries print goes to standard error."""
    if type(server).__module__.startswith("mcp.server.fastmcp"):  # version 1 leaves the descriptor to everyone
        wire = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        sys.stdout = wire
    await server.run_stdio_async()


async def serve_http(server: Any, port: int, token: str, ready: Callable[[str], None]) -> None:
    """Serve clients that have the token on a port of the loopback interface, 0 for any free one, until cancelled.

    `ready` is called with the address. Requests with another Host, or with an Origin of another site, are refused, so
    that a page in a browser cannot reach the server under another name. Raises OSError: the port is in use.
    """
    import socket

    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_LOOPBACK, port))
        listener.listen()  # before clients are told the address
        bound = listener.getsockname()[1]
        hosts = [f"{name}:{bound}" for name in (_LOOPBACK, "localhost")]
        security = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=[f"http://{host}" for host in hosts],
        )
        try:
            app = server.streamable_http_app(streamable_http_path=_PATH, transport_security=security)
        except TypeError:  # version 1
            server.settings.transport_security = security
            app = server.streamable_http_app()
        config = uvicorn.Config(TokenGate(app, token, hosts), log_level="warning", access_log=False, lifespan="on")
        ready(f"http://{_LOOPBACK}:{bound}{_PATH}")
        await uvicorn.Server(config).serve(sockets=[listener])


class TokenGate:
    """Passes on requests that carry the token as `Authorization: Bearer`, and come from this machine's own names."""

    def __init__(self, app: ASGIApp, token: str, hosts: list[str]) -> None:
        self._app, self._expected = app, f"Bearer {token}".encode()
        self._hosts = [host.encode() for host in hosts]
        self._origins = [f"http://{host}".encode() for host in hosts]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        if headers.get(b"host") not in self._hosts or (origin is not None and origin not in self._origins):
            await _refuse(send, 403)
        elif not secrets.compare_digest(headers.get(b"authorization", b""), self._expected):
            await _refuse(send, 401)
        else:
            await self._app(scope, receive, send)


async def _refuse(send: Send, status: int) -> None:
    headers = [(b"content-length", b"0"), *([(b"www-authenticate", b"Bearer")] if status == 401 else [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
