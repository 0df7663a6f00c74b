"""Dense vectors from an OpenAI-compatible endpoint.

Invalid vectors raise `EndpointError`, so that the caller can fall back to its own embedder.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, TypeGuard

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.endpoint_settings import Endpoint
from exploracoder_jupyter.core.configuration.settings_sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.llm.endpoint.endpoint_connection import Connection, ConnectionUser
from exploracoder_jupyter.llm.endpoint.exchange_traffic import Report
from exploracoder_jupyter.llm.endpoint.fault_messages import Fault
from exploracoder_jupyter.llm.endpoint.tolerant_json import as_count, as_list, as_object

if TYPE_CHECKING:
    import httpx2
    import numpy as np
    import numpy.typing as npt

_BATCH_SIZE = 128
_MAX_CHARACTERS = 6000
"""Characters embedded of each text: models accept at least 2,000 tokens, and a text's start gives its topic."""


class EndpointEmbedder(ConnectionUser):
    """Embeds with the endpoint's `embedding_model`. Close it, or use it as an async context. Raises UsageError if no
    embedding model is set, or `base_url` is not an address; EndpointError if there is no key for OpenAI's own address,
    or the key is invalid.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        secrets: Secrets,
        *,
        report: Report | None = None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        if not endpoint.embedding_model:
            raise UsageError("No embedding model is set.", remedy="Set embedding_model in the configuration.")
        self._connection = Connection(
            endpoint, secrets, model=endpoint.embedding_model, report=report, http_client=http_client
        )
        self.name = f"{endpoint.embedding_model} at {self._connection.target.url}"
        """Model and address. Vectors with different names must not be mixed."""

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return vectors of the texts, shape (n, d), in the same order; not normalized. Raises EndpointError if the
        endpoint has no embeddings, refused, cannot be reached, or sent invalid vectors.
        """
        import numpy as np

        rows: list[Sequence[float]] = []
        for start in range(0, len(texts), _BATCH_SIZE):
            rows += await self._batch(texts[start : start + _BATCH_SIZE])
        if len({len(row) for row in rows}) > 1:
            raise self._invalid_vectors()
        try:
            with np.errstate(over="ignore"):
                vectors = np.asarray(rows, dtype=np.float32).reshape(len(rows), -1 if rows else 0)
        except OverflowError:  # an integer beyond the range of floats
            raise self._invalid_vectors() from None
        if not np.isfinite(vectors).all():
            raise self._invalid_vectors()
        return vectors

    async def _batch(self, texts: Sequence[str]) -> list[Sequence[float]]:
        # Some servers reject empty texts.
        answer = await self._connection.embeddings([text[:_MAX_CHARACTERS] or " " for text in texts])
        if isinstance(answer, Fault):
            raise await self._connection.to_error(answer)
        rows = self._rows(answer)
        if len(rows) != len(texts):
            raise self._invalid_vectors()
        return rows

    def _rows(self, answer: JsonValue) -> list[Sequence[float]]:
        found = []
        for item in map(as_object, as_list(as_object(answer).get("data"))):
            index, vector = item.get("index", 0), item.get("embedding")
            if not _is_vector(vector) or as_count(index, _BATCH_SIZE) is None:
                raise self._invalid_vectors()
            found.append((index, vector))
        return [vector for _, vector in sorted(found, key=itemgetter(0))]

    def _invalid_vectors(self) -> EndpointError:
        target = self._connection.target
        return EndpointError(
            f"{target.url} sent invalid vectors for {target.model!r}.", remedy="Check embedding_model, or remove it."
        )


def _is_vector(value: JsonValue) -> TypeGuard[list[float]]:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(number, (int, float)) for number in value)
