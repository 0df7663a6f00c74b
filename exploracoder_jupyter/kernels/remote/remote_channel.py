"""The WebSocket of one remote kernel: jupyter_server's client with its gaps filled.

The original sends no token, treats forty seconds of silence and any message with binary parts (widgets) as the end of
the connection, and polls for messages. This one sends the token, accepts silence, ignores binary messages, and passes
each message to a callback in the event loop as it arrives.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any, Final

import websocket
from jupyter_server.gateway.managers import GatewayKernelClient, GatewayKernelManager

from exploracoder_jupyter.kernels.remote.gateway import Gateway

_CONNECT_SECONDS: Final = 15.0
_KEEPALIVE_SECONDS: Final = 20


class RemoteChannel(GatewayKernelClient):
    """Sends requests to one kernel, and passes its messages to `on_message`; `None` marks the end of the connection."""

    def __init__(
        self, gateway: Gateway, manager: GatewayKernelManager, on_message: Callable[[dict[str, Any] | None], None]
    ) -> None:
        super().__init__(manager.kernel_id, session=manager.session)  # type: ignore[no-untyped-call, unused-ignore]
        self._access, self._on_message = gateway.access, on_message
        self._loop = asyncio.get_running_loop()
        self._address = f"ws{gateway.kernels.removeprefix('http')}/{manager.kernel_id}/channels"

    def open(self) -> None:
        """Connect; blocks. Raises OSError, websocket.WebSocketException: the connection failed."""
        access = self._access
        given = {"ca_certs": access.ca, "certfile": access.certificate, "keyfile": access.key}
        unverified = {} if access.verify else {"cert_reqs": ssl.CERT_NONE, "check_hostname": False}
        # Messages are sent at once, and the system detects that the other machine is gone, where supported.
        limits = {
            "TCP_NODELAY": 1,
            "TCP_KEEPIDLE": _KEEPALIVE_SECONDS,
            "TCP_KEEPINTVL": _KEEPALIVE_SECONDS,
            "TCP_KEEPCNT": 3,
        }
        options = [
            (socket.IPPROTO_TCP, getattr(socket, name), n) for name, n in limits.items() if hasattr(socket, name)
        ]
        self.channel_socket = websocket.create_connection(
            self._address,
            timeout=_CONNECT_SECONDS,
            header=access.headers,
            enable_multithread=True,
            sslopt={**{name: path for name, path in given.items() if path}, **unverified},
            sockopt=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *options],
            # No proxy of the environment, as for the other requests to the server; it needs a host to exclude any.
            http_proxy_host="localhost",
            http_proxy_port=1,
            http_no_proxy=["*"],
        )
        self.channel_socket.settimeout(None)  # a cell may be silent for a long time
        self.response_router = Thread(
            target=self._forward_messages, args=(self.channel_socket,), daemon=True, name="channel"
        )
        self.response_router.start()

    def close(self) -> None:
        """Disconnect; blocks for a moment. Idempotent."""
        if self.channel_socket is not None:
            self.channel_socket.abort()  # otherwise the reading thread would wait forever
            assert self.response_router is not None
            self.response_router.join()
            self.channel_socket.shutdown()
            self.channel_socket = self.response_router = None

    def _forward_messages(self, line: websocket.WebSocket) -> None:
        with suppress(OSError, websocket.WebSocketException, RuntimeError):  # the socket or the event loop is closed
            while raw := line.recv():
                if isinstance(raw, str):
                    with suppress(ValueError):
                        self._loop.call_soon_threadsafe(self._on_message, json.loads(raw))
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._on_message, None)


def is_temporary(error: Exception) -> bool:
    """Whether a connection that failed with this error may succeed when it is tried again.

    A Jupyter server accepts the connection only when the kernel has started, which takes long on a busy machine.
    """
    return isinstance(error, (ConnectionError, TimeoutError, websocket.WebSocketTimeoutException))
