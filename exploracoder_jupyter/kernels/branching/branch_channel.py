"""The engine's end of the socket to a branch; see `kernel_agent.forking.fork_channel`."""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Self

import anyio

from exploracoder_jupyter.kernel_agent.forking import fork_channel

_MAX_MESSAGE_BYTES: Final = 1 << 20
_ANCILLARY_BYTES: Final = socket.CMSG_SPACE(struct.calcsize("3i")) + socket.CMSG_SPACE(8 * struct.calcsize("i"))


@dataclass(frozen=True, slots=True)
class BranchMessage:
    """One message from a branch."""

    content: dict[str, Any]
    pid: int
    """Process id of the sender, as this process sees it."""
    descriptors: tuple[int, ...]


class BranchChannel:
    """A message socket to one branch. Must be closed."""

    def __init__(self, ours: socket.socket) -> None:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        ours.setblocking(False)
        self._socket = ours

    @classmethod
    def pair(cls) -> tuple[Self, socket.socket]:
        """Return a new channel and the socket of its other end."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(ours), theirs

    def send(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message. Raises OSError: the other end is closed, or the message is too long."""
        fork_channel.send(self._socket, message, descriptors)

    async def receive(self) -> BranchMessage:
        """Return the next message. Raises EOFError: the branch has ended, or sent something that is not a message."""
        while True:
            await anyio.wait_readable(self._socket)
            with suppress(BlockingIOError):
                return _parse_message(
                    *self._socket.recvmsg(_MAX_MESSAGE_BYTES, _ANCILLARY_BYTES, socket.MSG_CMSG_CLOEXEC)[:2]
                )

    def close(self) -> None:
        """Close the channel, which also ends the branch."""
        self._socket.close()


def _parse_message(content: bytes, ancillary: Sequence[tuple[int, int, bytes]]) -> BranchMessage:
    pid, descriptors = 0, array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            pid = struct.unpack("3i", data)[0]
        elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    try:
        message = json.loads(content)
    except (ValueError, RecursionError):  # RecursionError: nested too deeply
        message = None
    if not isinstance(message, dict):
        for descriptor in descriptors:
            os.close(descriptor)
        raise EOFError
    return BranchMessage(message, pid, tuple(descriptors))
