"""Describes connections that a fork does not inherit by the peer at the other end, for messages to the user."""

from __future__ import annotations

import os
import socket
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def describe_lost_socket(descriptor: int) -> str:
    """Describe the loss of this socket in a clause; empty for sockets no user opens, such as those of event loops."""
    try:
        with _duplicate_socket(descriptor) as sock:
            if sock.family == socket.AF_UNIX:
                return _describe_local(sock)
            if sock.family in (socket.AF_INET, socket.AF_INET6):
                return _describe_remote(sock)
    except OSError:
        return "a socket is closed"
    return ""


def endpoints(descriptor: int) -> set[int | str]:
    """Return the ports or paths at both ends of this socket; empty for other descriptors."""
    result: set[int | str] = set()
    try:
        with _duplicate_socket(descriptor) as sock:
            for get_name in (sock.getsockname, sock.getpeername):
                name = get_name()
                result.add(name[1] if isinstance(name, tuple) else _address_text(name))
    except OSError:
        return result  # an unconnected socket has no peer
    return result


@contextmanager
def _duplicate_socket(descriptor: int) -> Iterator[socket.socket]:
    """Yield the socket, with no default timeout: that would make the description non-blocking for the parent, too."""
    previous = socket.getdefaulttimeout()
    socket.setdefaulttimeout(None)
    try:
        with socket.socket(fileno=os.dup(descriptor)) as sock:
            yield sock
    finally:
        socket.setdefaulttimeout(previous)


def _describe_local(sock: socket.socket) -> str:
    if _is_listening(sock):
        return f"{_address_text(sock.getsockname())} is not served"
    try:
        peer = _address_text(sock.getpeername())
    except OSError:
        return ""
    return f"the connection to {peer} is closed" if peer else ""


def _describe_remote(sock: socket.socket) -> str:
    if _is_listening(sock):
        return f"port {sock.getsockname()[1]} is not served"
    try:
        host, port = sock.getpeername()[:2]
    except OSError:
        return "a network socket is closed"
    return f"the connection to {f'[{host}]' if ':' in host else host}:{port} is closed"


def _is_listening(sock: socket.socket) -> bool:
    return bool(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _address_text(name: str | bytes) -> str:
    """Return the name of a local socket; abstract names are bytes that start with a zero byte."""
    return name if isinstance(name, str) else "@" + name[1:].decode(errors="replace")


class Pipes:
    """Distinguishes pipes to other processes from those with both ends in this process."""

    def __init__(self, endpoints: Iterable[tuple[int, bool, bool]]) -> None:
        entries = list(endpoints)
        self._internal = {pipe for pipe, reads, _ in entries if reads} & {pipe for pipe, _, writes in entries if writes}

    def describe_lost(self, pipe: int, path: str) -> str:
        """Describe the loss of the pipe with this inode in a clause; empty if both ends are in this process."""
        if path.startswith("/"):
            return f"the pipe {path} is closed"
        return "" if pipe in self._internal else "a pipe to another process is closed"
