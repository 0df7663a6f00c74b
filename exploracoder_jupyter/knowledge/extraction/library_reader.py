"""Reads the libraries of a run, or loads them from the cache, and adds what documents describe."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
from pydantic import TypeAdapter

from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.core.messages import plural
from exploracoder_jupyter.core.types import ApiDoc, Overview, Passage
from exploracoder_jupyter.knowledge.extraction import library_surface as surfaces
from exploracoder_jupyter.knowledge.extraction.library_surface import Inspect, LibraryNameCache, Surface
from exploracoder_jupyter.knowledge.extraction.library_walk import About
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache, digest, parse_stored
from exploracoder_jupyter.pipeline.concurrency import task_group

if TYPE_CHECKING:
    from exploracoder_jupyter.knowledge.documents.documents import Documents


# Collects the input for a library's introduction: its README as prose, and programs that use it.

_HEADING = re.compile(
    r"^(?:(?P<marks>#{1,6})[ \t]+(?P<title>\S[^\n]*)|(?P<lined>\w[^\n]*)\n(?P<line>[=~^*-])(?P=line){2,}[ \t]*$)",
    re.MULTILINE,
)
"""The beginning of a section in Markdown or reST."""
_FORMALITY = re.compile(
    r"\b(?:licen[cs](?:es?|ing)|copyright|governance|code of conduct|contribut(?:ing|ors?|ions?)|cit(?:e|ing|ations?)"
    r"|bibtex|funding|sponsors?|donat(?:e|ions?)|acknowledge?ments?|credits|changelog|release notes)\b",
    re.IGNORECASE,
)
_LONGEST_FORMALITY = 40
"""Characters of a heading; a longer one is about something."""
_BIBTEX = re.compile(
    r"^(?P<fence>```+)[^\n]*\n\s*@\w+\{.*?^(?P=fence)[ \t]*$|^[ \t]*@\w+\{.*?^[ \t]*\}[ \t]*$", re.MULTILINE | re.DOTALL
)
_MAX_README_CHARS = 12_000
_MAX_PROGRAMS = 40
_MAX_PROGRAM_CHARS = 2_500
_MIN_PROGRAM_CHARS = 20


def build_overview(surfaces: Sequence[Surface], wanted: Sequence[ApiDoc]) -> Overview:
    """Build the overview of the libraries; a paragraph that several have in common is given once.

    If they ship few example programs, examples of the `wanted` APIs are added after them. Libraries take turns, and so
    do the modules of the wanted APIs, so that the first examples come from everywhere.
    """
    share = _MAX_README_CHARS // max(len(surfaces), 1)
    texts = []
    for surface, text in zip(surfaces, _own_texts(surfaces), strict=True):
        start = text if len(text) <= share else text[:share].rpartition("\n\n")[0] or text[:share]
        texts.append(f"# {surface.info.titled}\n\n{start}".strip())
    shipped = take_turns([_fitting(surface.programs) for surface in surfaces])
    by_module: dict[str, list[str]] = {}
    for api in wanted:
        by_module.setdefault(".".join(api.path.split(".")[:2]), []).extend(_fitting(api.examples[-1:]))
    documented = take_turns(list(by_module.values()))
    return Overview("\n\n".join(filter(None, texts)), tuple(dict.fromkeys((*shipped, *documented)))[:_MAX_PROGRAMS])


def take_turns(groups: Sequence[Sequence[str]]) -> list[str]:
    """Return the first text of each group, then the second ones, and so on."""
    return [text for row in zip_longest(*groups) for text in row if text is not None]


def _fitting(programs: Sequence[str]) -> list[str]:
    return [code for code in programs if _MIN_PROGRAM_CHARS <= len(code) <= _MAX_PROGRAM_CHARS]


def _own_texts(surfaces: Sequence[Surface]) -> Iterator[str]:
    """Yield the introduction of each library without the paragraphs of those before it."""
    known: set[str] = set()
    for surface in surfaces:
        paragraphs = _without_formalities(surface.introduction).split("\n\n")
        yield "\n\n".join(text for text in paragraphs if text not in known)
        known.update(paragraphs)


def _without_formalities(text: str) -> str:
    """Return a README without the sections on licence, governance, citation and the like, and without BibTeX."""
    text = _BIBTEX.sub("", text)
    headings = [*_HEADING.finditer(text)]
    kept, dropped = [text[: headings[0].start()] if headings else text], 0
    for place, found in enumerate(headings):
        title, level = found["title"] or found["lined"], _level(found)
        if not dropped or level <= dropped:  # the first heading is the name of the library
            formal = place > 0 and len(title) <= _LONGEST_FORMALITY and _FORMALITY.search(title)
            dropped = level if formal else 0
        if not dropped:
            end = headings[place + 1].start() if place + 1 < len(headings) else None
            kept.append(text[found.start() : end])
    return "".join(kept).strip()


def _level(heading: re.Match[str]) -> int:
    return len(heading["marks"]) if heading["marks"] else 1 if heading["line"] == "=" else 2


ShowProgress = Callable[[str, int, int], None]
"""Called with the current activity, how much of it is done, and the total (0 if unknown)."""

_FIRST_WAIT, _WAIT_STEP = 3.0, 10.0
"""Seconds without anything new after which that is shown, and is shown again."""
_MAX_NAMED = 3
"""Submodules that a notice names."""
_SURFACE: TypeAdapter[Surface] = TypeAdapter(Surface)


@dataclass(frozen=True, slots=True)
class LoadedLibrary:
    """A library that was read or loaded from the cache."""

    surface: Surface
    seconds: float
    cached: bool
    origin: str = ""
    """The file that was read, or that the read APIs belong to; see `About.origin`."""


@dataclass(frozen=True, slots=True)
class LoadedLibraries:
    """The libraries of a run, in the order requested."""

    read: tuple[LoadedLibrary, ...]
    keys: tuple[str, ...]
    """Identify what was read: the library versions and the content of the documents."""
    passages: tuple[Passage, ...] = ()
    notices: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Import names of libraries that are installed but could not be imported."""


