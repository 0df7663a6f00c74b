"""Answers a query over an environment: the packages that can do it, each with the APIs that show why.

An API scores by the words that it shares with the query and by the similarity of general word vectors, as within one
library (`search.api_index`), plus what is known about it without the query. A package scores by its best APIs, and by
what it says of itself: of two with equally good APIs, the one whose purpose this is comes first.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import normalize_name
from exploracoder_jupyter.knowledge.environment.environment_index import EnvironmentIndex
from exploracoder_jupyter.knowledge.environment.environment_store import StoredPackage, StoredRow, Table
from exploracoder_jupyter.knowledge.environment.public_paths import PublicApi
from exploracoder_jupyter.knowledge.environment.search_fields import dense_text
from exploracoder_jupyter.knowledge.environment.syntax_reading import SENTENCE_END
from exploracoder_jupyter.knowledge.search import vectors
from exploracoder_jupyter.knowledge.search.api_index import (
    NAMED_BONUS,
    SYNONYM_WEIGHT,
    WORD_VECTOR_WEIGHT,
    drop_filler_words,
    find_named_apis,
    synonyms,
)
from exploracoder_jupyter.text.tokenizer import tokens

_MOST_BY_WORDS = 200
_MOST_BY_MEANING = 200
_MOST_PACKAGES = 40
_SECOND, _THIRD = 0.2, 0.1
"""How much the second and third API of a package count; the first counts 1."""
_PURPOSE_WEIGHT = 0.4
"""What a package says of itself, compared with one of its APIs."""
_WORDS_WEIGHT = 1.0
"""Weight of the words that query and API share; the API that shares most counts 1. Less than within one library, where
words are seldom those of another subject."""
_BREADTH_WEIGHT = 0.3
"""For the logarithm of what all matching APIs of a package score together."""
_NAMED_PACKAGE = 0.5
"""For a package whose name is a word of the query: many names are words of everyday language."""
_UNDOCUMENTED = -0.4
_DEPTH = -0.1
_ERROR = re.compile(r"\.[A-Z]\w*(?:Error|Exception|Warning)(?:\.\w+)?$")
_INTERNAL = re.compile(r"\.(?:internals?|impl|compat|testing|typing|types|utils?)\.")
_ERROR_WEIGHT, _INTERNAL_WEIGHT, _DEPRECATED_WEIGHT = -0.8, -0.3, -1.0


@dataclass(frozen=True, slots=True)
class FoundApi:
    """An API, or a section of a shipped guide, that matches."""

    path: str
    kind: str
    signature: str
    description: str
    """The line that shows why: its first sentence, or the sentence with the words of the query."""
    score: float


@dataclass(frozen=True, slots=True)
class FoundPackage:
    """A package that matches, with its best APIs."""

    name: str
    version: str
    module: str
    """The name by which it is imported."""
    summary: str
    """What it says of itself."""
    score: float
    apis: tuple[FoundApi, ...]


def rank_packages(index: EnvironmentIndex, query: str, *, packages: int, apis: int) -> list[FoundPackage]:
    """Return the packages that match best, best first, each with at most so many APIs."""
    stored = {one.id: one for one in index.store.packages().values()}
    wanted = _Query(query)
    rows = _candidates(index, wanted)
    scores = wanted.score(rows)
    own = {row.package: row for row in rows if row.api.kind == "package"}
    groups: defaultdict[int, list[tuple[float, StoredRow]]] = defaultdict(list)
    for row, score in zip(rows, scores, strict=True):
        if row.api.kind != "package" and row.package in stored:
            groups[row.package].append((score, row))
    purposes = dict(zip((row.id for row in rows), scores, strict=True))
    found = []
    for package in {*groups, *own}:
        if package not in stored:
            continue
        ranked = sorted(groups.get(package, ()), key=lambda one: (-one[0], one[1].api.path))
        best = [score for score, _ in ranked[:3]]
        purpose = max(purposes[own[package].id], 0.0) if package in own else 0.0
        total = sum(weight * max(score, 0.0) for weight, score in zip((1, _SECOND, _THIRD), best, strict=False))
        total += _BREADTH_WEIGHT * math.log1p(sum(max(score, 0.0) for score, _ in ranked))
        total += _PURPOSE_WEIGHT * purpose + _NAMED_PACKAGE * wanted.names(stored[package])
        found.append((total, package, ranked))
    found.sort(key=lambda one: (-one[0], stored[one[1]].key))
    return [
        _package(
            stored[package],
            own.get(package) or index.store.own_row(package),
            total,
            _first_of_each_name(ranked)[:apis],
            wanted,
        )
        for total, package, ranked in found[:packages]
        if total > 0
    ]


def _first_of_each_name(ranked: Sequence[tuple[float, StoredRow]]) -> list[tuple[float, StoredRow]]:
    """Move an API behind the others if one of its name, such as another class's method, stands before it."""
    seen: set[str] = set()
    first: list[tuple[float, StoredRow]] = []
    again: list[tuple[float, StoredRow]] = []
    for one in ranked:
        name = one[1].api.path.rpartition(".")[2]
        (again if name in seen else first).append(one)
        seen.add(name)
    return first + again


