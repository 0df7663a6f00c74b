"""The libraries of a task, read, indexed and searchable: the `Knowledge` port.

Opening finds the libraries in the target's environment, reads the surface of each (or takes it from the cache, by
distribution, version and interpreter) and indexes them together (or reopens that index). All heavy work is done in
worker threads, so that it can be abandoned and progress keeps being shown.
"""

from __future__ import annotations

import zipfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
import numpy as np
from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import EndpointError, ExploraError
from exploracoder_jupyter.core.types import ApiDoc, Introduction, LibraryInfo, Overview, ScoredApi
from exploracoder_jupyter.knowledge.documents import DocumentSource, OpenReader, PageProcess
from exploracoder_jupyter.knowledge.extraction.api_source import source_of
from exploracoder_jupyter.knowledge.extraction.library_overview import overview
from exploracoder_jupyter.knowledge.extraction.library_reader import Libraries, Read, Reader, ShowProgress
from exploracoder_jupyter.knowledge.extraction.public_surface import Inspect
from exploracoder_jupyter.knowledge.knowledge_cache import Store, digest, pack, unpack
from exploracoder_jupyter.knowledge.search.api_index import FORMAT, Index
from exploracoder_jupyter.knowledge.search.dense_index import Embedder
from exploracoder_jupyter.knowledge.search.embedding_cache import Meaning, done_without, embedded
from exploracoder_jupyter.knowledge.search.latent_embedder import Latent

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
    """Reading it took, or reopening it where `cached`."""
    cached: bool


class Library:
    """Implements `pipeline.ports.Knowledge` for installed and documented libraries; made by `Library.open`."""

    def __init__(
        self,
        libraries: Libraries,
        index: Index,
        *,
        meaning: Meaning | None,
        store: Store,
        key: str,
        inspect: Inspect,
        say: Callable[[str], None],
        acquainted: bool,
    ) -> None:
        self._read = libraries.read
        self._documents = libraries.documents
        self._notices = libraries.notices
        self._unread = libraries.unread
        self._index = index
        self._meaning = meaning
        self._store = store
        self._key = key
        self._inspect = inspect
        self._say = say
        self._acquainted = acquainted
        self._sources: dict[str, str] = {}
        self._by_path = {api.path: api for api in index.apis}
        self._aliases: dict[str, str] = {}
        for one in libraries.read:
            self._aliases |= one.surface.aliases

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
        open_reader: OpenReader = PageProcess,
        say: Callable[[str], None] | None = None,
        acquainted: bool = True,
    ) -> Library:
        """Read and index the libraries of these names. Cancelling it leaves nothing behind but what is whole.

        `environment`: all that decides which interpreter `inspect` starts, and where that looks for libraries. Where it
        is given, which libraries these are is remembered until files of this machine change on which that rests.
        `docs`: documentation beside the libraries' own: files, folders, archives. A library that cannot be read here is
        known from them alone, where they describe it. `open_reader` opens what reads them, one by one. `say` is told,
        once, that the embedder has failed, now or in a later search, and that the built-in vectors take its place.
        `acquainted`: whether introductions are kept between runs.

        Raises:
            UsageError: a library is not installed, near names are in the remedy; or documents, or the embedder's own
                files, cannot be read.
            MissingMeans: a library cannot be imported.
            KernelError: the target's interpreter could not be started.
        """
        show = progress or (lambda what, done, total: None)
        say = say or (lambda sentence: None)
        store = Store(cache)
        found = await Reader(inspect, store, show, environment, open_reader).libraries(libraries, docs)
        apis = tuple({api.path: api for one in found.read for api in one.surface.apis}.values())
        key = digest(str(FORMAT), *sorted(found.keys))
        # A walk that its time limit cut short may find other APIs next time: the index is of these very paths.
        index = await _indexed(apis, digest(key, *(api.path for api in apis)), store=store, show=show)
        meaning = await _meaning(apis, embedder, store=store, show=show, say=say) if embedder else None
        return cls(found, index, meaning=meaning, store=store, key=key, inspect=inspect, say=say, acquainted=acquainted)

    @property
    def libraries(self) -> Sequence[LibraryInfo]:
        """What was found, in the order asked for."""
        return tuple(one.surface.info for one in self._read)

    @property
    def documents(self) -> DocumentSource | None:
        """The passages of the documents that were given, to be searched; None where none were."""
        return self._documents

    @property
    def latent(self) -> Latent:
        """The built-in embedder, fitted on the documentation of these libraries."""
        return self._index.latent

    @property
    def notices(self) -> Sequence[str]:
        """Sentences on documents that could not be read, and on libraries that only documents describe."""
        return self._notices

    @property
    def unread(self) -> Sequence[str]:
        """Import names of libraries that are installed, could not be imported to be read, and are described by
        documents alone. Experiments may be able to import them."""
        return self._unread

    @property
    def size(self) -> int:
        """How many APIs are indexed."""
        return len(self._index.apis)

    @property
    def apis(self) -> Sequence[ApiDoc]:
        """Everything that is indexed."""
        return self._index.apis

    async def search(self, query: str, k: int) -> Sequence[ScoredApi]:
        """The k APIs nearest to the query, best first; fewer when nothing else is near at all."""
        return await self._kindly(lambda meaning: self._index.search(query, k, meaning=meaning))

    async def search_together(self, queries: Sequence[str], k: int) -> Sequence[ScoredApi]:
        """The k APIs that serve these queries of one task best, best first: see `rank_fusion.together`."""
        return await self._kindly(lambda meaning: self._index.search_together(queries, k, meaning=meaning))

    async def _kindly(self, find: Callable[[Meaning | None], Awaitable[list[ScoredApi]]]) -> list[ScoredApi]:
        """What is found; once the embedder has failed, by the built-in vectors alone, so that no run ends of it."""
        meaning = self._meaning
        try:
            return await find(meaning)
        except ExploraError as error:
            if self._meaning:  # several searches may fail at once
                self._say(done_without(error))
            self._meaning = None
            return await find(None)

    def lookup(self, path: str) -> ApiDoc | None:
        """The API with this path, whether public, an alias, or below an alias."""
        found = self._by_path.get(path) or self._by_path.get(self._aliases.get(path, ""))
        if found or "." not in path:
            return found
        owner, _, name = path.rpartition(".")
        known = self.lookup(owner)
        return self.lookup(f"{known.path}.{name}") if known and known.path != owner else None

    async def source(self, path: str) -> str:
        """Source code of the API with this path, its beginning where it is long; empty where there is none to read."""
        api = self.lookup(path)
        if api is None:
            return ""
        if api.path not in self._sources:
            others = (alias for alias, known in self._aliases.items() if known == api.path)
            paths = [*dict.fromkeys((api.path, *api.aliases, *others))]
            self._sources[api.path] = await source_of(paths, inspect=self._inspect)
        return self._sources[api.path]

    def overview(self) -> Overview:
        """README text and example programs, then examples of the APIs most likely wanted."""
        wanted = [self._index.apis[int(row)] for row in np.argsort(-self._index.prior, kind="stable")]
        return overview([one.surface for one in self._read], wanted)

    def introduction(self, model: str) -> Introduction | None:
        """The introduction kept for these library versions and this model, if there is one."""
        body = self._store.get("introduction", digest(self._key, model)) if self._acquainted else None
        try:
            return _INTRODUCTION.validate_json(body) if body else None
        except ValidationError:
            return None

    def keep_introduction(self, model: str, introduction: Introduction) -> None:
        """Keep an introduction for later runs."""
        if self._acquainted:
            self._store.put("introduction", digest(self._key, model), _INTRODUCTION.dump_json(introduction))

    def report(self) -> tuple[LibraryReport, ...]:
        """One row for each library: what was found in it and how long that took."""
        return tuple(_report(one) for one in self._read)


