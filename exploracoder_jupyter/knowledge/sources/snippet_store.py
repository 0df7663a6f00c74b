"""Stores code that ran for later tasks, in a file shared by processes.

This is not a cache, because its content cannot be recreated. If the file cannot be read or written, nothing is stored
and everything still works.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from exploracoder_jupyter.core.configuration.endpoint_settings import Sharing
from exploracoder_jupyter.core.sqlite_store import LOCK_TIMEOUT, SHORT_LOCK_TIMEOUT, SqliteStore
from exploracoder_jupyter.core.types import Snippet
from exploracoder_jupyter.knowledge.knowledge_cache import digest, parse_stored
from exploracoder_jupyter.pipeline.exploring.candidate_runs import fingerprint

MAX_SNIPPETS = 200
_DAY = 86_400.0
_OUTDATED_SECONDS = 30 * _DAY
"""How long unused snippets of another version are kept: another environment may still have that version."""
_LEVELS: dict[Sharing, int] = {"none": 0, "schema": 1, "values": 2}
_SNIPPET: TypeAdapter[Snippet] = TypeAdapter(Snippet)

_MIGRATIONS = (
    "CREATE TABLE snippets (id TEXT PRIMARY KEY, library TEXT NOT NULL, version TEXT NOT NULL,"
    " level INTEGER NOT NULL, seen REAL NOT NULL, uses INTEGER NOT NULL, body TEXT NOT NULL)",
    "DELETE FROM snippets",  # among them were programs that nothing had checked, which cannot be told apart
)
"""Applied in order, each once. Append only."""


@dataclass(frozen=True, slots=True)
class StoredSnippet:
    """A stored snippet."""

    id: str
    snippet: Snippet
    seen: float
    """When it last ran or was found, in seconds since the epoch."""
    uses: int
    """How often it ran again or was found."""


class SnippetStore:
    """The stored snippets of all libraries. No method except `clear` raises because of a disk or file error."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = SqliteStore(path, _MIGRATIONS)

    def add(self, snippets: Sequence[Snippet], sharing: Sharing) -> None:
        """Store these snippets; those already stored count as used.

        `sharing` is the sharing level of the model that wrote them. For each library the least recently used snippets
        are deleted, with each use counting as one day, as are those of other versions that were not used for a month.
        """
        now = time.time()
        rows = []
        for one in snippets:
            id_ = digest(one.library, one.version, fingerprint(one.code))[:12]  # whatever its layout and comments
            body = _SNIPPET.dump_json(one).decode()
            rows.append((id_, one.library, one.version, _LEVELS[sharing], now, body))

        def write(db: sqlite3.Connection) -> None:
            db.executemany(
                "INSERT INTO snippets VALUES (?, ?, ?, ?, ?, 0, ?) ON CONFLICT (id) DO UPDATE"
                " SET seen = excluded.seen, uses = uses + 1, level = min(level, excluded.level),"
                " body = CASE WHEN excluded.level < level THEN excluded.body ELSE body END",
                rows,
            )
            for library, version in {(one.library, one.version) for one in snippets}:
                db.execute(
                    "DELETE FROM snippets WHERE library = ? AND version != ? AND seen < ?",
                    (library, version, now - _OUTDATED_SECONDS),
                )
                db.execute(
                    "DELETE FROM snippets WHERE library = ?1 AND id NOT IN (SELECT id FROM snippets WHERE library = ?1"
                    f" ORDER BY seen + {_DAY} * min(uses, 30) DESC, rowid DESC LIMIT ?2)",
                    (library, MAX_SNIPPETS),
                )

        self._file.attempt(write, None)

    def of(self, versions: Mapping[str, str], sharing: Sharing) -> list[StoredSnippet]:
        """Return the snippets of exactly these library versions, by import name, in the order of insertion.

        Snippets that need a higher sharing level are left out.
        """
        where = " OR ".join("(library = ? AND version = ?)" for _ in versions) or "0"
        pairs = [text for pair in versions.items() for text in pair]
        return self._read(f"({where}) AND level <= ? ORDER BY rowid", [*pairs, _LEVELS[sharing]])

    def all(self, library: str | None = None) -> list[StoredSnippet]:
        """Return the snippets of one library, or of all, in the order of insertion."""
        where, values = ("library = ?", [library]) if library else ("1", [])
        return self._read(f"{where} ORDER BY rowid", values)

    def mark_used(self, ids: Collection[str]) -> None:
        """Record that these snippets were found."""
        rows = [(time.time(), id_) for id_ in ids]
        update = "UPDATE snippets SET seen = ?, uses = uses + 1 WHERE id = ?"
        self._file.attempt(lambda db: db.executemany(update, rows), None, wait=SHORT_LOCK_TIMEOUT)

    def delete(self, ids: Collection[str]) -> None:
        """Delete these snippets."""
        rows = [(id_,) for id_ in ids]
        self._file.attempt(lambda db: db.executemany("DELETE FROM snippets WHERE id = ?", rows), None)

    def clear(self, library: str | None = None) -> int:
        """Delete all snippets of a library, or everything, and return how many were deleted.

        Deleting everything includes corrupt files that were set aside.

        Raises OSError, sqlite3.Error if they cannot be deleted.
        """
        self.all()  # sets a corrupt file aside
        if not library:
            self._file.forget_unsound()
        if not self.path.exists():
            return 0
        where, values = ("library = ?", (library,)) if library else ("1", ())
        with closing(self._file.connect(LOCK_TIMEOUT)) as db, db:
            return db.execute(f"DELETE FROM snippets WHERE {where}", values).rowcount

    def _read(self, where: str, values: Sequence[object]) -> list[StoredSnippet]:
        statement = f"SELECT id, body, seen, uses FROM snippets WHERE {where}"
        if not self.path.exists():
            return []
        rows: list[tuple[str, str, float, int]] = self._file.attempt(
            lambda db: db.execute(statement, values).fetchall(), [], wait=SHORT_LOCK_TIMEOUT
        )
        parsed = ((id_, parse_stored(_SNIPPET, body), seen, uses) for id_, body, seen, uses in rows)
        return [StoredSnippet(id_, snippet, seen, uses) for id_, snippet, seen, uses in parsed if snippet]
