"""Code that ran in earlier explorations, stored and searched."""

from __future__ import annotations

import ast
import re
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread
import numpy as np
from pydantic import TypeAdapter

from exploracoder_jupyter.core.configuration.sections import Sharing
from exploracoder_jupyter.core.files import LOCK_TIMEOUT, SHORT_LOCK_TIMEOUT, SqliteStore
from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.secrets.redaction import Clean, find_secret_literals, redact
from exploracoder_jupyter.core.types import Passage, ScoredPassage, Snippet, SourceKind
from exploracoder_jupyter.knowledge.knowledge_cache import digest, parse_stored
from exploracoder_jupyter.knowledge.search import vectors
from exploracoder_jupyter.knowledge.search.api_index import scale_to_max
from exploracoder_jupyter.pipeline.exploring.candidates import fingerprint
from exploracoder_jupyter.text.lexical_index import Field, LexicalIndex
from exploracoder_jupyter.text.tokenizer import tokens

# An in-memory index of passages, by words and on request by meaning, with the built-in word vectors.

_MIN_SHARED_WORDS = 2
"""Words that passage and query must share (or all, if the query has fewer): a single one can be a coincidence."""
_MIN_COSINE = 0.65
"""The minimum cosine at which a passage is relevant without sharing words."""
_TITLE_WEIGHT, _APIS_WEIGHT = 3.0, 2.0
_MEANING_WEIGHT = 0.5
"""Weight of similarity by meaning, relative to words."""


class PassageIndex:
    """An index of passages in memory; indexing hundreds of them takes milliseconds, so it is not stored on disk."""

    def __init__(self, passages: Sequence[Passage], *, by_meaning: bool = False) -> None:
        self.passages = tuple(passages)
        texts = ["\n".join([one.title, *one.apis, one.text]) for one in passages]
        self._words = [frozenset(tokens(text)) for text in texts]
        self._lexical = LexicalIndex.of(
            [
                Field([one.title for one in passages], _TITLE_WEIGHT),
                Field(["\n".join(one.apis) for one in passages], _APIS_WEIGHT),
                Field([one.text for one in passages]),
            ]
        )
        self._vectors = [vectors.embed_text(text) for text in texts] if by_meaning else []

    def search(self, query: str, k: int) -> list[ScoredPassage]:
        """Return at most k passages that share words or meaning with the query, best first."""
        words = frozenset(tokens(query))
        enough = min(_MIN_SHARED_WORDS, len(words))
        cosines = np.zeros(len(self.passages), dtype=np.float32)
        if self._vectors:
            cosines = np.asarray(np.stack(self._vectors) @ vectors.embed_text(query), dtype=np.float32)
        scores = scale_to_max(self._lexical.scores(query)) + _MEANING_WEIGHT * scale_to_max(cosines)
        order = [int(row) for row in np.argsort(-scores, kind="stable") if scores[row] > 0]
        relevant = [row for row in order if len(words & self._words[row]) >= enough or cosines[row] >= _MIN_COSINE]
        return [ScoredPassage(self.passages[row], float(scores[row])) for row in relevant[: max(k, 0)]]


# Stores code that ran for later tasks, in a file shared by processes.
#
# This is not a cache, because its content cannot be recreated. If the file cannot be read or written, nothing is
# stored and everything still works.

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


# Code that ran in earlier explorations as a source that can be searched, extended and pruned.

_MAX_CODE_CHARS = 20_000
_MAX_TEXT_CHARS = 2_000


class SnippetSource:
    """The snippets of these library versions, by import name. Satisfies `Source`.

    `sharing` limits what a model may receive: below `values`, output that showed values is neither stored nor returned.
    `clean` removes secrets from what is stored.
    """

    kind: SourceKind = "snippet"

    def __init__(
        self,
        store: SnippetStore,
        versions: Mapping[str, str],
        *,
        sharing: Sharing = "values",
        clean: Clean = lambda text: text,
    ) -> None:
        self._store = store
        self._versions = versions
        self._sharing = sharing
        self._clean = clean
        self._ranked = PassageIndex(())

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """Return at most k snippets that may help, best first, and count them as used."""
        return await anyio.to_thread.run_sync(self._search, query, k, abandon_on_cancel=True)

    async def learn(self, snippets: Sequence[Snippet]) -> None:
        """Store code that ran."""
        wanted = [self._clean_snippet(one) for one in snippets if one.code.strip() and len(one.code) <= _MAX_CODE_CHARS]
        await anyio.to_thread.run_sync(self._store.add, wanted, self._sharing)

    async def forget(self, origins: Sequence[str]) -> None:
        """Delete the snippets of passages with these origins."""
        found = (re.match(r"snippet (\w+) ", origin) for origin in origins)
        await anyio.to_thread.run_sync(self._store.delete, [match[1] for match in found if match])

    def _search(self, query: str, k: int) -> list[ScoredPassage]:
        passages = tuple(_passage(kept, self._sharing) for kept in self._store.of(self._versions, self._sharing))
        if passages != self._ranked.passages:
            self._ranked = PassageIndex(passages, by_meaning=True)
        found = _without_repeated(self._ranked.search(query, 2 * k))[: max(k, 0)]
        self._store.mark_used([hit.passage.origin.split()[1] for hit in found])
        return found

    def _clean_snippet(self, snippet: Snippet) -> Snippet:
        literals = find_secret_literals(snippet.code)
        return replace(
            snippet,
            title=redact(snippet.title, self._clean, literals)[:_MAX_TEXT_CHARS],
            code=redact(snippet.code, self._clean, literals),
            observed=redact(snippet.observed, self._clean, literals)[:_MAX_TEXT_CHARS]
            if self._sharing == "values"
            else "",
        )


def _without_repeated(found: Sequence[ScoredPassage]) -> list[ScoredPassage]:
    """Leave out code all of whose statements are in a better hit, as those of a step are in its run's solution."""
    kept: list[ScoredPassage] = []
    seen: list[set[str]] = []
    for hit in found:
        statements = {ast.dump(node) for node in parse_python(hit.passage.text).body}
        if not statements or not any(statements <= better for better in seen):
            kept.append(hit)
            seen.append(statements)
    return kept


def _passage(kept: StoredSnippet, sharing: Sharing) -> Passage:
    one = kept.snippet
    shown = "\n".join(f"# {line}" for line in one.observed.splitlines()) if sharing == "values" else ""
    return Passage(
        source="snippet",
        title=one.title,
        text=f"{one.code.rstrip()}\n# It showed:\n{shown}" if shown else one.code,
        origin=f"snippet {kept.id} of {one.library} {one.version}, Python {one.python}",
        apis=one.apis,
        code=True,
        version=one.version,
    )
