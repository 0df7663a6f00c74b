"""The libraries of a task, read, indexed and searchable: implements the `Knowledge` port.

Opening finds the libraries in the target's environment, reads the surface of each (or loads it from the cache, by
distribution, version and interpreter) and indexes them together (or reopens that index). Heavy work runs in worker
threads, so that it can be abandoned and progress keeps updating.
"""

from __future__ import annotations

import zipfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
import numpy as np
from pydantic import TypeAdapter

from exploracoder_jupyter.core.errors import EndpointError, ExploraError
from exploracoder_jupyter.core.types import ApiDoc, Introduction, Overview, ScoredApi
from exploracoder_jupyter.knowledge.extraction.library_reader import (
    LibraryReader,
    LoadedLibraries,
    ShowProgress,
    build_overview,
)
from exploracoder_jupyter.knowledge.extraction.library_surface import Inspect
from exploracoder_jupyter.knowledge.extraction.library_walk import read_source
from exploracoder_jupyter.knowledge.knowledge_cache import (
    KnowledgeCache,
    digest,
    pack_arrays,
    parse_stored,
    unpack_arrays,
)
from exploracoder_jupyter.knowledge.search.api_index import FORMAT, ApiIndex
from exploracoder_jupyter.knowledge.search.vectors import ApiEmbeddings, Embedder, embed_apis, embedder_fallback_message

if TYPE_CHECKING:
    from exploracoder_jupyter.knowledge.documents.document_source import DocumentSource

_INTRODUCTION: TypeAdapter[Introduction] = TypeAdapter(Introduction)


@dataclass(frozen=True, slots=True)
class LibraryReport:
    """One row of `jupyter explora index --json`."""

    name: str
    version: str
    apis: int
    with_signature: int
    with_docs: int
    with_examples: int
    seconds: float
    """How long reading it took, or reopening it if `cached`."""
    cached: bool


