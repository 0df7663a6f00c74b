"""Vectors of an external embedder for a collection of APIs, kept by content so that each text is sent once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray

from exploracoder_jupyter.knowledge import texts
from exploracoder_jupyter.knowledge.dense import Dense, Embedder
from exploracoder_jupyter.knowledge.store import Store, digest
from exploracoder_jupyter.types import ApiDoc

_BATCH = 256


@dataclass(frozen=True, slots=True)
class Meaning:
    """An embedder and the vectors it gave for the APIs, in their order."""

    embedder: Embedder
    dense: Dense

    async def scores(self, query: str, *, most: int) -> NDArray[np.float32]:
        """The cosine of each API that is among the `most` nearest; 0 for the others. Raises as the embedder does."""
        return self.dense.scores((await self.embedder.embed([query]))[0], most=most)


async def embedded(
    apis: Sequence[ApiDoc], embedder: Embedder, *, store: Store, advance: Callable[[int], None]
) -> Meaning:
    """The meaning of these APIs; `advance` is told how many have their vector. A cut-off keeps what it has.

    Raises:
        EndpointError: from the embedder.
    """
    said = [texts.described(api) for api in apis]
    keys = [digest(embedder.name, text) for text in said]
    kept = await anyio.to_thread.run_sync(store.get_many, "vector", keys)
    vectors = {key: np.frombuffer(body, dtype=np.float32) for key, body in kept.items()}
    missing = {key: text for key, text in zip(keys, said, strict=True) if key not in vectors}
    todo = list(missing)
    for at in range(0, len(todo), _BATCH):
        advance(len(said) - len(todo) + at)
        some = todo[at : at + _BATCH]
        rows = np.asarray(await embedder.embed([missing[key] for key in some]), dtype=np.float32)
        fresh = dict(zip(some, rows, strict=True))
        vectors |= fresh
        await anyio.to_thread.run_sync(store.put_many, "vector", {key: row.tobytes() for key, row in fresh.items()})
    return Meaning(embedder, Dense(_stacked([vectors[key] for key in keys])))


def _stacked(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.stack(rows) if rows else np.zeros((0, 1), dtype=np.float32)
