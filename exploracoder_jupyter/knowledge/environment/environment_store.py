"""The SQLite file of one environment: its distributions, their APIs, and the terms by which these are found.

Each distribution is written in one transaction, so a file that was cut off in the middle has whole distributions only.
The terms are an FTS5 table without a copy of the text: to remove a row, its terms are computed again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from exploracoder_jupyter.core.files import SqliteStore
from exploracoder_jupyter.knowledge.environment.package_reading import PackageContent
from exploracoder_jupyter.knowledge.environment.public_paths import PublicApi
from exploracoder_jupyter.knowledge.environment.search_fields import FIELDS, WEIGHTS, indexed_fields

Table = Literal["words", "purposes"]

_MIGRATIONS = (
    "CREATE TABLE distributions (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, name TEXT, version TEXT, "
    "stamp TEXT, digest TEXT, problem TEXT, files INTEGER, unread INTEGER, embedded INTEGER DEFAULT 0)",
    "CREATE TABLE apis (id INTEGER PRIMARY KEY AUTOINCREMENT, distribution INTEGER, path TEXT, kind TEXT, "
    "signature TEXT, summary TEXT, opening TEXT)",
    "CREATE INDEX apis_of_distribution ON apis (distribution)",
    *(
        f"CREATE VIRTUAL TABLE {table} USING fts5({', '.join(FIELDS)}, content='', "
        "tokenize=\"unicode61 remove_diacritics 0 tokenchars '_'\")"
        for table in ("words", "purposes")
    ),
)
_FIELDS = ", ".join(FIELDS)
_COLUMNS = "path, kind, signature, summary, opening"
_IDS_PER_QUERY = 500


@dataclass(frozen=True, slots=True)
class StoredPackage:
    """A distribution in the store."""

    id: int
    key: str
    name: str
    version: str
    stamp: str
    digest: str
    problem: str
    unread: int
    embedded: int
    """1 if its rows are in the index of vectors, else 0."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row in the store."""

    id: int
    package: int
    """Id of its distribution."""
    api: PublicApi


