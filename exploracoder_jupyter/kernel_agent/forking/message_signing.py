"""Takes from a fork what its parent kernel signs its messages with.

Whoever has the key of a kernel and reaches its ports can run code in it. The objects that hold it are emptied, then the
memory is searched for copies: of the connection file as it was read, of configuration, of what was freed since.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

SEARCHED = 512 * 2**20
"""Bytes of memory that are searched, small parts first: what is read once at the start of a kernel lies there."""
_SHORTEST = 8
"""Bytes of a key. Shorter ones are chosen by nobody, and are found where they are not meant."""
_CURVE = ("curve_publickey", "curve_secretkey")
_NAMED = ("[heap]", "[stack]")
_libc = ctypes.CDLL(None)
_libc.memmem.restype = ctypes.c_void_p
_libc.memmem.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)


def forget(app: Any) -> None:
    """Leave nothing in this process that the application's messages could be signed with. For one thread alone."""
    session = app.session
    keys = [session.key, *(getattr(app, name, None) for name in _CURVE)]
    session.key = b""  # which drops the signer made from it, too
    app.connection_file = session.keyfile = ""
    for name in _CURVE:
        if getattr(app, name, None):
            setattr(app, name, None)
    if "Session" in app.config:
        for name in ("key", "keyfile"):
            app.config.Session.pop(name, None)
    for key in keys:
        if isinstance(key, bytes) and len(key) >= _SHORTEST:
            _wipe(key)


def _wipe(key: bytes) -> None:
    """Every place where these bytes are, this object at the end."""
    size = len(key)
    for place in list(_places(key)):
        ctypes.memset(place, 0, size)


def _places(key: bytes) -> Iterator[int]:
    left = SEARCHED
    for start, end in sorted(_parts(), key=lambda part: part[1] - part[0]):
        left -= end - start
        if left < 0:
            return
        while found := _libc.memmem(start, end - start, key, len(key)):
            yield found
            start = found + len(key)


def _parts() -> Iterator[tuple[int, int]]:
    """The writable memory without a file: to read a file's that was cut off would end the process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            addresses, rights, _, _, _, *name = line.split(maxsplit=5)
            if rights.startswith("rw") and (not name or name[0].strip() in _NAMED):
                start, _, end = addresses.partition("-")
                yield int(start, 16), int(end, 16)
