"""The line between a branch and whoever started it: a UNIX socket of packets that carries JSON and descriptors.

The engine's end learns the true process id of the sender from the kernel, whatever namespaces lie between. Its end of
file tells a branch that nobody holds it any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Sequence
from typing import Any

_MOST_BYTES, _MOST_DESCRIPTORS = 1 << 20, 8


def connect(address: str) -> socket.socket:
    """The line to a listening engine."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    line.connect(address)
    return line


def send(line: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one message, with these descriptors."""
    socket.send_fds(line, [json.dumps(message).encode()], list(descriptors))


def receive(line: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """The next message and its descriptors, which are not inherited by programs.

    Raises:
        EOFError: the other end is closed.
    """
    content, descriptors, _, _ = socket.recv_fds(line, _MOST_BYTES, _MOST_DESCRIPTORS)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if not content:
        raise EOFError
    return json.loads(content), list(descriptors)


def tell(line: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send, unless nobody is there any more."""
    with contextlib.suppress(OSError):
        send(line, message, descriptors)
