"""Search by words: BM25F over our own tokens, kept and reopened as plain arrays.

BM25 adds up what the words of a query say of a text; BM25F does so for a text in fields, each with a weight: a word in
the name says more than one among the examples, and how rare a word is is asked of all fields together (Robertson,
Zaragoza and Taylor, 2004). Everything that does not depend on the query is computed when the index is built.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.knowledge.search.tokenizer import tokens

Arrays = dict[str, NDArray[np.generic]]
"""Named arrays as the store keeps them; text is an array of UTF-8 bytes."""

_SATURATION = 2.0
"""How soon further occurrences of a word count for nothing."""
_LENGTH = 0.5
"""How much a long text is a reason against each of its words."""


@dataclass(frozen=True, slots=True)
class Field:
    """One part of every text."""

    texts: Sequence[str]
    weight: float = 1.0


class Lexical:
    """A BM25F index; rows are numbered as the texts were."""

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._arrays = dict(arrays)
        self._vocabulary: dict[str, int] = json.loads(arrays["vocabulary"].tobytes())
        self._starts: NDArray[np.int64] = arrays["starts"].astype(np.int64)

    @classmethod
    def build(cls, texts: Sequence[str]) -> Lexical:
        """The index of texts that have one part."""
        return cls.of([Field(texts)])

    @classmethod
    def of(cls, fields: Sequence[Field]) -> Lexical:
        """The index of texts in fields, of which each field gives one part in their order."""
        size = len(fields[0].texts)
        vocabulary: dict[str, int] = {}
        keys, counts = zip(*(_counted(field, vocabulary) for field in fields), strict=True)
        # A key says term and row at once; sorted, the rows of a term lie together.
        held, place = np.unique(np.concatenate(keys), return_inverse=True)
        counted = np.bincount(place, weights=np.concatenate(counts), minlength=len(held))
        terms, rows = np.divmod(held, max(size, 1))
        starts = np.searchsorted(terms, np.arange(len(vocabulary) + 1))
        borne = np.diff(starts)
        rare = np.log1p((size - borne + 0.5) / (borne + 0.5))
        scores = rare[terms] * counted * (_SATURATION + 1) / (counted + _SATURATION)
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
        """What `Lexical(arrays)` makes this index of again."""
        return self._arrays

    def scores(self, query: str) -> NDArray[np.float32]:
        """The score of each row; 0 where no word of the query occurs."""
        found = np.zeros(int(self._arrays["size"][0]), dtype=np.float32)
        for term in dict.fromkeys(tokens(query)):
            at = self._vocabulary.get(term)
            if at is not None:
                part = slice(self._starts[at], self._starts[at + 1])
                found[self._arrays["rows"][part]] += self._arrays["scores"][part]  # no row twice
        return found


def _counted(field: Field, vocabulary: dict[str, int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Term and row of all words in a field, as one number each, and how much they count; the vocabulary grows."""
    counted = [Counter(tokens(text)) for text in field.texts]
    lengths = np.array([counts.total() for counts in counted], dtype=np.float64)
    usual = lengths[lengths > 0].mean() if lengths.any() else 1.0
    factors = field.weight / (1 - _LENGTH + _LENGTH * lengths / usual)
    terms = [vocabulary.setdefault(term, len(vocabulary)) for counts in counted for term in counts]
    rows = np.repeat(np.arange(len(counted)), [len(counts) for counts in counted])
    often = np.array([number for counts in counted for number in counts.values()], dtype=np.float64)
    return np.array(terms, dtype=np.int64) * len(counted) + rows, often * factors[rows]