async def _meaning(
    apis: Sequence[ApiDoc], embedder: Embedder, *, store: Store, show: ShowProgress, say: Callable[[str], None]
) -> Meaning | None:
    try:
        return await embedded(
            apis, embedder, store=store, advance=lambda done: show("Embedding the documentation", done, len(apis))
        )
    except EndpointError as error:
        say(done_without(error))
        return None


async def _indexed(apis: Sequence[ApiDoc], key: str, *, store: Store, show: ShowProgress) -> Index:
    kept = await anyio.to_thread.run_sync(_kept_index, apis, key, store, abandon_on_cancel=True)
    if kept:
        return kept
    show(f"Indexing the documentation of {len(apis):,} APIs", 0, 0)
    index = await anyio.to_thread.run_sync(Index.build, apis, abandon_on_cancel=True)
    await anyio.to_thread.run_sync(lambda: store.put("index", key, pack(index.arrays())))
    return index


def _kept_index(apis: Sequence[ApiDoc], key: str, store: Store) -> Index | None:
    body = store.get("index", key)
    try:
        return Index.reopen(apis, unpack(body)) if body else None
    except (KeyError, ValueError, zipfile.BadZipFile):
        return None


def _report(one: Read) -> LibraryReport:
    apis = one.surface.apis
    return LibraryReport(
        name=one.surface.info.name,
        version=one.surface.info.version,
        apis=len(apis),
        with_signature=_count(apis, lambda api: api.signature),
        with_docs=_count(apis, lambda api: api.description),
        with_examples=_count(apis, lambda api: api.examples),
        seconds=round(one.seconds, 3),
        cached=one.cached,
    )


def _count(apis: Sequence[ApiDoc], has: Callable[[ApiDoc], object]) -> int:
    return sum(bool(has(api)) for api in apis)
