"""A file of SQLite that processes share and that cannot be made again, so nothing of it is ever thrown away.

A file that is no sound database is set aside beside the new one, and a file of a newer release is left alone; tables
change only by migrations that are appended. Where nothing can be read or written, work is left undone and everything
still works. The file is readable by its owner alone, and what is deleted is gone from the disk.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

WAIT = 5.0
"""Seconds to wait for another process's transaction."""
BRIEF_WAIT = 0.5
"""The same where somebody waits for the answer."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """Where it is, and the statements that make its tables: applied in order, each once, only ever appended to."""

    path: Path
    migrations: Sequence[str]

    def attempt(self, work: Callable[[sqlite3.Connection], T], otherwise: T, *, wait: float = WAIT) -> T:
        """What the work gives in one transaction; `otherwise` where it cannot be done."""
        for _ in range(2):  # once more after an unsound file was set aside
            try:
                with closing(self.connect(wait)) as db, db:
                    return work(db)
            except (sqlite3.OperationalError, OSError):
                return otherwise
            except sqlite3.DatabaseError:
                if not self._set_aside():
                    return otherwise
        return otherwise

    def unsound(self) -> list[Path]:
        """The files that were set aside, without the journals that belong to them."""
        return sorted(path for path in self._aside() if not path.name.endswith("-journal"))

    def forget_unsound(self) -> None:
        """Remove the files that were set aside.

        Raises:
            OSError: one could not be removed.
        """
        for path in self._aside():
            path.unlink()

    def connect(self, wait: float) -> sqlite3.Connection:
        """A connection, with the tables up to date; to be closed by the caller.

        Raises:
            OSError, sqlite3.Error: the file cannot be opened, is no database, or is of a newer release.
        """
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

    def _aside(self) -> Iterator[Path]:
        return self.path.parent.glob(f"{self.path.name}.unsound-*")

    def _open(self, wait: float) -> sqlite3.Connection:
        return sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=rw", uri=True, timeout=wait)

    def _set_aside(self) -> bool:
        """Give an unsound file, and the journal that belongs to it, another name; whether a new one can be begun."""
        if self._is_sound():  # another process was faster
            return True
        aside = self.path.with_name(f"{self.path.name}.unsound-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
        try:
            with suppress(FileNotFoundError):
                self.path.replace(aside)
                self.path.with_name(f"{self.path.name}-journal").replace(f"{aside}-journal")
        except OSError:
            return False
        return True

    def _is_sound(self) -> bool:
        try:
            with closing(self._open(BRIEF_WAIT)) as db:
                return bool(db.execute("PRAGMA quick_check").fetchone()[0] == "ok")
        except sqlite3.OperationalError:  # another process works with it
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
                raise sqlite3.OperationalError("the file is of a newer release")
            for statement in self.migrations[done:]:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {newest}")
