"""Finds what the open descriptors of this process lead to: connections, databases, GPU devices.

Opens nothing, moves no file offset and creates no Python socket object: closing a second descriptor of a file drops
SQLite's locks on it, and a new socket object may change whether the shared descriptor blocks. So addresses are read
through the C library, and file types are recognized by their first bytes, read with `pread`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import stat
import sys
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Address = tuple[str, int]
"""Host and port; for a UNIX socket its path (`@` for the abstract kind) and 0."""
_HTTP_PORTS = {80, 443, 3128, 8000, 8080, 8443, 8888, 11434}
_DATABASE_PORTS = {
    1433: "SQL Server",
    1521: "Oracle",
    3306: "MySQL",
    5432: "PostgreSQL",
    5672: "RabbitMQ",
    6379: "Redis",
    9042: "Cassandra",
    9092: "Kafka",
    27017: "MongoDB",
}
_LOCAL_DATABASES = {"PGSQL": "PostgreSQL", "mysql": "MySQL", "redis": "Redis", "mongodb": "MongoDB", "plasma": "ray"}
_FILE_MARKERS = {"SQLite": (0, b"SQLite format 3\0"), "DuckDB": (8, b"DUCK")}
_GPU_DEVICES = {"/dev/nvidia-uvm": "CUDA", "/dev/kfd": "ROCm"}
_ESTABLISHED = 1
_TCP_INFO = 11


class Connection(NamedTuple):
    """A connection that this process opened to a peer elsewhere."""

    peer: str
    """As users write it: `host:port` or a path."""
    service: str
    """What usually listens there, e.g. `PostgreSQL`; empty if unknown."""
    reconnects: bool
    """Whether clients of this kind notice a lost connection and reconnect: HTTP, desktop services."""


class OpenResources(NamedTuple):
    """Connections, databases and GPUs in use."""

    connections: list[Connection]
    databases: list[tuple[str, str]]
    """Open database files: `SQLite` or `DuckDB`, and the path."""
    gpus: list[str]
    """GPU interfaces in use: `CUDA`, `ROCm`."""


def find_open_resources(*, ports: Iterable[int] = (), ours: Iterable[int] = ()) -> OpenResources:
    """Inspect all open descriptors; takes about 10 microseconds each.

    `ports`: local ports that the kernel serves; `ours`: descriptors to skip.
    """
    targets = _descriptor_targets(set(ours))
    sockets = [descriptor for descriptor, target in targets.items() if target.startswith("socket:")]
    files = [(descriptor, target) for descriptor, target in targets.items() if target.startswith("/")]
    databases = [(kind, path) for descriptor, path in files if (kind := _database_kind(descriptor, path))]
    gpus = [_GPU_DEVICES[path] for _, path in files if path in _GPU_DEVICES]
    return OpenResources(_outgoing_connections(sockets, set(ports)), sorted(set(databases)), sorted(set(gpus)))


def _descriptor_targets(ours: set[int]) -> dict[int, str]:
    targets = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own descriptor, and those that other threads close
            targets[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return {descriptor: target for descriptor, target in targets.items() if descriptor not in ours}


def _database_kind(descriptor: int, path: str) -> str:
    if path.startswith(("/dev/", "/proc/", "/sys/")):
        return ""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            head = os.pread(descriptor, 16, 0)
            return next(
                (kind for kind, (offset, marker) in _FILE_MARKERS.items() if head[offset:].startswith(marker)), ""
            )
    return ""


def _outgoing_connections(sockets: list[int], ports: set[int]) -> list[Connection]:
    libc = ctypes.CDLL(None)
    served = ports | {
        address[1]
        for descriptor in sockets
        if _is_listening(libc, descriptor) and (address := _address(libc.getsockname, descriptor))
    }
    endpoints = {
        descriptor: (_address(libc.getsockname, descriptor), _address(libc.getpeername, descriptor))
        for descriptor in sockets
    }
    # Both ends may be in this process, as with an in-process debugger.
    local_addresses = {local for local, _ in endpoints.values()}
    outgoing = {
        descriptor: peer
        for descriptor, (local, peer) in endpoints.items()
        if local and peer and peer[0] and peer not in local_addresses and (peer[1] == 0 or local[1] not in served)
    }
    return [_connection_to(*peer) for descriptor, peer in outgoing.items() if _is_connected(libc, descriptor, peer)]


def _connection_to(host: str, port: int) -> Connection:
    if port == 0:
        service = next((name for marker, name in _LOCAL_DATABASES.items() if marker in host), "")
        return Connection(host, service, reconnects=not service)
    text = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Connection(text, _DATABASE_PORTS.get(port, ""), reconnects=port in _HTTP_PORTS)


def _address(call: Callable[..., int], descriptor: int) -> Address | None:
    """Return the result of `getsockname` or `getpeername`; None for other families, and without a peer."""
    buffer, length = ctypes.create_string_buffer(128), ctypes.c_uint32(128)
    if call(descriptor, buffer, ctypes.byref(length)) != 0:
        return None
    raw = buffer.raw[: length.value]
    family, port = int.from_bytes(raw[:2], sys.byteorder), int.from_bytes(raw[2:4], "big")
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, raw[4:8]), port
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, raw[8:24]).removeprefix("::ffff:"), port
    if family == socket.AF_UNIX:
        name = raw[2:]
        return os.fsdecode(b"@" + name[1:] if name[:1] == b"\0" else name.rstrip(b"\0")), 0
    return None


def _socket_option(libc: ctypes.CDLL, descriptor: int, level: int, option: int) -> int:
    """Return the first byte of a socket option."""
    value, length = ctypes.create_string_buffer(8), ctypes.c_uint32(8)
    return value.raw[0] if libc.getsockopt(descriptor, level, option, value, ctypes.byref(length)) == 0 else 0


def _is_listening(libc: ctypes.CDLL, descriptor: int) -> bool:
    return _socket_option(libc, descriptor, socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


def _is_connected(libc: ctypes.CDLL, descriptor: int, peer: Address) -> bool:
    """Return whether it is a stream whose peer has not hung up, as far as this can be determined."""
    stream = _socket_option(libc, descriptor, socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_STREAM
    return stream and (peer[1] == 0 or _socket_option(libc, descriptor, socket.IPPROTO_TCP, _TCP_INFO) == _ESTABLISHED)
