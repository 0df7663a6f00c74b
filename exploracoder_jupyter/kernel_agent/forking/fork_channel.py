"""The channel between a branch and the process that started it: a UNIX socket of packets with JSON and descriptors.

The engine's end receives the sender's true process id from the operating system, across namespaces. An end of file
means for a branch that its owner is gone.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Sequence
from typing import Any

_MAX_BYTES, _MAX_DESCRIPTORS = 1 << 20, 8


def connect(address: str) -> socket.socket:
    """Connect to a listening engine."""
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.connect(address)
    return channel


def send(channel: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send one message with these descriptors."""
    socket.send_fds(channel, [json.dumps(message).encode()], list(descriptors))


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Receive the next message and its descriptors, which are made non-inheritable.

    Raises EOFError if the other end is closed.
    """
    content, descriptors, _, _ = socket.recv_fds(channel, _MAX_BYTES, _MAX_DESCRIPTORS)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if not content:
        raise EOFError
    return json.loads(content), list(descriptors)


def send_if_open(channel: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    """Send, unless the other end is closed."""
    with contextlib.suppress(OSError):
        send(channel, message, descriptors)
