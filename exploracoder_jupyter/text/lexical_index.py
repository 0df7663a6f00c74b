"""Lexical search: BM25F over our own tokens, stored and reopened as plain arrays.

BM25 adds up the scores of a query's words for a text. BM25F does so for texts divided into weighted fields: a word in
the name counts more than one among the examples, and the rarity of a word is computed over all fields together
(Robertson, Zaragoza and Taylor, 2004). Everything that does not depend on the query is computed when the index is
built.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.text.tokenizer import tokens

Arrays = dict[str, NDArray[np.generic]]
"""Named arrays as stored; text is an array of UTF-8 bytes."""

_SATURATION = 2.0
"""How quickly further occurrences of a word stop counting."""
_LENGTH_PENALTY = 0.5
"""How strongly the length of a text reduces the score of its words."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of every text."""

    texts: Sequence[str]
    weight: float = 1.0


class LexicalIndex:
    """A BM25F index; rows are numbered in the order of the texts."""

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._arrays = dict(arrays)
        self._vocabulary: dict[str, int] = json.loads(arrays["vocabulary"].tobytes())
        self._starts: NDArray[np.int64] = arrays["starts"].astype(np.int64)

    @classmethod
    def build(cls, texts: Sequence[str]) -> LexicalIndex:
        """Build the index of texts that have a single field."""
        return cls.of([Field(texts)])

    @classmethod
    def of(cls, fields: Sequence[Field]) -> LexicalIndex:
        """Build the index of texts with several fields; each field contributes one part of every text, in order."""
        size = len(fields[0].texts)
        vocabulary: dict[str, int] = {}
        keys, counts = zip(*(_count_terms(field, vocabulary) for field in fields), strict=True)
        # A key combines term and row; sorted, the rows of a term are contiguous.
        unique, position = np.unique(np.concatenate(keys), return_inverse=True)
        counted = np.bincount(position, weights=np.concatenate(counts), minlength=len(unique))
        terms, rows = np.divmod(unique, max(size, 1))
        starts = np.searchsorted(terms, np.arange(len(vocabulary) + 1))
        frequency = np.diff(starts)
        rarity = np.log1p((size - frequency + 0.5) / (frequency + 0.5))
        scores = rarity[terms] * counted * (_SATURATION + 1) / (counted + _SATURATION)
        return cls(
            {
                "scores": scores.astype(np.float32),
                "rows": rows.astype(np.int32),
                "starts": starts.astype(np.int32),
                "size": np.array([size]),
                "vocabulary": np.frombuffer(json.dumps(vocabulary).encode(), dtype=np.uint8),
            }
        )

    def arrays(self) -> Arrays:
        """Return the arrays from which `Lexical(arrays)` restores this index."""
        return self._arrays

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return the score of each row; 0 if no word of the query occurs."""
        found = np.zeros(int(self._arrays["size"][0]), dtype=np.float32)
        for term in dict.fromkeys(tokens(query)):
            part = self._entries(term)
            found[self._arrays["rows"][part]] += self._arrays["scores"][part]  # rows are unique here
        return found

    def highest_score(self, query: str) -> float:
        """Return the score of a text for which each word of the query counts as much as for any; 0 if none occurs.

        A word that occurs nowhere counts like the mean of the others: no text matches most of such a query.
        """
        terms = dict.fromkeys(tokens(query))
        found = [self._arrays["scores"][self._entries(term)] for term in terms]
        highest = [float(scores.max()) for scores in found if scores.size]
        return sum(highest) / max(len(highest), 1) * len(terms)

    def _entries(self, term: str) -> slice:
        at = self._vocabulary.get(term)
        return slice(0, 0) if at is None else slice(self._starts[at], self._starts[at + 1])

    def best(self, query: str) -> list[int]:
        """Return the rows that share a word with the query, best first."""
        scores = self.scores(query)
        return [int(row) for row in np.argsort(-scores, kind="stable") if scores[row] > 0]


def _count_terms(field: Field, vocabulary: dict[str, int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return a combined key of term and row, and a weighted count, for each word of a field; extends the vocabulary."""
    counted = [Counter(tokens(text)) for text in field.texts]
    lengths = np.array([counts.total() for counts in counted], dtype=np.float64)
    usual = lengths[lengths > 0].mean() if lengths.any() else 1.0
    factors = field.weight / (1 - _LENGTH_PENALTY + _LENGTH_PENALTY * lengths / usual)
    terms = [vocabulary.setdefault(term, len(vocabulary)) for counts in counted for term in counts]
    rows = np.repeat(np.arange(len(counted)), [len(counts) for counts in counted])
    often = np.array([number for counts in counted for number in counts.values()], dtype=np.float64)
    return np.array(terms, dtype=np.int64) * len(counted) + rows, often * factors[rows]