class TaskLibraries:
    """Implements `pipeline.ports.Knowledge` for installed and documented libraries. Created by `open`."""

    def __init__(
        self,
        libraries: LoadedLibraries,
        index: ApiIndex,
        *,
        meaning: ApiEmbeddings | None,
        store: KnowledgeCache,
        key: str,
        inspect: Inspect,
        say: Callable[[str], None],
        store_introductions: bool,
    ) -> None:
        self._loaded = libraries
        self.libraries = tuple(one.surface.info for one in libraries.read)
        """In the order requested."""
        self.notices = libraries.notices
        """Messages about documents that could not be read and about libraries described only by documents."""
        self.unread = libraries.unread
        """Import names of installed libraries that could not be imported here; experiments may be able to."""
        self.origins = {one.surface.info.name: one.origin for one in libraries.read if one.origin}
        """The file from which each library comes whose APIs were read; see `locations.module_origin`."""
        self.apis = index.apis
        self.size = len(index.apis)
        self._index = index
        self._embeddings = meaning
        self._store = store
        self._key = key
        self._inspect = inspect
        self._say = say
        self._store_introductions = store_introductions
        self._sources: dict[str, str] = {}
        self._by_path = {api.path: api for api in index.apis}
        self._aliases = {alias: path for one in libraries.read for alias, path in one.surface.aliases.items()}

    @classmethod
    async def open(
        cls,
        libraries: Sequence[str],
        *,
        inspect: Inspect,
        cache: Path,
        environment: str | None = None,
        embedder: Embedder | None = None,
        progress: ShowProgress | None = None,
        docs: Sequence[Path] = (),
        say: Callable[[str], None] | None = None,
        store_introductions: bool = True,
    ) -> TaskLibraries:
        """Read and index the libraries of these names. Cancelling leaves only complete cache entries behind.

        `environment`: everything that determines which interpreter `inspect` starts and where that looks for libraries.
        If given, the answer to which libraries these are is cached until the files of this machine that determine it
        change.

        `docs`: files, folders or archives of documentation besides the libraries' own. A library that cannot be read
        here is known from them alone, if they describe it.

        `say`: receives one message when the embedder fails, now or in a later search, and the built-in vectors replace
        it.

        `store_introductions`: whether introductions are cached between runs.

        Raises UsageError if a library is not installed (the remedy suggests similar names), or documents or the
        embedder's own files cannot be read; MissingRequirement if a library cannot be imported; KernelError if the
        target's interpreter cannot be started.
        """
        show = progress or (lambda what, done, total: None)
        say = say or (lambda sentence: None)
        store = KnowledgeCache(cache)
        found = await LibraryReader(inspect, store, show, environment).libraries(libraries, docs)
        apis = tuple({api.path: api for one in found.read for api in one.surface.apis}.values())
        key = digest(str(FORMAT), *sorted(found.keys))
        # A walk cut short by its time limit may find other APIs next time, so the index is keyed by these exact paths.
        introduction = "\n".join(
            text for one in found.read for text in (one.surface.introduction, *one.surface.programs)
        )
        index = await _open_index(apis, introduction, digest(key, *(api.path for api in apis)), store=store, show=show)
        meaning = await _embeddings(apis, embedder, store=store, show=show, say=say) if embedder else None
        return cls(
            found,
            index,
            meaning=meaning,
            store=store,
            key=key,
            inspect=inspect,
            say=say,
            store_introductions=store_introductions,
        )

    @property
    def documents(self) -> DocumentSource | None:
        """The searchable passages of the given documents and of those that the libraries ship; None without any."""
        from exploracoder_jupyter.knowledge.documents.document_source import (
            DocumentSource,
            guide_passages,
            unambiguous_names,
        )

        shipped = [passage for one in self._loaded.read for passage in guide_passages(one.surface)]
        given, names = self._loaded.passages, unambiguous_names(self._index.apis)
        return DocumentSource(given, names=names, store=self._store, shipped=shipped) if given or shipped else None

    async def search(self, query: str, k: int) -> Sequence[ScoredApi]:
        """Return the k APIs most relevant to the query, best first; fewer if nothing else is relevant."""
        return await self._with_fallback(lambda meaning: self._index.search(query, k, meaning=meaning))

    async def search_together(self, queries: Sequence[str], k: int) -> Sequence[ScoredApi]:
        """Return the k APIs that best serve these queries of one task, best first; see `api_index`."""
        return await self._with_fallback(lambda meaning: self._index.search_together(queries, k, meaning=meaning))

    async def _with_fallback(
        self, find: Callable[[ApiEmbeddings | None], Awaitable[list[ScoredApi]]]
    ) -> list[ScoredApi]:
        """Run a search, falling back to the built-in vectors if the embedder fails.

        The fallback then applies to all later searches, so that no run ends because of the embedder.
        """
        meaning = self._embeddings
        try:
            return await find(meaning)
        except ExploraError as error:
            if self._embeddings:  # report once, even if several searches fail at the same time
                self._say(embedder_fallback_message(error))
            self._embeddings = None
            return await find(None)

    def lookup(self, path: str) -> ApiDoc | None:
        """Return the API with this path, whether public, an alias, or below an alias."""
        found = self._by_path.get(path) or self._by_path.get(self._aliases.get(path, ""))
        if found or "." not in path:
            return found
        owner, _, name = path.rpartition(".")
        known = self.lookup(owner)
        return self.lookup(f"{known.path}.{name}") if known and known.path != owner else None

    async def source(self, path: str) -> str:
        """Return the source code of the API with this path, truncated if long; empty if it cannot be read."""
        api = self.lookup(path)
        if api is None:
            return ""
        if api.path not in self._sources:
            others = (alias for alias, known in self._aliases.items() if known == api.path)
            paths = [*dict.fromkeys((api.path, *api.aliases, *others))]
            self._sources[api.path] = await read_source(paths, inspect=self._inspect)
        return self._sources[api.path]

    def overview(self) -> Overview:
        """Return README text and example programs, then examples of the APIs most likely wanted."""
        wanted = [self._index.apis[int(row)] for row in np.argsort(-self._index.prior, kind="stable")]
        return build_overview([one.surface for one in self._loaded.read], wanted)

    def introduction(self, model: str) -> Introduction | None:
        """Return the introduction cached for these library versions and this model, if any."""
        body = self._store.get("introduction", digest(self._key, model)) if self._store_introductions else None
        return parse_stored(_INTRODUCTION, body)

    def keep_introduction(self, model: str, introduction: Introduction) -> None:
        """Cache an introduction for later runs."""
        if self._store_introductions:
            self._store.put("introduction", digest(self._key, model), _INTRODUCTION.dump_json(introduction))

    def report(self) -> tuple[LibraryReport, ...]:
        """Return one row for each library: what was found in it and how long that took."""
        return tuple(
            LibraryReport(
                name=one.surface.info.name,
                version=one.surface.info.version,
                apis=len(one.surface.apis),
                with_signature=sum(bool(api.signature) for api in one.surface.apis),
                with_docs=sum(bool(api.description) for api in one.surface.apis),
                with_examples=sum(bool(api.examples) for api in one.surface.apis),
                seconds=round(one.seconds, 3),
                cached=one.cached,
            )
            for one in self._loaded.read
        )


async def _embeddings(
    apis: Sequence[ApiDoc], embedder: Embedder, *, store: KnowledgeCache, show: ShowProgress, say: Callable[[str], None]
) -> ApiEmbeddings | None:
    try:
        return await embed_apis(
            apis, embedder, store=store, advance=lambda done: show("Embedding the documentation", done, len(apis))
        )
    except EndpointError as error:
        say(embedder_fallback_message(error))
        return None


async def _open_index(
    apis: Sequence[ApiDoc], introduction: str, key: str, *, store: KnowledgeCache, show: ShowProgress
) -> ApiIndex:
    cached = await anyio.to_thread.run_sync(_cached_index, apis, key, store, abandon_on_cancel=True)
    if cached:
        return cached
    if apis:  # a run in a repository has none
        show(f"Indexing the documentation of {len(apis):,} APIs", 0, 0)
    index = await anyio.to_thread.run_sync(ApiIndex.build, apis, introduction, abandon_on_cancel=True)
    await anyio.to_thread.run_sync(lambda: store.put("index", key, pack_arrays(index.arrays())))
    return index


def _cached_index(apis: Sequence[ApiDoc], key: str, store: KnowledgeCache) -> ApiIndex | None:
    body = store.get("index", key)
    try:
        return ApiIndex.reopen(apis, unpack_arrays(body)) if body else None
    except (KeyError, ValueError, zipfile.BadZipFile):
        return None
