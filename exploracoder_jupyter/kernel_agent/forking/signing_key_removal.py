"""Removes the keys with which the parent kernel signs its messages from a fork.

Whoever has the key of a kernel and reaches its ports can run code in it. The objects that hold it are cleared, then the
memory is searched for copies: of the connection file, of configuration, in freed memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

MAX_SEARCHED_BYTES = 512 * 2**20
"""Bytes of memory to search, smallest regions first: they contain what is read once at the start of a kernel."""
_MIN_KEY_LENGTH = 8
"""Minimum length of a key in bytes. Nobody chooses shorter ones, and erasing them would hit unrelated memory."""
_CURVE = ("curve_publickey", "curve_secretkey")
_SEARCHED_REGIONS = ("[heap]", "[stack]")
_libc = ctypes.CDLL(None)
_libc.memmem.restype = ctypes.c_void_p
_libc.memmem.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)


def erase_keys(app: Any) -> None:
    """Erase everything that could sign the application's messages. Call this while the process has one thread."""
    session = app.session
    keys = [session.key, *(getattr(app, name, None) for name in _CURVE)]
    session.key = b""  # also drops the signer made from it
    app.connection_file = session.keyfile = ""
    for name in _CURVE:
        if getattr(app, name, None):
            setattr(app, name, None)
    if "Session" in app.config:
        for name in ("key", "keyfile"):
            app.config.Session.pop(name, None)
    for key in keys:
        if isinstance(key, bytes) and len(key) >= _MIN_KEY_LENGTH:
            _erase(key)


def _erase(key: bytes) -> None:
    """Zero every occurrence of these bytes, this object's included."""
    size = len(key)
    for address in list(_find_occurrences(key)):
        ctypes.memset(address, 0, size)


def _find_occurrences(key: bytes) -> Iterator[int]:
    remaining = MAX_SEARCHED_BYTES
    for start, end in sorted(_writable_regions(), key=lambda region: region[1] - region[0]):
        remaining -= end - start
        if remaining < 0:
            return
        while found := _libc.memmem(start, end - start, key, len(key)):
            yield found
            start = found + len(key)


def _writable_regions() -> Iterator[tuple[int, int]]:
    """Yield writable memory without a file: reading beyond the end of a truncated file would crash the process."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            addresses, permissions, _, _, _, *name = line.split(maxsplit=5)
            if permissions.startswith("rw") and (not name or name[0].strip() in _SEARCHED_REGIONS):
                start, _, end = addresses.partition("-")
                yield int(start, 16), int(end, 16)