class EnvironmentStore:
    """The store of one environment. Methods return what they can if the file cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._store = SqliteStore(path, _MIGRATIONS)

    def is_writable(self) -> bool:
        """Return whether the file can be created or changed."""

        def write(db: sqlite3.Connection) -> bool:
            db.execute("UPDATE distributions SET id = id WHERE id = 0")
            return True

        return self._store.attempt(write, False)

    def drop_damaged(self) -> None:
        """Delete damaged files that were replaced: all of it can be read again."""
        self._store.forget_unsound()

    def packages(self) -> dict[str, StoredPackage]:
        """Return the stored distributions by key."""

        def read(db: sqlite3.Connection) -> dict[str, StoredPackage]:
            rows = db.execute(
                "SELECT id, key, name, version, stamp, digest, problem, unread, embedded FROM distributions"
            )
            return {row[1]: StoredPackage(*row) for row in rows}

        return self._store.attempt(read, {})

    def replace(self, key: str, stamp: str, content: PackageContent) -> bool:
        """Store what was read of a distribution instead of what is there. Returns whether it was written."""

        def write(db: sqlite3.Connection) -> bool:
            _remove(db, [key])
            cursor = db.execute(
                "INSERT INTO distributions (key, name, version, stamp, digest, problem, files, unread) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (key, content.name, content.version, stamp, content.digest, content.problem, content.files,
                 content.unread),
            )  # fmt: skip
            first = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'apis'").fetchone()
            ids = range((first[0] if first else 0) + 1, (first[0] if first else 0) + 1 + len(content.rows))
            db.executemany(
                f"INSERT INTO apis (id, distribution, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
                ((id_, cursor.lastrowid, *_values(row)) for id_, row in zip(ids, content.rows, strict=True)),
            )
            for id_, row, fields in zip(ids, content.rows, content.fields, strict=True):
                db.execute(f"INSERT INTO {_table(row.kind)} (rowid, {_FIELDS}) VALUES (?, ?, ?, ?, ?)", (id_, *fields))
            return True

        return self._store.attempt(write, False)

    def restamp(self, stamps: Mapping[str, str]) -> None:
        """Note that distributions have other states of files, but the same content."""

        def write(db: sqlite3.Connection) -> None:
            db.executemany("UPDATE distributions SET stamp = ? WHERE key = ?", [(s, k) for k, s in stamps.items()])

        self._store.attempt(write, None)

    def remove(self, keys: Sequence[str]) -> None:
        """Remove distributions that are no longer installed."""
        self._store.attempt(lambda db: _remove(db, keys), None)

    def mark_embedded(self, packages: Iterable[int], *, embedded: bool = True) -> None:
        """Note which distributions, by id, are in the index of vectors."""
        self._store.attempt(
            lambda db: db.executemany(
                "UPDATE distributions SET embedded = ? WHERE id = ?", [(embedded, one) for one in packages]
            ),
            None,
        )

    def size(self) -> int:
        """Return how many APIs are stored."""
        return self._store.attempt(lambda db: int(db.execute("SELECT count(*) FROM apis").fetchone()[0]), 0)

    def rows_of(self, package: int) -> list[StoredRow]:
        """Return the rows of one distribution."""
        query = f"SELECT id, distribution, {_COLUMNS} FROM apis WHERE distribution = ?"
        return self._store.attempt(lambda db: [_row(row) for row in db.execute(query, (package,))], [])

    def own_row(self, package: int) -> StoredRow | None:
        """Return the row of what a distribution says of itself."""
        query = f"SELECT id, distribution, {_COLUMNS} FROM apis WHERE distribution = ? AND kind = 'package'"

        def read(db: sqlite3.Connection) -> StoredRow | None:
            row = db.execute(query, (package,)).fetchone()
            return _row(row) if row else None

        return self._store.attempt(read, None)

    def ids(self) -> list[int]:
        """Return the ids of all rows."""
        return self._store.attempt(lambda db: [row[0] for row in db.execute("SELECT id FROM apis")], [])

    def rows(self, ids: Sequence[int]) -> list[StoredRow]:
        """Return the rows with these ids; those that are no longer there are left out."""

        def read(db: sqlite3.Connection) -> list[StoredRow]:
            found = []
            for at in range(0, len(ids), _IDS_PER_QUERY):
                some = ids[at : at + _IDS_PER_QUERY]
                marks = ",".join("?" * len(some))
                query = f"SELECT id, distribution, {_COLUMNS} FROM apis WHERE id IN ({marks})"
                found += [_row(row) for row in db.execute(query, some)]
            return found

        return self._store.attempt(read, [])

    def match(self, terms: Sequence[str], most: int, *, of: Table = "words") -> list[tuple[int, float]]:
        """Return the ids and scores (higher is better) of the rows that share terms with a query, best first.

        `of`: the rows of APIs, or those of what distributions say of themselves.
        """
        wanted = " OR ".join(f'"{term}"' for term in terms)
        query = (
            f"SELECT rowid, -bm25({of}, {', '.join(map(str, WEIGHTS))}) FROM {of} WHERE {of} MATCH ? ORDER BY 2 DESC"
        )

        def read(db: sqlite3.Connection) -> list[tuple[int, float]]:
            return [(row[0], row[1]) for row in db.execute(f"{query} LIMIT ?", (wanted, most))]

        return self._store.attempt(read, []) if terms else []


def _table(kind: str) -> Table:
    return "purposes" if kind == "package" else "words"


def _remove(db: sqlite3.Connection, keys: Sequence[str]) -> None:
    for key in keys:
        found = db.execute("SELECT id FROM distributions WHERE key = ?", (key,)).fetchone()
        if found is None:
            continue
        rows = [_row(row) for row in db.execute(f"SELECT id, 0, {_COLUMNS} FROM apis WHERE distribution = ?", found)]
        for row in rows:
            table = _table(row.api.kind)
            db.execute(
                f"INSERT INTO {table} ({table}, rowid, {_FIELDS}) VALUES ('delete', ?, ?, ?, ?, ?)",
                (row.id, *indexed_fields(row.api)),
            )
        db.execute("DELETE FROM apis WHERE distribution = ?", found)
        db.execute("DELETE FROM distributions WHERE id = ?", found)


def _values(row: PublicApi) -> tuple[str, ...]:
    return (row.path, row.kind, row.signature, row.summary, row.opening)


def _row(row: Sequence[object]) -> StoredRow:
    id_, package, *values = row
    return StoredRow(int(str(id_)), int(str(package)), PublicApi(*map(str, values)))
