"""Dense vector search: exact inner products with normalized vectors, by FAISS.

A library or a set of passages has thousands of rows in memory, which FAISS scans where they are, without a copy.
`stored_vectors` keeps the vectors of a whole environment in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.knowledge.search.faiss_library import load_faiss

_ROUNDING_ERROR = 0.02
"""Cosines up to this value are rounding errors."""


class Embedder(Protocol):
    """Turns texts into vectors of one length.

    Implementations: `llm.endpoint.endpoint_embeddings`, `llm.local_embeddings`.
    """

    @property
    def name(self) -> str:
        """Identifies model and version; vectors are cached under this name."""
        ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, in order. Raises EndpointError if the service behind it rejects the request or
        remains unreachable.
        """
        ...


class DenseIndex:
    """A flat index of normalized vectors; rows keep the order in which they were given."""

    def __init__(self, vectors: NDArray[np.float32], unrelated: float = _ROUNDING_ERROR) -> None:
        """`unrelated`: the cosine up to which texts are not related, which depends on the embedder."""
        self.vectors = normalize_rows(vectors)
        self._unrelated = unrelated

    def scores(self, vector: NDArray[np.float32], *, most: int) -> NDArray[np.float32]:
        """Return the cosine of each row among the `most` nearest; 0 for the others."""
        size, dimensions = self.vectors.shape
        found = np.zeros(size, dtype=np.float32)
        if not size or vector.shape != (dimensions,) or not vector.any():
            return found
        rows, cosines = nearest_rows(self.vectors, normalize_rows(vector[None, :]), most=min(most, size))
        found[rows] = np.where(cosines > self._unrelated, cosines, 0)
        return found


def nearest_rows(
    vectors: NDArray[np.float32], query: NDArray[np.float32], *, most: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the numbers and inner products of the `most` rows nearest to a query, which is one row; in no order."""
    if faiss := load_faiss():
        cosines, rows = faiss.knn(query, vectors, most, metric=faiss.METRIC_INNER_PRODUCT)
        return rows[0], cosines[0]
    products = vectors @ query[0]
    nearest = np.argpartition(-products, most - 1)[:most]
    return nearest, products[nearest]


def stack_rows(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the vectors as the rows of one array, also if there are none."""
    return np.stack(rows) if rows else np.zeros((0, 1), dtype=np.float32)


def normalize_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows scaled to length 1 (zero rows stay), as a contiguous float32 array."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