@dataclass(frozen=True, slots=True)
class LibraryReader:
    """Reads libraries in the target's environment and caches the results."""

    inspect: Inspect
    store: KnowledgeCache
    show: ShowProgress
    environment: str | None = None
    """Cache key for the interpreter's answers (see `LibraryNameCache`); None disables that cache."""

    async def libraries(self, names: Sequence[str], docs: Sequence[Path]) -> LoadedLibraries:
        """Read the libraries of these names, together with the documents at these paths. Raises UsageError if a library
        is neither installed nor described by the documents, or documents cannot be read; MissingRequirement if a
        library can be neither imported nor found in the documents, or a kind of document needs another package;
        KernelError if the target's interpreter cannot be started.
        """
        if not docs:
            found = await self._find_libraries(names)
            read = tuple([await self._load(one) for one in found])
            return LoadedLibraries(read, tuple(one.key for one in found), notices=_notices(read))
        from exploracoder_jupyter.knowledge.documents.documents import MissingLibrary, merge_documents

        documents = await self._read_documents(docs)
        rows: dict[str, LoadedLibrary | MissingLibrary] = {}  # by key: two names may refer to one library
        for name in names:
            try:
                (library,) = await self._find_libraries([name])
                rows[library.key] = await self._load(library)
            except (UsageError, MissingRequirement) as error:
                rows[f"absent {name}"] = MissingLibrary(name, error)
        surfaces = [one.surface if isinstance(one, LoadedLibrary) else one for one in rows.values()]
        parts = await anyio.to_thread.run_sync(merge_documents, surfaces, documents, abandon_on_cancel=True)
        read = tuple(
            replace(one, surface=surface)
            if isinstance(one, LoadedLibrary)
            else LoadedLibrary(surface, 0.0, documents.reopened)
            for one, surface in zip(rows.values(), parts.surfaces, strict=True)
        )
        notices = (*_notices(read), *parts.notices)
        return LoadedLibraries(read, (documents.digest, *rows), parts.passages, notices, parts.unread)

    async def _read_documents(self, docs: Sequence[Path]) -> Documents:
        from exploracoder_jupyter.knowledge.documents.document_source import read_documents
        from exploracoder_jupyter.knowledge.documents.reading_process import PageProcess

        def advance(done: int, total: int) -> None:
            self.show("Reading documents", done, total)

        advance(0, 0)
        with PageProcess() as read_page:
            return await anyio.to_thread.run_sync(
                lambda: read_documents(docs, self.store, advance, read=read_page), abandon_on_cancel=True
            )

    async def _find_libraries(self, names: Sequence[str]) -> list[About]:
        remembered = LibraryNameCache(self.store, self.environment) if self.environment else None
        return await surfaces.find_libraries(names, inspect=self.inspect, remembered=remembered)

    async def _load(self, found: About) -> LoadedLibrary:
        began = time.monotonic()
        cached = await anyio.to_thread.run_sync(self._cached_surface, found, abandon_on_cancel=True)
        if cached:
            return LoadedLibrary(cached, time.monotonic() - began, cached=True, origin=found.origin)
        async with task_group() as group:
            progress = _Progress(found.name, self.show)
            group.start_soon(progress.show_waiting)
            fresh = await surfaces.read_surface(found, inspect=self.inspect, advance=progress.advance)
            group.cancel_scope.cancel()
        if not fresh.cut:
            await anyio.to_thread.run_sync(self.store.put, "surface", digest(found.key), _SURFACE.dump_json(fresh))
        return LoadedLibrary(fresh, time.monotonic() - began, cached=False, origin=found.origin)

    def _cached_surface(self, found: About) -> Surface | None:
        return parse_stored(_SURFACE, self.store.get("surface", digest(found.key)))


