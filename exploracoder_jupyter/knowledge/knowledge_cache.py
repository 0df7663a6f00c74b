"""The on-disk cache of knowledge: one SQLite file, safe to lose at any time.

Bodies are JSON or numpy's own format, never pickle. Processes may share the file (WAL, short transactions). A corrupt
file is replaced; if nothing can be written, nothing is cached and everything still works. Only the owner can read the
file, which contains documents of the user's. The standard library's driver is enough for one table and opens in
milliseconds.
"""

from __future__ import annotations

import hashlib
import io
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

Kind = Literal["surface", "index", "vector", "introduction", "documents", "passages", "library"]

_T = TypeVar("_T")
_SCHEMA = 1
_TABLE = "CREATE TABLE kept (kind TEXT, key TEXT, body BLOB, at REAL, PRIMARY KEY (kind, key))"
_TIMEOUT = 20.0
_MAX_ENTRIES = 60
"""How many entries of each kind, except vectors and introductions, are stored; the oldest are deleted first."""
_KEYS_PER_QUERY = 500


def digest(*parts: str) -> str:
    """Return a hash of these texts to use as a key."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class KnowledgeCache:
    """A table of bodies by kind and key. No method raises because of a disk or file error."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "knowledge.sqlite"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, kind: Kind, key: str) -> bytes | None:
        """Return the body stored under this key, if any."""
        return self.get_many(kind, [key]).get(key)

    def get_many(self, kind: Kind, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the bodies stored under these keys; missing keys are left out."""
        found: dict[str, bytes] = {}
        wanted = list(keys)
        try:
            with closing(self._connect()) as db:
                for at in range(0, len(wanted), _KEYS_PER_QUERY):
                    some = wanted[at : at + _KEYS_PER_QUERY]
                    marks = ",".join("?" * len(some))
                    found |= dict(
                        db.execute(f"SELECT key, body FROM kept WHERE kind = ? AND key IN ({marks})", (kind, *some))
                    )
        except sqlite3.Error as error:
            self._delete_if_corrupt(error)
        return found

    def put(self, kind: Kind, key: str, body: bytes) -> None:
        """Store a body, replacing any other under this key."""
        self.put_many(kind, {key: body})

    def put_many(self, kind: Kind, bodies: Mapping[str, bytes]) -> None:
        """Store several bodies in one transaction."""
        rows = [(kind, key, body, time.time()) for key, body in bodies.items()]
        for _ in range(2):  # retry once after removing a corrupt file
            try:
                with closing(self._connect()) as db, db:
                    db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", rows)
                    if kind not in ("vector", "introduction"):
                        db.execute(
                            "DELETE FROM kept WHERE kind = ?1 AND key NOT IN"
                            " (SELECT key FROM kept WHERE kind = ?1 ORDER BY at DESC LIMIT ?2)",
                            (kind, _MAX_ENTRIES),
                        )
                return
            except sqlite3.Error as error:
                if not self._delete_if_corrupt(error):
                    return

    def _connect(self) -> sqlite3.Connection:
        self._make_private()
        db = sqlite3.connect(self._path, timeout=_TIMEOUT)
        try:
            if db.execute("PRAGMA user_version").fetchone()[0] != _SCHEMA:
                db.execute("PRAGMA journal_mode = WAL")
                with db:
                    db.execute("BEGIN IMMEDIATE")
                    if db.execute("PRAGMA user_version").fetchone()[0] != _SCHEMA:  # no other process was faster
                        db.execute("DROP TABLE IF EXISTS kept")
                        db.execute(_TABLE)
                        db.execute(f"PRAGMA user_version = {_SCHEMA}")
        except BaseException:
            db.close()
            raise
        return db

    def _make_private(self) -> None:
        """Let only the owner read the file, also one of an earlier release; SQLite's other files follow it."""
        with suppress(OSError):
            if not self._path.exists():
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            elif stat.S_IMODE(self._path.stat().st_mode) & 0o077:
                self._path.chmod(0o600)

    def _delete_if_corrupt(self, error: sqlite3.Error) -> bool:
        if isinstance(error, sqlite3.OperationalError) or not isinstance(error, sqlite3.DatabaseError):
            return False
        try:
            for tail in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + tail).unlink(missing_ok=True)
        except OSError:
            return False
        return True


def parse_stored(adapter: TypeAdapter[_T], body: str | bytes | None) -> _T | None:
    """Return the value stored as this JSON; None if there is none, or another version wrote it."""
    try:
        return adapter.validate_json(body) if body else None
    except ValidationError:
        return None


def pack_arrays(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Serialize named arrays."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def unpack_arrays(body: bytes) -> dict[str, NDArray[np.generic]]:
    """Deserialize the arrays that `pack_arrays` serialized. Raises ValueError or KeyError for any other body."""
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, EOFError, AttributeError, TypeError) as error:
        raise ValueError("not serialized arrays") from error
