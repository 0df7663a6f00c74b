"""What was found and read is kept for some days in one SQLite file, safe to lose at any moment.

Where nothing can be written, nothing is kept and everything still works.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

_FORM = "1"
"""Changes with the form of what is kept."""
_DAYS = 7
_MOST = 400
"""Entries; those written longest ago go first."""
_WAIT = 5.0
_BIGGEST = 8_000_000
"""Bytes of an entry unpacked."""


class Cache:
    """Texts by their keys, which are addresses and queries. No method raises for what the disk or the file does."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = folder / "web.sqlite"
        self._clock = clock
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)  # what was asked is nobody else's business

    def get(self, *key: str) -> str | None:
        """The text kept under this key, if it is not too old."""
        oldest = self._clock() - _DAYS * 86_400
        with suppress(sqlite3.Error, OSError, zlib.error, UnicodeDecodeError), closing(self._connect()) as db:
            row = db.execute("SELECT body FROM kept WHERE key = ? AND at > ?", (_digest(key), oldest)).fetchone()
            return zlib.decompressobj().decompress(row[0], _BIGGEST).decode() if row else None
        return None

    def put(self, text: str, *key: str) -> None:
        """Keep a text under this key."""
        row = (_digest(key), zlib.compress(text.encode(errors="replace")), self._clock())
        with suppress(sqlite3.Error, OSError), closing(self._connect()) as db, db:
            db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", row)
            db.execute("DELETE FROM kept WHERE at <= ?", (self._clock() - _DAYS * 86_400,))
            db.execute("DELETE FROM kept WHERE key NOT IN (SELECT key FROM kept ORDER BY at DESC LIMIT ?)", (_MOST,))

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=_WAIT)
        try:
            db.execute("CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, body BLOB, at REAL)")
        except sqlite3.Error as error:
            db.close()
            if not isinstance(error, sqlite3.OperationalError):  # it is no database, or a broken one
                self._path.unlink(missing_ok=True)
            raise
        return db


def _digest(key: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join((_FORM, *key)).encode(errors="replace")).hexdigest()