class _Progress:
    """Shows how far the reading of a library is, and for how long already where nothing new is found."""

    def __init__(self, name: str, show: ShowProgress) -> None:
        self._name, self._show, self._done, self._since = name, show, 0, time.monotonic()
        show(f"Reading {name}", 0, 0)

    def advance(self, done: int) -> None:
        self._done, self._since = done, time.monotonic()
        self._show(f"Reading {self._name}", done, 0)

    async def show_waiting(self) -> None:
        shown = 0.0
        while True:
            await anyio.sleep(1)
            silent = time.monotonic() - self._since
            if silent < shown:  # something was found meanwhile
                shown = 0.0
            if silent >= (shown + _WAIT_STEP if shown else _FIRST_WAIT):
                shown = silent
                doing = f"Reading {self._name}, nothing new" if self._done else f"Importing {self._name}"
                self._show(f"{doing} for {silent:.0f} s", self._done, 0)


def _notices(read: Sequence[LoadedLibrary]) -> tuple[str, ...]:
    gaps = (_unimported_notice(one.surface) for one in read if one.surface.unimported)
    return (*_stub_notices(read), *gaps)


def _unimported_notice(surface: Surface) -> str:
    """Name the submodules that are missing from the index, and why."""
    gaps, count = surface.unimported[:_MAX_NAMED], len(surface.unimported)
    named = "; ".join(f"{name} ({why.rstrip('.')})" for name, why in gaps)
    more = f"; and {count - len(gaps):,} more" if count > len(gaps) else ""
    what = plural(count, "submodule")
    return f"The index lacks {what} of {surface.info.name!r} that cannot be imported here: {named}{more}."


def _stub_notices(read: Sequence[LoadedLibrary]) -> tuple[str, ...]:
    return tuple(
        f"Only type stubs of {one.surface.info.name!r} are installed. Its API is read from the stubs, but code that "
        "uses it cannot run here. Install the library itself."
        for one in read
        if one.surface.stubs
    )
