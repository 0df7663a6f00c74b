"""Finds what the open descriptors of this process lead to: connections, databases, GPU devices.

Opens nothing, moves no file offset and creates no socket object (`connection_peers`): closing a second descriptor of a
file drops SQLite's locks on it. File types are recognized by their first bytes, read with `pread`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterable
from typing import NamedTuple

from exploracoder_jupyter.kernel_agent.forking.connection_peers import (
    Address,
    address_text,
    is_listening,
    local_address,
    peer_address,
    socket_option,
)

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
    targets = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own descriptor, and those that other threads close
            targets[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    for descriptor in ours:
        targets.pop(descriptor, None)
    sockets = [descriptor for descriptor, target in targets.items() if target.startswith("socket:")]
    files = [(descriptor, target) for descriptor, target in targets.items() if target.startswith("/")]
    databases = [(kind, path) for descriptor, path in files if (kind := _database_kind(descriptor, path))]
    gpus = [_GPU_DEVICES[path] for _, path in files if path in _GPU_DEVICES]
    return OpenResources(_outgoing_connections(sockets, set(ports)), sorted(set(databases)), sorted(set(gpus)))


def _database_kind(descriptor: int, path: str) -> str:
    if path.startswith(("/dev/", "/proc/", "/sys/")):
        return ""
    with contextlib.suppress(OSError):
        head = os.pread(descriptor, 16, 0) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        for kind, (offset, marker) in _FILE_MARKERS.items():
            if head[offset:].startswith(marker):
                return kind
    return ""


def _outgoing_connections(sockets: list[int], ports: set[int]) -> list[Connection]:
    ends = {descriptor: (local_address(descriptor), peer_address(descriptor)) for descriptor in sockets}
    # Both ends may be in this process, as with an in-process debugger.
    local_addresses = {local for local, _ in ends.values()}
    served = ports | {local[1] for descriptor, (local, _) in ends.items() if local and is_listening(descriptor)}
    return [
        _connection_to(peer)
        for descriptor, (local, peer) in ends.items()
        if local and peer and peer[0] and peer not in local_addresses
        if peer[1] is None or local[1] not in served
        if _is_connected(descriptor, peer)
    ]


def _connection_to(peer: Address) -> Connection:
    host, port = peer
    if port is None:
        service = next((name for marker, name in _LOCAL_DATABASES.items() if marker in host), "")
        return Connection(host, service, reconnects=not service)
    return Connection(address_text(peer), _DATABASE_PORTS.get(port, ""), reconnects=port in _HTTP_PORTS)


def _is_connected(descriptor: int, peer: Address) -> bool:
    """Return whether it is a stream whose peer has not hung up, as far as this can be determined."""
    stream = socket_option(descriptor, socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_STREAM
    return stream and (peer[1] is None or socket_option(descriptor, socket.IPPROTO_TCP, _TCP_INFO) == _ESTABLISHED)
