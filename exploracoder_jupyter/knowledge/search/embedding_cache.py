"""Vectors of an external embedder for a collection of APIs, kept by content so that each text is sent once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.core.errors import EndpointError, ExploraError
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.knowledge_cache import Store, digest
from exploracoder_jupyter.knowledge.search import indexed_text
from exploracoder_jupyter.knowledge.search.dense_index import Dense, Embedder

Vector = NDArray[np.float32]

_BATCH = 256


@dataclass(frozen=True, slots=True)
class Meaning:
    """An embedder and the vectors it gave for the APIs, in their order."""

    embedder: Embedder
    dense: Dense

    async def scores(self, query: str, *, most: int) -> NDArray[np.float32]:
        """The cosine of each API that is among the `most` nearest; 0 for the others.

        Raises:
            EndpointError: from the embedder, or its vector is of another length than those of the APIs.
        """
        (vector,) = await self.embedder.embed([query])
        if vector.shape != self.dense.vectors.shape[1:] and len(self.dense.vectors):
            raise _changed(self.embedder)
        return self.dense.scores(vector, most=most)


async def embedded(
    apis: Sequence[ApiDoc], embedder: Embedder, *, store: Store, advance: Callable[[int], None]
) -> Meaning:
    """The meaning of these APIs; `advance` is told how many have their vector. A cut-off keeps what it has.

    Raises:
        EndpointError: from the embedder, or its vectors are of several lengths.
    """
    said = [indexed_text.described(api) for api in apis]
    keys = [digest(embedder.name, text) for text in said]
    kept = await anyio.to_thread.run_sync(store.get_many, "vector", keys)
    vectors = {key: np.frombuffer(body, dtype=np.float32) for key, body in kept.items()}
    wanted = dict(zip(keys, said, strict=True))
    await _fill(vectors, wanted, embedder, store=store, advance=advance)
    if kept and _lengths(vectors) > 1:  # another model answers to that name by now
        vectors.clear()
        await _fill(vectors, wanted, embedder, store=store, advance=advance)
    if _lengths(vectors) > 1:
        raise _changed(embedder)
    return Meaning(embedder, Dense(_stacked([vectors[key] for key in keys])))


def done_without(error: ExploraError) -> str:
    """The sentence that says why an embedder is used no more, and what to do about it."""
    return f"{error.message} The built-in index is used instead. {error.remedy}".strip()


async def _fill(
    vectors: dict[str, Vector],
    wanted: Mapping[str, str],
    embedder: Embedder,
    *,
    store: Store,
    advance: Callable[[int], None],
) -> None:
    """Embed the texts that have no vector yet, and keep each batch."""
    todo = [key for key in wanted if key not in vectors]
    for at in range(0, len(todo), _BATCH):
        advance(len(wanted) - len(todo) + at)
        some = todo[at : at + _BATCH]
        rows = np.asarray(await embedder.embed([wanted[key] for key in some]), dtype=np.float32)
        fresh = dict(zip(some, rows, strict=True))
        vectors |= fresh
        await anyio.to_thread.run_sync(store.put_many, "vector", {key: row.tobytes() for key, row in fresh.items()})


def _lengths(vectors: Mapping[str, Vector]) -> int:
    return len({len(row) for row in vectors.values()})


def _changed(embedder: Embedder) -> EndpointError:
    return EndpointError(
        f"The embedding model {embedder.name!r} gives vectors of several lengths.",
        remedy="Let its name stand for one model, or leave the embedding model out.",
    )


def _stacked(rows: Sequence[Vector]) -> Vector:
    return np.stack(rows) if rows else np.zeros((0, 1), dtype=np.float32)
