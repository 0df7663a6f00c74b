"""Ranks texts by a query: BM25 over words and the parts of identifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import bm25s
import numpy as np

_WORD = re.compile(r"[^\W\d_]+(?:_\w+)*|\w+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")
_STOP_WORDS = frozenset(
    """a an and are as at be by can do does for from how i if in into is it my of on or so that the then this to use
    using what when where which with without you""".split()  # noqa: SIM905
)
_MARKER = "\0"


class Ranking:
    """A BM25 index of texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._index = bm25s.BM25(method="lucene")
        # bm25s rejects an empty corpus and an empty vocabulary; a marker in every text does not affect the ranking.
        corpus = [[*_words(text), _MARKER] for text in texts] or [[_MARKER]]
        self._index.index(corpus, create_empty_token=False, show_progress=False)

    def best(self, query: str) -> list[tuple[int, float]]:
        """Return the numbers and scores of the texts that share a word with the query, best first."""
        known = [word for word in dict.fromkeys(_words(query)) if word in self._index.vocab_dict]
        if not known:
            return []
        scores = self._index.get_scores(known)
        order = np.argsort(-scores, kind="stable")
        return [(int(at), float(scores[at])) for at in order if scores[at] > 0]


def _words(text: str) -> list[str]:
    return [term for word in _WORD.findall(text) for term in _terms(word) if term not in _STOP_WORDS]


@lru_cache(maxsize=50_000)
def _terms(word: str) -> tuple[str, ...]:
    parts = [_stem(part.lower()) for part in _PART.findall(word)]
    return tuple(parts) if len(parts) == 1 else (word.lower(), *parts)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word
