"""Dense vectors, from an endpoint or from a model in a local folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import anyio.to_thread
from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError, MissingRequirement, UsageError
from exploracoder_jupyter.llm.endpoint.connection import Connection, ConnectionUser
from exploracoder_jupyter.llm.endpoint.exchanges import Report, as_count, as_list, as_object
from exploracoder_jupyter.llm.endpoint.faults import Fault

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from exploracoder_jupyter.core.http_client import httpx


# Dense vectors from an OpenAI-compatible endpoint.
#
# Invalid vectors raise `EndpointError`, so that the caller can fall back to its own embedder.

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
        http_client: httpx.AsyncClient | None = None,
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


# Dense vectors from a model in a local folder: sentence-transformers, or model2vec.
#
# The libraries are large and optional, so they are imported on first use, in a worker thread of the engine's
# process. Nothing is ever downloaded: an incomplete folder is rejected.

_DIGEST_BYTES = 2**20
"""Bytes of each file that, with its name and size, identify a model: weights differ from their first bytes on."""
_REMEDY = "Set embedding_folder to a folder with the whole model, or remove the setting."


class LocalEmbedder:
    """A model in a folder; loaded when the first texts are embedded. Raises UsageError if there is no such folder, or
    no model in it; MissingRequirement if the library that reads it is not installed in the engine's environment.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._package = _find_package(folder)
        self._encode: Callable[[list[str]], Any] | None = None
        self._require_package()
        self.name = f"{folder.name} {_digest(folder)}"
        """Name of the folder and digest of its content. Vectors with different names must not be mixed."""

    async def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return vectors of the texts, shape (n, d), in the same order; not normalized. Raises UsageError if the folder
        contains no model that can be loaded; EndpointError if the model failed, or returned invalid vectors.
        """
        return await anyio.to_thread.run_sync(self._embed_sync, list(texts), abandon_on_cancel=True)

    def _embed_sync(self, texts: list[str]) -> npt.NDArray[np.float32]:
        self._encode = self._encode or self._load()
        try:
            return _validate_vectors(self._encode(texts), len(texts))
        except BaseException as error:  # a panic in compiled code is not an Exception; nothing interrupts this thread
            raise EndpointError(
                f"The embedding model in {str(self._folder)!r} failed: {_first_line(error)}", remedy=_REMEDY
            ) from error

    def _require_package(self) -> None:
        from importlib.util import find_spec

        if find_spec(self._package) is None:
            wanted = self._package.replace("_", "-")
            raise MissingRequirement(
                f"The embedding model in {str(self._folder)!r} needs {wanted}.",
                remedy=f"Install it in the engine's environment: pip install {wanted}.",
            )

    def _load(self) -> Callable[[list[str]], Any]:
        os.environ["HF_HUB_OFFLINE"] = "1"  # read when the hub's client is imported; only used here
        load = _model2vec if self._package == "model2vec" else _sentence_transformers
        try:
            return load(str(self._folder))
        except BaseException as error:  # anything that either library raises for an unreadable folder, also panics
            raise UsageError(
                f"No embedding model can be read from {str(self._folder)!r}: {_first_line(error)}", remedy=_REMEDY
            ) from error


def _validate_vectors(result: object, count: int) -> npt.NDArray[np.float32]:
    import numpy as np

    vectors = np.asarray(result, dtype=np.float32)
    if not count:
        return vectors.reshape(0, 0)
    if vectors.ndim != 2 or len(vectors) != count or not vectors.size or not np.isfinite(vectors).all():
        raise ValueError(f"invalid vectors for {count} texts")
    return vectors


def _first_line(error: BaseException) -> str:
    line = next(iter(str(error).splitlines()), "").rstrip(".") or type(error).__name__
    return f"{line}."


def _model2vec(folder: str) -> Callable[[list[str]], Any]:
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(folder)
    return lambda texts: model.encode(texts, use_multiprocessing=False)


def _sentence_transformers(folder: str) -> Callable[[list[str]], Any]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, local_files_only=True)
    return lambda texts: model.encode(texts, show_progress_bar=False)


def _find_package(folder: Path) -> str:
    try:
        files = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise UsageError(
            f"There is no folder {str(folder)!r} to take an embedding model from.", remedy=_REMEDY
        ) from error
    if not files & {"modules.json", "config.json"}:
        raise UsageError(f"The folder {str(folder)!r} contains no embedding model.", remedy=_REMEDY)
    return "model2vec" if _is_static(folder / "config.json") else "sentence_transformers"


def _is_static(config: Path) -> bool:
    """Whether model2vec wrote the file: it sets its name or, in older versions, `normalize` without `architectures`."""
    try:
        content = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and (
        content.get("model_type") == "model2vec" or ("normalize" in content and "architectures" not in content)
    )


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(_DIGEST_BYTES))
    return digest.hexdigest()[:16]
