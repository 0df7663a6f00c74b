"""The libraries of a run, read or taken from the cache, with what documents add to them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread
from pydantic import TypeAdapter, ValidationError

from exploracoder_jupyter.core.errors import MissingMeans, UsageError
from exploracoder_jupyter.knowledge.documents import (
    Documents,
    DocumentSource,
    OpenReader,
    PageProcess,
    plain_names,
    read_documents,
)
from exploracoder_jupyter.knowledge.documents.document_merger import Absent, merged
from exploracoder_jupyter.knowledge.extraction import public_surface as surfaces
from exploracoder_jupyter.knowledge.extraction.library_name_cache import Remembered
from exploracoder_jupyter.knowledge.extraction.public_surface import Found, Inspect, Surface
from exploracoder_jupyter.knowledge.knowledge_cache import Store, digest

ShowProgress = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and of how much (0 when unknown)."""

_SURFACE: TypeAdapter[Surface] = TypeAdapter(Surface)


@dataclass(frozen=True, slots=True)
class Read:
    """One library, read."""

    surface: Surface
    seconds: float
    cached: bool


@dataclass(frozen=True, slots=True)
class Libraries:
    """The libraries of a run, in the order asked for."""

    read: tuple[Read, ...]
    keys: tuple[str, ...]
    """What they are of: the versions, the content of the documents."""
    documents: DocumentSource | None = None
    notices: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Import names of those that are installed and could not be imported to be read."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads libraries in the target's environment, and keeps what it read."""

    inspect: Inspect
    store: Store
    show: ShowProgress
    environment: str | None = None
    """What answers of its interpreter are remembered under (see `Remembered`); None: they are not."""
    open_reader: OpenReader = PageProcess
    """Opens what reads documents, one by one."""

    async def libraries(self, names: Sequence[str], docs: Sequence[Path]) -> Libraries:
        """The libraries of these names, with what the documents at these paths say.

        Raises:
            UsageError: a library is not installed and not described either, or documents cannot be read.
            MissingMeans: the same of a library that cannot be imported; or a kind of document needs another package.
            KernelError: the target's interpreter could not be started.
        """
        if not docs:
            found = await self._find(names)
            read = tuple([await self._one(one) for one in found])
            return Libraries(read, tuple(one.key for one in found), notices=_notices(read))
        documents = await self._documents(docs)
        rows: list[tuple[Read | Absent, str]] = [await self._perhaps(name) for name in names]
        rows = list({key: (one, key) for one, key in rows}.values())  # two names may be of one library
        return await anyio.to_thread.run_sync(self._joined, rows, documents, abandon_on_cancel=True)

    def _joined(self, rows: Sequence[tuple[Read | Absent, str]], documents: Documents) -> Libraries:
        parts = merged([one.surface if isinstance(one, Read) else one for one, _ in rows], documents)
        read = tuple(
            replace(one, surface=surface) if isinstance(one, Read) else Read(surface, 0.0, documents.reopened)
            for (one, _), surface in zip(rows, parts.surfaces, strict=True)
        )
        names = plain_names(api for one in read for api in one.surface.apis)
        source = DocumentSource(parts.passages, names=names, store=self.store)
        keys = (documents.digest, *(key for _, key in rows))
        return Libraries(read, keys, source, (*_notices(read), *parts.notices), parts.unread)

    async def _documents(self, docs: Sequence[Path]) -> Documents:
        def advance(done: int, total: int) -> None:
            self.show("Reading documents", done, total)

        advance(0, 0)
        with self.open_reader() as page_of:
            return await anyio.to_thread.run_sync(
                lambda: read_documents(docs, self.store, advance, read=page_of), abandon_on_cancel=True
            )

    async def _perhaps(self, name: str) -> tuple[Read | Absent, str]:
        """The library of this name, or why it cannot be read; and its key."""
        try:
            (found,) = await self._find([name])
            return await self._one(found), found.key
        except (UsageError, MissingMeans) as error:
            return Absent(name, error), f"absent {name}"

    async def _find(self, names: Sequence[str]) -> list[Found]:
        remembered = Remembered(self.store, self.environment) if self.environment else None
        return await surfaces.find(names, inspect=self.inspect, remembered=remembered)

    async def _one(self, found: Found) -> Read:
        began = time.monotonic()
        kept = await anyio.to_thread.run_sync(self._kept, found, abandon_on_cancel=True)
        if kept:
            return Read(kept, time.monotonic() - began, cached=True)
        what = f"Reading {found.name}"
        self.show(what, 0, 0)
        fresh = await surfaces.read(found, inspect=self.inspect, advance=lambda done: self.show(what, done, 0))
        if not fresh.cut:
            await anyio.to_thread.run_sync(self.store.put, "surface", digest(found.key), _SURFACE.dump_json(fresh))
        return Read(fresh, time.monotonic() - began, cached=False)

    def _kept(self, found: Found) -> Surface | None:
        body = self.store.get("surface", digest(found.key))
        try:
            return _SURFACE.validate_json(body) if body else None
        except ValidationError:
            return None


def _notices(read: Sequence[Read]) -> tuple[str, ...]:
    """Sentences on what the user should know of libraries that were read."""
    return tuple(
        f"Only type stubs of {one.surface.info.name!r} are installed. Its API is read from them, but code that uses it "
        "cannot run here: install the library itself."
        for one in read
        if one.surface.stubs
    )
