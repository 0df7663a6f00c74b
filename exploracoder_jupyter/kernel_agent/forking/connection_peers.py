"""Reads the addresses of sockets by their descriptors, and describes connections that a fork does not inherit.

Addresses are read through the C library: a new socket object may change whether the shared description blocks.
"""

from __future__ import annotations

import ctypes
import os
import socket
import sys

Address = tuple[str, int | None]
"""Host and port; for a UNIX socket its path (`@` for the abstract kind) and None."""
_libc = ctypes.CDLL(None)


def local_address(descriptor: int) -> Address | None:
    """Return the address at this end of a socket; None for other descriptors and families."""
    return _address("getsockname", descriptor)


def peer_address(descriptor: int) -> Address | None:
    """Return the address at the other end of a socket; None if there is none, and for other families."""
    return _address("getpeername", descriptor)


def _address(function: str, descriptor: int) -> Address | None:
    buffer, length = ctypes.create_string_buffer(128), ctypes.c_uint32(128)
    if getattr(_libc, function)(descriptor, buffer, ctypes.byref(length)) != 0:
        return None
    raw = buffer.raw[: length.value]
    family, port = int.from_bytes(raw[:2], sys.byteorder), int.from_bytes(raw[2:4], "big")
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, raw[4:8]), port
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, raw[8:24]).removeprefix("::ffff:"), port
    if family == socket.AF_UNIX:
        name = raw[2:]
        return os.fsdecode(b"@" + name[1:] if name[:1] == b"\0" else name.rstrip(b"\0")), None
    return None


def socket_option(descriptor: int, level: int, option: int) -> int:
    """Return the first byte of a socket option; 0 if it cannot be read."""
    value, length = ctypes.create_string_buffer(8), ctypes.c_uint32(8)
    return value.raw[0] if _libc.getsockopt(descriptor, level, option, value, ctypes.byref(length)) == 0 else 0


def is_listening(descriptor: int) -> bool:
    """Return whether this is a socket that accepts connections."""
    return socket_option(descriptor, socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


def address_text(address: Address) -> str:
    """Return the address as users write it: `host:port` or a path."""
    host, port = address
    return host if port is None else f"{f'[{host}]' if ':' in host else host}:{port}"


def describe_lost_socket(descriptor: int) -> str:
    """Describe the loss of this socket in a clause; empty for sockets no user opens, such as those of event loops."""
    local, peer = local_address(descriptor), peer_address(descriptor)
    if local is None:
        return ""
    path, port = local
    if is_listening(descriptor):
        return f"{path if port is None else f'port {port}'} is not served"
    if peer is None:
        return "" if port is None else "a network socket is closed"
    return f"the connection to {address_text(peer)} is closed" if peer[0] else ""


def endpoints(descriptor: int) -> set[int | str]:
    """Return the ports or paths at both ends of this socket; empty for other descriptors."""
    addresses = filter(None, [local_address(descriptor), peer_address(descriptor)])
    return {path if port is None else port for path, port in addresses}
