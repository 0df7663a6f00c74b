"""What the open descriptors of this process say: connections to elsewhere, databases, devices of a GPU.

Nothing is opened, read at an offset that counts, or made a Python socket of: closing a file a second time drops
SQLite's locks on it, and a new socket object may change whether the shared descriptor blocks. So addresses are asked of
the C library directly, and files are known by the first bytes that `pread` gives.
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
_HTTP = {80, 443, 3128, 8000, 8080, 8443, 8888, 11434}
_DATABASES = {
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
_HEADERS = {"SQLite": (0, b"SQLite format 3\0"), "DuckDB": (8, b"DUCK")}
_GPU = {"/dev/nvidia-uvm": "CUDA", "/dev/kfd": "ROCm"}
_ESTABLISHED = 1
_TCP_INFO = 11


class Connection(NamedTuple):
    """A connection that this process opened to somewhere else."""

    peer: str
    """As people write it: `host:port` or a path."""
    service: str
    """What usually listens there, e.g. `PostgreSQL`; empty when that is unknown."""
    heals: bool
    """Whether clients of this kind notice a lost connection and open another: HTTP, desktop services."""


class Descriptors(NamedTuple):
    """What was found."""

    connections: list[Connection]
    databases: list[tuple[str, str]]
    """Open database files: `SQLite` or `DuckDB`, and the path."""
    gpus: list[str]
    """Interfaces to GPUs that are in use: `CUDA`, `ROCm`."""


def look(*, ports: Iterable[int] = (), ours: Iterable[int] = ()) -> Descriptors:
    """Look at all open descriptors; about 10 microseconds each.

    `ports`: local ports that the kernel serves; `ours`: descriptors that are not to be told.
    """
    targets = _targets(set(ours))
    sockets = [number for number, target in targets.items() if target.startswith("socket:")]
    files = [(number, target) for number, target in targets.items() if target.startswith("/")]
    databases = [(kind, path) for number, path in files if (kind := _database(number, path))]
    gpus = [_GPU[path] for _, path in files if path in _GPU]
    return Descriptors(_connections(sockets, set(ports)), sorted(set(databases)), sorted(set(gpus)))


def _targets(ours: set[int]) -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own descriptor, and what other threads close
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return {number: target for number, target in found.items() if number not in ours}


def _database(number: int, path: str) -> str:
    if path.startswith(("/dev/", "/proc/", "/sys/")):
        return ""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(os.fstat(number).st_mode):
            head = os.pread(number, 16, 0)
            return next((kind for kind, (at, mark) in _HEADERS.items() if head[at:].startswith(mark)), "")
    return ""


def _connections(sockets: list[int], ports: set[int]) -> list[Connection]:
    libc = ctypes.CDLL(None)
    served = ports | {
        at[1] for number in sockets if _listens(libc, number) and (at := _address(libc.getsockname, number))
    }
    ends = {number: (_address(libc.getsockname, number), _address(libc.getpeername, number)) for number in sockets}
    inner = {here for here, _ in ends.values()}  # both ends here: how a debugger in the process talks to itself
    outward = {
        number: peer
        for number, (here, peer) in ends.items()
        if here and peer and peer[0] and peer not in inner and (peer[1] == 0 or here[1] not in served)
    }
    return [_described(*peer) for number, peer in outward.items() if _is_connected(libc, number, peer)]


def _described(host: str, port: int) -> Connection:
    if port == 0:
        service = next((name for mark, name in _LOCAL_DATABASES.items() if mark in host), "")
        return Connection(host, service, heals=not service)
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return Connection(shown, _DATABASES.get(port, ""), heals=port in _HTTP)


def _address(call: Callable[..., int], number: int) -> Address | None:
    """What `getsockname` or `getpeername` says; None for other families, and without a peer."""
    buffer, length = ctypes.create_string_buffer(128), ctypes.c_uint32(128)
    if call(number, buffer, ctypes.byref(length)) != 0:
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


def _option(libc: ctypes.CDLL, number: int, level: int, option: int) -> int:
    """The first byte of a socket's option."""
    value, length = ctypes.create_string_buffer(8), ctypes.c_uint32(8)
    return value.raw[0] if libc.getsockopt(number, level, option, value, ctypes.byref(length)) == 0 else 0


def _listens(libc: ctypes.CDLL, number: int) -> bool:
    return _option(libc, number, socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


def _is_connected(libc: ctypes.CDLL, number: int, peer: Address) -> bool:
    """Whether it is a stream whose other side has not hung up, as far as can be told."""
    stream = _option(libc, number, socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_STREAM
    return stream and (peer[1] == 0 or _option(libc, number, socket.IPPROTO_TCP, _TCP_INFO) == _ESTABLISHED)
