"""The built-in embedder: latent semantic analysis of the documentation itself, without any download.

TF-IDF and a truncated SVD by scikit-learn, fitted on the texts to be searched. Embedding a text is then a product of
numpy arrays, so reopening an index requires neither a fit nor an import of scikit-learn, and nothing is pickled.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.text.lexical_index import Arrays
from exploracoder_jupyter.text.tokenizer import tokens

_DIMENSIONS = 256
_MIN_DIMENSIONS = 3
"""With fewer texts or terms than this there is no latent structure to find."""
_MANY_TEXTS = 1000
"""With more texts than this, terms that occur in only one are left out: they are many and relate nothing."""


class LatentEmbedder:
    """An embedder fitted on one collection of texts. Satisfies `Embedder`."""

    name = "latent-1"

    def __init__(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self._vocabulary: dict[str, int] = json.loads(arrays["vocabulary"].tobytes())
        self._weights = arrays["weights"].astype(np.float32)
        self._components = arrays["components"]

    @classmethod
    def fit(cls, texts: Sequence[str]) -> LatentEmbedder:
        """Learn which words occur together in these texts. Takes seconds for thousands of them."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(
            analyzer=tokens, sublinear_tf=True, min_df=2 if len(texts) > _MANY_TEXTS else 1, dtype=np.float32
        )
        try:
            table = vectorizer.fit_transform(texts)
        except ValueError:  # scikit-learn raises it if the texts contain no term
            return cls._empty()
        dimensions = min(_DIMENSIONS, min(table.shape) - 1)
        if dimensions < _MIN_DIMENSIONS:
            return cls._empty()
        components = TruncatedSVD(dimensions, random_state=0).fit(table).components_
        vocabulary = {term: int(at) for term, at in vectorizer.vocabulary_.items()}
        # One row per term, as queries need them; half precision halves the file size without losing recall.
        return cls(_pack(vocabulary, vectorizer.idf_, np.ascontiguousarray(components.T)))

    @classmethod
    def _empty(cls) -> LatentEmbedder:
        return cls(_pack({}, np.zeros(0), np.zeros((0, 1))))

    def arrays(self) -> Arrays:
        """Return the arrays from which `Latent(arrays)` restores this embedder."""
        return _pack(self._vocabulary, self._weights, self._components)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, of length 1, or 0 if no word is known."""
        return np.stack([self.vector(text) for text in texts]) if texts else np.zeros((0, 1), dtype=np.float32)

    def vector(self, text: str) -> NDArray[np.float32]:
        """Return the text's direction in the latent space."""
        counts = Counter(self._vocabulary[term] for term in tokens(text) if term in self._vocabulary)
        if not counts:
            return np.zeros(self._components.shape[1], dtype=np.float32)
        rows = np.fromiter(counts.keys(), dtype=np.int64)
        often = 1 + np.log(np.fromiter(counts.values(), dtype=np.float32))
        vector = (often * self._weights[rows]) @ self._components[rows].astype(np.float32)
        length = float(np.linalg.norm(vector))
        return (vector / length if length else vector).astype(np.float32)


def _pack(vocabulary: Mapping[str, int], weights: NDArray[np.generic], components: NDArray[np.generic]) -> Arrays:
    return {
        "vocabulary": np.frombuffer(json.dumps(vocabulary).encode(), dtype=np.uint8),
        "weights": weights.astype(np.float32),
        "components": components.astype(np.float16),
    }
