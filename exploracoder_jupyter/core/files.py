"""Files that several processes share: written atomically, or kept as a SQLite database that is safe to lose."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

from exploracoder_jupyter.core.platforms import system

# Writes a file atomically, so that a reader always finds a complete one.

_MAX_STEM = 40
"""Characters of a file's stem that its temporary file reuses: the name may already be as long as the file system
allows."""


def write_atomic(path: Path, content: bytes, *, mode: int = 0o666) -> None:
    """Replace the file's content atomically. On failure, such as a full disk, the old file stays as it was.

    Its folder must exist. `mode` is reduced by the process's umask.
    """
    temporary = path.with_name(f".{path.stem[:_MAX_STEM]}.{token_hex(4)}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        system.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# A SQLite database shared between processes whose content cannot be recreated, so no file is ever discarded.
#
# A damaged file is renamed and kept next to the new one, and a file from a newer release is left alone; tables
# change only by appended migrations. If the database cannot be read or written, the operation is skipped and
# everything else keeps working. Only the owner can read the file, and deleted rows are overwritten on disk.

T = TypeVar("T")

LOCK_TIMEOUT = 5.0
"""Seconds to wait for another process's transaction."""
SHORT_LOCK_TIMEOUT = 0.5
"""The same while the user is waiting for the result."""


@dataclass(frozen=True, slots=True)
class SqliteStore:
    """A database file and the statements that create its tables: applied in order, once each, and only appended to."""

    path: Path
    migrations: Sequence[str]

    def attempt(self, work: Callable[[sqlite3.Connection], T], otherwise: T, *, wait: float = LOCK_TIMEOUT) -> T:
        """Run `work` in one transaction and return its result; return `otherwise` if that fails."""
        for _ in range(2):  # retry once after a damaged file was moved
            try:
                with closing(self.connect(wait)) as db, db:
                    return work(db)
            except (sqlite3.OperationalError, OSError):
                return otherwise
            except sqlite3.DatabaseError:
                if not self._move_damaged():
                    return otherwise
        return otherwise

    def unsound(self) -> list[Path]:
        """Return the damaged files that were moved, without their journals."""
        return sorted(path for path in self._moved_files() if not path.name.endswith("-journal"))

    def forget_unsound(self) -> None:
        """Delete the damaged files that were moved."""
        for path in self._moved_files():
            path.unlink()

    def connect(self, wait: float) -> sqlite3.Connection:
        """Open a connection with the tables up to date; the caller must close it. Raises OSError or sqlite3.Error."""
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        db = self._open(wait)
        try:
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            db.execute("PRAGMA secure_delete = ON")
            self._migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _moved_files(self) -> Iterator[Path]:
        return self.path.parent.glob(f"{self.path.name}.unsound-*")

    def _open(self, wait: float) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=rw", uri=True, timeout=wait)

    def _move_damaged(self) -> bool:
        """Rename a damaged file and its journal; return whether a new file can be created."""
        if self._is_intact():  # another process has already replaced it
            return True
        target = self.path.with_name(f"{self.path.name}.unsound-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
        try:
            with suppress(FileNotFoundError):
                self.path.replace(target)
                self.path.with_name(f"{self.path.name}-journal").replace(f"{target}-journal")
        except OSError:
            return False
        return True

    def _is_intact(self) -> bool:
        try:
            with closing(self._open(SHORT_LOCK_TIMEOUT)) as db:
                return bool(db.execute("PRAGMA quick_check").fetchone()[0] == "ok")
        except sqlite3.OperationalError:  # locked by another process
            return True
        except sqlite3.Error:
            return False

    def _migrate(self, db: sqlite3.Connection) -> None:
        newest = len(self.migrations)
        if db.execute("PRAGMA user_version").fetchone()[0] == newest:
            return
        with db:
            db.execute("BEGIN IMMEDIATE")
            done = db.execute("PRAGMA user_version").fetchone()[0]
            if done > newest:
                raise sqlite3.OperationalError("the file was written by a newer release")
            for statement in self.migrations[done:]:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {newest}")
