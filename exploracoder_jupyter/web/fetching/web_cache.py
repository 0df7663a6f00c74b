"""Caches search results and pages for some days in one SQLite file, safe to lose at any time.

If nothing can be written, nothing is cached and everything still works.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

_FORMAT = "1"
_MAX_AGE_DAYS = 7
_MAX_ENTRIES = 400
_TIMEOUT = 5.0
_MAX_ENTRY_BYTES = 8_000_000
"""Decompressed size of an entry."""


class WebCache:
    """Texts by key; keys are addresses and queries. No method raises because of a disk or file error."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = folder / "web.sqlite"
        self._clock = clock
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)  # queries are private to this user

    def get(self, *key: str) -> str | None:
        """Return the text stored under this key, unless it is too old."""
        oldest = self._clock() - _MAX_AGE_DAYS * 86_400
        with suppress(sqlite3.Error, OSError, zlib.error, UnicodeDecodeError), closing(self._connect()) as db:
            row = db.execute("SELECT body FROM kept WHERE key = ? AND at > ?", (_digest(key), oldest)).fetchone()
            return zlib.decompressobj().decompress(row[0], _MAX_ENTRY_BYTES).decode() if row else None
        return None

    def put(self, text: str, *key: str) -> None:
        """Store a text under this key."""
        row = (_digest(key), zlib.compress(text.encode(errors="replace")), self._clock())
        with suppress(sqlite3.Error, OSError), closing(self._connect()) as db, db:
            db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", row)
            db.execute("DELETE FROM kept WHERE at <= ?", (self._clock() - _MAX_AGE_DAYS * 86_400,))
            db.execute(
                "DELETE FROM kept WHERE key NOT IN (SELECT key FROM kept ORDER BY at DESC LIMIT ?)", (_MAX_ENTRIES,)
            )

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=_TIMEOUT)
        try:
            db.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, body BLOB, at REAL)")
        except sqlite3.Error as error:
            db.close()
            if not isinstance(error, sqlite3.OperationalError):  # not a database, or a corrupt one
                self._path.unlink(missing_ok=True)
            raise
        return db


def _digest(key: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join((_FORMAT, *key)).encode(errors="replace")).hexdigest()
