"""What people are told of connections that a fork does not take along: who was at the other end."""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def lost_socket(number: int) -> str:
    """A clause on the socket with this descriptor; empty for what no user opens, as the inner wiring of event loops."""
    try:
        with _opened(number) as ours:
            if ours.family == socket.AF_UNIX:
                return _lost_local(ours)
            if ours.family in (socket.AF_INET, socket.AF_INET6):
                return _lost_remote(ours)
    except OSError:
        return "a socket is closed"
    return ""


def ends(number: int) -> set[int | str]:
    """The ports or paths at both ends of the socket with this descriptor; none of what is no such socket."""
    found: set[int | str] = set()
    try:
        with _opened(number) as ours:
            for tell in (ours.getsockname, ours.getpeername):
                name = tell()
                found.add(name[1] if isinstance(name, tuple) else _text(name))
    except OSError:
        return found  # the far end is missing where nothing is connected
    return found


@contextmanager
def _opened(number: int) -> Iterator[socket.socket]:
    """The socket with this descriptor. A default timeout would make it non-blocking, which the parent shares."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(None)
    try:
        with socket.socket(fileno=os.dup(number)) as ours:
            yield ours
    finally:
        socket.setdefaulttimeout(before)


def _lost_local(ours: socket.socket) -> str:
    if _listens(ours):
        return f"{_text(ours.getsockname())} is not served"
    try:
        peer = _text(ours.getpeername())
    except OSError:
        return ""
    return f"the connection to {peer} is closed" if peer else ""


def _lost_remote(ours: socket.socket) -> str:
    if _listens(ours):
        return f"port {ours.getsockname()[1]} is not served"
    try:
        host, port = ours.getpeername()[:2]
    except OSError:
        return "a network socket is closed"
    return f"the connection to {f'[{host}]' if ':' in host else host}:{port} is closed"


def _listens(ours: socket.socket) -> bool:
    return bool(ours.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _text(name: str | bytes) -> str:
    """The name of a local socket; abstract ones are bytes that begin with a zero."""
    return name if isinstance(name, str) else "@" + name[1:].decode(errors="replace")


class Pipes:
    """Tells pipes to others from those with both ends in this process."""

    def __init__(self, ends: Iterable[tuple[int, bool, bool]]) -> None:
        listed = list(ends)
        self._inner = {pipe for pipe, reads, _ in listed if reads} & {pipe for pipe, _, writes in listed if writes}

    def lost(self, pipe: int, path: str) -> str:
        """A clause on an end of the pipe with this inode; empty for a pipe to oneself."""
        if path.startswith("/"):
            return f"the pipe {path} is closed"
        return "" if pipe in self._inner else "a pipe to another process is closed"