def _candidates(index: EnvironmentIndex, wanted: _Query) -> list[StoredRow]:
    """Return the rows to be scored, and note how well their words match."""
    store, by_words = index.store, dict[int, float]()
    tables: tuple[tuple[Table, int], ...] = (("words", _MOST_BY_WORDS), ("purposes", _MOST_PACKAGES))
    for table, most in tables:
        found: defaultdict[int, float] = defaultdict(float)
        for terms, weight in ((wanted.terms, 1.0), (wanted.synonyms, SYNONYM_WEIGHT)):
            for id_, score in store.match(terms, most, of=table):
                found[id_] += weight * score
        highest = max(found.values(), default=0.0) or 1.0
        by_words |= {id_: score / highest for id_, score in found.items()}
    wanted.by_words = by_words
    near: list[int] = []
    if index.vectors:
        near = [int(id_) for id_ in index.vectors.nearest(wanted.vector, _MOST_BY_MEANING)[0]]
    return store.rows(list(dict.fromkeys([*by_words, *near])))


class _Query:
    """A query, prepared for scoring."""

    def __init__(self, query: str) -> None:
        meaningful = drop_filler_words(query, ())
        self.terms = list(dict.fromkeys(tokens(meaningful)))
        self.synonyms = list(dict.fromkeys(tokens(synonyms(meaningful))))
        self.vector = vectors.embed_text(meaningful)
        self.by_words: Mapping[int, float] = {}
        self._named = find_named_apis(query)
        self._words = {normalize_name(word) for word in re.findall(r"[\w.-]*\w", query)}

    def names(self, package: StoredPackage) -> bool:
        """Return whether the query names the package."""
        return package.key in self._words

    def score(self, rows: Sequence[StoredRow]) -> list[float]:
        """Return the score of each row, comparable between packages."""
        cosines = [float(vectors.embed_text(dense_text(row.api)) @ self.vector) for row in rows]
        highest = max(cosines, default=0.0)
        found = []
        for row, cosine in zip(rows, cosines, strict=True):
            meaning = cosine / highest if cosine > vectors.UNRELATED_COSINE and highest > 0 else 0.0
            match = _WORDS_WEIGHT * self.by_words.get(row.id, 0.0) + WORD_VECTOR_WEIGHT * meaning
            named = NAMED_BONUS * (row.api.path.rpartition(".")[2] in self._named)
            found.append(match + named + _prior(row.api) if match > 0 else 0.0)
        return found

    def line(self, api: PublicApi) -> str:
        """Return the sentence about an API that shows best why it was found."""
        sentences = [text for text in (api.summary, *SENTENCE_END.split(api.opening)) if text]
        wanted = {*self.terms, *self.synonyms}
        first = sentences[0] if sentences else ""
        best = max(sentences, key=lambda text: len(wanted & {*tokens(text)}), default="")
        more = len(wanted & {*tokens(best)}) > len(wanted & {*tokens(first)}) + 1
        return best if more else first


def _prior(api: PublicApi) -> float:
    if api.kind == "package":
        return 0.0
    path = api.path
    return (
        _UNDOCUMENTED * (not api.summary)
        + _DEPTH * max(path.count(".") - 1, 0)
        + _ERROR_WEIGHT * bool(_ERROR.search(path))
        + _INTERNAL_WEIGHT * bool(_INTERNAL.search(path))
        + _DEPRECATED_WEIGHT * ("deprecated" in api.summary.lower())
    )


def _package(
    stored: StoredPackage,
    own: StoredRow | None,
    score: float,
    ranked: Sequence[tuple[float, StoredRow]],
    wanted: _Query,
) -> FoundPackage:
    apis = tuple(
        FoundApi(row.api.path, row.api.kind, row.api.signature, wanted.line(row.api), round(value, 4))
        for value, row in ranked
    )
    module = own.api.path if own else ""
    return FoundPackage(stored.name, stored.version, module, own.api.summary if own else "", round(score, 4), apis)
