"""The web as a source: one query, one page (CoCoST, section 3.1.2), reduced to the sections relevant to the query."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from exploracoder_jupyter.core.types import Passage, ScoredPassage, SourceKind
from exploracoder_jupyter.text.characters import strip_invisible
from exploracoder_jupyter.text.lexical_index import LexicalIndex
from exploracoder_jupyter.web.fetching import WebCache, origin_of
from exploracoder_jupyter.web.reading import (
    Page,
    PageReader,
    SearchEngine,
    SearchHit,
    Section,
    WebError,
    extract_content,
)
from exploracoder_jupyter.web.search import sanitize_query

_MAX_HITS = 8
_MAX_PAGES_TRIED = 3
"""How many hits of a search are tried until a page has usable text."""
_MAX_QUERIES = 20
_MAX_FAILURES = 2
_TITLE_CHARS, _LICENCE_CHARS, _SUMMARY_CHARS = 120, 120, 500
_ANCHOR = re.compile(r"[\w.:-]{1,120}")
_SECONDS = 9.0
"""Time limit for one search; if pages take longer, the search engine's summaries are used."""


class WebSource:
    """Passages of pages that a search engine finds; satisfies `pipeline.ports.Source`.

    `name` separates the cached results of different engines. `say` receives each message about failures once; `clean`
    removes known secrets from a query.
    """

    kind: SourceKind = "web"

    def __init__(
        self,
        find: SearchEngine,
        read: PageReader,
        cache: WebCache | None,
        *,
        name: str,
        say: Callable[[str], None],
        clean: Callable[[str], str] = str,
    ) -> None:
        self._find = find
        self._read = read
        self._cache = cache
        self._name = name
        self._say = say
        self._clean = clean
        self._warned: set[str] = set()
        self._left = _MAX_QUERIES
        self._failures = 0
        self._lock = anyio.Lock()

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """Return at most k passages of the first page that yields some, best first; empty if there are none."""
        sanitized = sanitize_query(self._clean(query))
        if not sanitized or k < 1:
            return ()
        async with self._lock:  # one at a time: identical queries are sent once, and hosts are not overloaded
            try:
                found = await self._search(sanitized)
            except WebError as error:
                return self._failed(str(error))
            except Exception as error:  # a source must never end a run
                return self._failed(f"The web search failed ({type(error).__name__}).")
        return [ScoredPassage(passage, 1 / rank) for rank, passage in enumerate(found[:k], 1)]

    async def _search(self, query: str) -> list[Passage]:
        hits: list[SearchHit] = []
        with anyio.move_on_after(_SECONDS) as scope:
            hits = await self._find_hits(query)
            if passages := await self._first_passages(hits[:_MAX_PAGES_TRIED], query):
                return passages
        if scope.cancelled_caught and not hits:
            raise WebError(f"Searching the web timed out after {_SECONDS:g} s.")
        summaries = []
        for hit in hits[:_MAX_PAGES_TRIED]:
            if hit.summary and origin_of(hit.address):
                host = urlsplit(hit.address).hostname or ""
                title = f"{_clean_line(hit.title, _TITLE_CHARS)} ({host}, as the search engine shows it)"
                summaries.append(Passage("web", title, _clean_line(hit.summary, _SUMMARY_CHARS), hit.address))
        return summaries

    async def _first_passages(self, hits: Sequence[SearchHit], query: str) -> list[Passage]:
        for hit in hits:
            try:
                page = await self._read(hit.address)
            except WebError:
                continue  # try the next hit; sites often refuse robots
            passages = await anyio.to_thread.run_sync(_passages, page, hit, query, abandon_on_cancel=True)
            if passages:
                return passages
        return []

    async def _find_hits(self, query: str) -> list[SearchHit]:
        cached = await anyio.to_thread.run_sync(self._cache.get, "hits", self._name, query) if self._cache else None
        if cached is not None:
            return [SearchHit(**item) for item in json.loads(cached)]
        if self._failures >= _MAX_FAILURES:
            return []
        if self._left <= 0:
            self._warn_once(f"The web was searched {_MAX_QUERIES} times in this run, which is the limit.")
            return []
        self._left -= 1
        hits = list(await self._find(query, _MAX_HITS))
        self._failures = 0
        if hits and self._cache:
            body = json.dumps([asdict(hit) for hit in hits])
            await anyio.to_thread.run_sync(self._cache.put, body, "hits", self._name, query)
        return hits

    def _failed(self, message: str) -> tuple[ScoredPassage, ...]:
        self._warn_once(message)
        self._failures += 1
        if self._failures >= _MAX_FAILURES:
            self._warn_once(f"Searching the web failed {_MAX_FAILURES} times in a row; it is disabled for this run.")
        return ()

    def _warn_once(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            self._say(message)


def _passages(page: Page, hit: SearchHit, query: str) -> list[Passage]:
    content = extract_content(page)
    found: Sequence[Section] = content.sections
    if not content.ordered:
        index = LexicalIndex.build([f"{section.title} {section.text}" for section in found])
        found = [found[row] for row in index.best(query)]
    title = _clean_line(content.title or hit.title, _TITLE_CHARS)
    seen: Counter[str] = Counter()
    passages = []
    for section in found:
        place = section.anchor if origin_of(section.anchor) else page.address
        if _ANCHOR.fullmatch(section.anchor) and place == page.address:
            place = f"{page.address}#{section.anchor}"
        seen[place] += 1
        passages.append(_passage(section, title, place if seen[place] == 1 else f"{place} ({seen[place]})"))
    return passages


def _passage(section: Section, page: str, place: str) -> Passage:
    own = _clean_line(section.title, _TITLE_CHARS)
    title = (own or page) if page in own or own in page else f"{page}: {own}"
    licence = _clean_line(section.licence, _LICENCE_CHARS)
    return Passage("web", title, section.text, place, section.apis, licence=licence)


def _clean_line(text: str, max_chars: int) -> str:
    return " ".join(strip_invisible(text).split())[:max_chars]
