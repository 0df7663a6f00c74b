"""Caches search results and pages for some days in one SQLite file, safe to lose at any time.

If nothing can be written, nothing is cached and everything still works. A damaged file is replaced.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from exploracoder_jupyter.core.sqlite_store import SqliteStore

_FORMAT = "1"
_TABLE = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, body BLOB, at REAL)"
_MAX_AGE_DAYS = 7
_MAX_ENTRIES = 400
_MAX_ENTRY_BYTES = 8_000_000
"""Decompressed size of an entry."""


class WebCache:
    """Texts by key; keys are addresses and queries. No method raises because of a disk or file error."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._store = SqliteStore(folder / "web.sqlite", [_TABLE])
        self._clock = clock

    def get(self, *key: str) -> str | None:
        """Return the text stored under this key, unless it is too old."""
        query, oldest = "SELECT body FROM kept WHERE key = ? AND at > ?", self._clock() - _MAX_AGE_DAYS * 86_400
        row = self._store.attempt(lambda db: db.execute(query, (_digest(key), oldest)).fetchone(), None)
        with suppress(zlib.error, UnicodeDecodeError):
            return zlib.decompressobj().decompress(row[0], _MAX_ENTRY_BYTES).decode() if row else None
        return None

    def put(self, text: str, *key: str) -> None:
        """Store a text under this key."""
        now = self._clock()

        def write(db: sqlite3.Connection) -> None:
            body = zlib.compress(text.encode(errors="replace"))
            db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", (_digest(key), body, now))
            db.execute("DELETE FROM kept WHERE at <= ?", (now - _MAX_AGE_DAYS * 86_400,))
            db.execute(
                "DELETE FROM kept WHERE key NOT IN (SELECT key FROM kept ORDER BY at DESC LIMIT ?)", (_MAX_ENTRIES,)
            )

        self._store.attempt(write, None)
        with suppress(OSError):
            self._store.forget_unsound()  # a cache need not be repaired


def _digest(key: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join((_FORMAT, *key)).encode(errors="replace")).hexdigest()
