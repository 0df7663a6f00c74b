"""Dense vectors: exact inner products, the built-in word embedder, and the cache of an external one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Protocol

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.errors import EndpointError, ExploraError
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache, digest
from exploracoder_jupyter.knowledge.search import indexed_text
from exploracoder_jupyter.knowledge.search.faiss_library import load_faiss
from exploracoder_jupyter.text.tokenizer import tokens

# Dense vector search: exact inner products with normalized vectors, by FAISS.
#
# A library or a set of passages has thousands of rows in memory, which FAISS scans where they are, without a copy.
# `stored_vectors` keeps the vectors of a whole environment in a file.

_ROUNDING_ERROR = 0.02
"""Cosines up to this value are rounding errors."""


class Embedder(Protocol):
    """Turns texts into vectors of one length.

    Implementations: `llm.embeddings`, `llm.embeddings`.
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


# The built-in word embedder: vectors shipped with the package, so that nothing is downloaded or fitted.
#
# They were distilled from a sentence embedding model, all-MiniLM-L6-v2 (Apache-2.0;
# `scripts/train_word_vectors.py`), and encode, for example, that delete, remove and drop mean nearly the same.
# Words that have no vector are left to the other indexes.

PATH = Path(__file__).with_name("words.npz")
UNRELATED_COSINE: Final = 0.15
"""Unrelated texts have cosines up to about this value, the median within a library."""


def embed_text(text: str) -> NDArray[np.float32]:
    """Return the text's direction: the sum of its word vectors, of length 1, or 0 if no word is known."""
    numbers, vectors, scales = _load_vectors()
    rows = [numbers[term] for term in tokens(text) if term in numbers]
    total = scales[rows] @ vectors[rows].astype(np.float32)
    length = float(np.linalg.norm(total))
    return np.asarray(total / length if length else total, dtype=np.float32)


@cache
def _load_vectors() -> tuple[dict[str, int], NDArray[np.int8], NDArray[np.float32]]:
    with np.load(PATH, allow_pickle=False) as arrays:
        words: list[str] = json.loads(arrays["vocabulary"].tobytes())
        return {word: row for row, word in enumerate(words)}, arrays["vectors"], arrays["scales"]


# Caches an external embedder's vectors for a collection of APIs by content, so that each text is sent only once.

Vector = NDArray[np.float32]

_BATCH_SIZE = 256


@dataclass(frozen=True, slots=True)
class ApiEmbeddings:
    """An embedder and its vectors for the APIs, in their order."""

    embedder: Embedder
    dense: DenseIndex

    async def scores(self, query: str, *, most: int) -> NDArray[np.float32]:
        """Return the cosine of each API among the `most` nearest; 0 for the others. Raises EndpointError from the
        embedder, or if its vector's length differs from that of the APIs' vectors.
        """
        (vector,) = await self.embedder.embed([query])
        if vector.shape != self.dense.vectors.shape[1:] and len(self.dense.vectors):
            raise _length_mismatch(self.embedder)
        return self.dense.scores(vector, most=most)


async def embed_apis(
    apis: Sequence[ApiDoc], embedder: Embedder, *, store: KnowledgeCache, advance: Callable[[int], None]
) -> ApiEmbeddings:
    """Embed these APIs.

    `advance` receives the number of APIs that have a vector. Batches finished before a cancellation stay cached.

    Raises EndpointError from the embedder, or if its vectors differ in length.
    """
    texts = [indexed_text.embedding_text(api) for api in apis]
    keys = [digest(embedder.name, text) for text in texts]
    cached = await anyio.to_thread.run_sync(store.get_many, "vector", keys)
    vectors = {key: np.frombuffer(body, dtype=np.float32) for key, body in cached.items()}
    wanted = dict(zip(keys, texts, strict=True))
    await _embed_missing(vectors, wanted, embedder, store=store, advance=advance)
    if cached and _count_lengths(vectors) > 1:  # the name now refers to another model
        vectors.clear()
        await _embed_missing(vectors, wanted, embedder, store=store, advance=advance)
    if _count_lengths(vectors) > 1:
        raise _length_mismatch(embedder)
    return ApiEmbeddings(embedder, DenseIndex(stack_rows([vectors[key] for key in keys])))


def embedder_fallback_message(error: ExploraError) -> str:
    """Return the message that an embedder is no longer used, with the reason and the remedy."""
    return f"{error.message} The built-in index is used instead. {error.remedy}".strip()


async def _embed_missing(
    vectors: dict[str, Vector],
    wanted: Mapping[str, str],
    embedder: Embedder,
    *,
    store: KnowledgeCache,
    advance: Callable[[int], None],
) -> None:
    todo = [key for key in wanted if key not in vectors]
    for at in range(0, len(todo), _BATCH_SIZE):
        advance(len(wanted) - len(todo) + at)
        some = todo[at : at + _BATCH_SIZE]
        rows = np.asarray(await embedder.embed([wanted[key] for key in some]), dtype=np.float32)
        fresh = dict(zip(some, rows, strict=True))
        vectors |= fresh
        await anyio.to_thread.run_sync(store.put_many, "vector", {key: row.tobytes() for key, row in fresh.items()})


def _count_lengths(vectors: Mapping[str, Vector]) -> int:
    return len({len(row) for row in vectors.values()})


def _length_mismatch(embedder: Embedder) -> EndpointError:
    return EndpointError(
        f"The embedding model {embedder.name!r} returned vectors of different lengths.",
        remedy="Use a name that always refers to the same model, or remove the embedding model from the settings.",
    )
