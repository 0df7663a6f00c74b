"""Search by words: BM25 (bm25s) over our own tokens, kept and reopened as plain arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import bm25s
import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.knowledge.tokens import tokens

Arrays = dict[str, NDArray[np.generic]]
"""Named arrays as the store keeps them; text is an array of UTF-8 bytes."""

_SATURATION = 1.2
_LENGTH = 0.4


class Lexical:
    """A BM25 index; rows are numbered as the texts were."""

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._arrays = dict(arrays)
        self._vocabulary: dict[str, int] = json.loads(arrays["vocabulary"].tobytes())
        self._index = bm25s.BM25(k1=_SATURATION, b=_LENGTH, method="lucene")
        self._index.vocab_dict = self._vocabulary
        self._index.unique_token_ids_set = set(self._vocabulary.values())
        self._index.nonoccurrence_array = None
        self._index.scores = {
            "data": arrays["data"],
            "indices": arrays["indices"],
            "indptr": arrays["indptr"],
            "num_docs": int(arrays["size"][0]),
        }

    @classmethod
    def build(cls, texts: Sequence[str]) -> Lexical:
        """The index of these texts."""
        # bm25s refuses an empty corpus and an empty vocabulary; the mark is in every text, so it never discriminates.
        made = bm25s.BM25(k1=_SATURATION, b=_LENGTH, method="lucene")
        made.index([[*tokens(text), "\0"] for text in texts] or [["\0"]], create_empty_token=False, show_progress=False)
        vocabulary = {term: int(at) for term, at in made.vocab_dict.items()}
        return cls(
            {
                "data": made.scores["data"],
                "indices": made.scores["indices"],
                "indptr": made.scores["indptr"],
                "size": np.array([len(texts)]),
                "vocabulary": np.frombuffer(json.dumps(vocabulary).encode(), dtype=np.uint8),
            }
        )

    def arrays(self) -> Arrays:
        """What `Lexical(arrays)` makes this index of again."""
        return self._arrays

    def scores(self, query: str) -> NDArray[np.float32]:
        """The score of each row; 0 where no word of the query occurs."""
        known = [term for term in dict.fromkeys(tokens(query)) if term in self._vocabulary]
        size = int(self._arrays["size"][0])
        if not known or not size:
            return np.zeros(size, dtype=np.float32)
        return np.asarray(self._index.get_scores(known), dtype=np.float32)
