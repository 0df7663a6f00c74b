"""Search by meaning: FAISS, exact inner product over normalised vectors.

At our sizes (thousands of APIs) an exact scan takes a fraction of a millisecond; approximate indexes only cost. One
thread: with more, single queries were up to five times slower on a small machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import faiss
import numpy as np
from numpy.typing import NDArray

_NOTHING = 0.02
"""A cosine up to this is rounding, not nearness."""


class Embedder(Protocol):
    """Turns texts into vectors of one length. Implementations: `Latent`, `llm.endpoint_embeddings`."""

    @property
    def name(self) -> str:
        """Names model and version: vectors are kept under it."""
        ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, in order.

        Raises:
            EndpointError: the service behind it refused or stayed unreachable.
        """
        ...


class Dense:
    """A flat index of normalised vectors; rows are numbered as they were given."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        faiss.omp_set_num_threads(1)
        self.vectors = normalised(vectors)
        self._index = faiss.IndexFlatIP(self.vectors.shape[1])
        self._index.add(self.vectors)

    def scores(self, vector: NDArray[np.float32], *, most: int) -> NDArray[np.float32]:
        """The cosine of each row that is among the `most` nearest; 0 for the others."""
        size, dimensions = self.vectors.shape
        found = np.zeros(size, dtype=np.float32)
        if not size or vector.shape != (dimensions,) or not vector.any():
            return found
        cosines, rows = self._index.search(normalised(vector[None, :]), min(most, size))
        found[rows[0]] = np.where(cosines[0] > _NOTHING, cosines[0], 0)
        return found


def normalised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1 (rows of zeros stay), contiguous float32, as FAISS wants them."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
