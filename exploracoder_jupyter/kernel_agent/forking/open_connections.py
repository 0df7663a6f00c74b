"""Finds what the open descriptors of this process lead to: connections, databases, GPU devices.

Opens nothing, moves no file offset and creates no socket object (`connection_peers`): closing a second descriptor of a
file drops SQLite's locks on it. File types are recognized by their first bytes, read with `pread`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterable, Mapping
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


def descriptor_targets(ours: Iterable[int] = ()) -> dict[int, str]:
    """Return the targets of this process's open descriptors except `ours`, as listed in `/proc/self/fd`."""
    targets = {}
    for number in sorted({*map(int, os.listdir("/proc/self/fd"))}.difference(ours)):
        with contextlib.suppress(OSError):  # the listing's own descriptor, and those that other threads close
            targets[number] = os.readlink(f"/proc/self/fd/{number}")
    return targets


def gpu_interfaces(targets: Mapping[int, str]) -> list[str]:
    """Return the GPU interfaces in use: `CUDA`, `ROCm`."""
    return sorted({_GPU_DEVICES[path] for path in targets.values() if path in _GPU_DEVICES})


def open_databases(targets: Mapping[int, str]) -> list[tuple[str, str]]:
    """Return the open database files: `SQLite` or `DuckDB`, and the path."""
    return sorted({(kind, path) for number, path in targets.items() if (kind := _database_kind(number, path))})


def _database_kind(descriptor: int, path: str) -> str:
    if not path.startswith("/") or path.startswith(("/dev/", "/proc/", "/sys/")):
        return ""
    with contextlib.suppress(OSError):
        head = os.pread(descriptor, 16, 0) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        for kind, (offset, marker) in _FILE_MARKERS.items():
            if head[offset:].startswith(marker):
                return kind
    return ""


def outgoing_connections(targets: Mapping[int, str], ports: Iterable[int]) -> list[Connection]:
    """Return the connections to peers elsewhere; `ports` are the local ones that the kernel serves."""
    sockets = [descriptor for descriptor, target in targets.items() if target.startswith("socket:")]
    ends = {descriptor: (local_address(descriptor), peer_address(descriptor)) for descriptor in sockets}
    # Both ends may be in this process, as with an in-process debugger.
    local_addresses = {local for local, _ in ends.values()}
    served = {*ports} | {local[1] for descriptor, (local, _) in ends.items() if local and is_listening(descriptor)}
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
