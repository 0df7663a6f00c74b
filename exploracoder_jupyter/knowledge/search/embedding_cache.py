"""Caches an external embedder's vectors for a collection of APIs by content, so that each text is sent only once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.errors import EndpointError, ExploraError
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache, digest
from exploracoder_jupyter.knowledge.search import indexed_text
from exploracoder_jupyter.knowledge.search.dense_index import DenseIndex, Embedder, stack_rows

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
