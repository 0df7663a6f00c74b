"""The web as a source: one query, one page (CoCoST, section 3.1.2), told as the sections that the query is about."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from exploracoder_jupyter.core.types import Passage, ScoredPassage, SourceKind
from exploracoder_jupyter.web.fetching.public_addresses import origin_of
from exploracoder_jupyter.web.fetching.web_cache import Cache
from exploracoder_jupyter.web.outgoing_query import searchable
from exploracoder_jupyter.web.passage_ranking import Ranking
from exploracoder_jupyter.web.reading.hidden_elements import visible
from exploracoder_jupyter.web.reading.page_sections import Section
from exploracoder_jupyter.web.reading.site_rules import extract
from exploracoder_jupyter.web.web_types import Hit, Page, Provider, Reader, WebError

_PAGES = 3
"""Hits whose page is tried until one has a text."""
_HITS = 8
_QUERIES = 20
"""Searches in one run."""
_FAILURES = 2
"""Searches that fail one after the other before no more is tried."""
_TITLE, _LICENCE, _SUMMARY = 120, 120, 500
"""Characters."""
_ANCHOR = re.compile(r"[\w.:-]{1,120}")
_SECONDS = 9.0
"""For one search; pages that take longer make way for what the search engine shows."""


class WebSource:
    """Passages of pages that a search engine finds; satisfies `pipeline.ports.Source`.

    `name` tells kept results of one engine from those of another. `say` is told, once each, what a user should know of
    failures; `clean` takes known secrets out of a query.
    """

    def __init__(
        self,
        provider: Provider,
        reader: Reader,
        cache: Cache | None,
        *,
        name: str,
        say: Callable[[str], None],
        clean: Callable[[str], str] = str,
    ) -> None:
        self._provider = provider
        self._reader = reader
        self._cache = cache
        self._name = name
        self._say = say
        self._clean = clean
        self._said: set[str] = set()
        self._left = _QUERIES
        self._failures = 0
        self._lock = anyio.Lock()

    @property
    def kind(self) -> SourceKind:
        """`web`."""
        return "web"

    async def search(self, query: str, k: int) -> Sequence[ScoredPassage]:
        """At most k passages of the first page that yields some, best first; nothing where the web gives nothing."""
        asked = searchable(self._clean(query))
        if not asked or k < 1:
            return ()
        async with self._lock:  # one at a time: the same question is asked once, and no host is pressed
            try:
                found = await self._search(asked)
            except WebError as error:
                return self._failed(str(error))
            except Exception as error:  # a source never ends a run
                return self._failed(f"The web search failed ({type(error).__name__}).")
        return [ScoredPassage(passage, 1 / rank) for rank, passage in enumerate(found[:k], 1)]

    async def _search(self, query: str) -> list[Passage]:
        hits: list[Hit] = []
        with anyio.move_on_after(_SECONDS) as scope:
            hits = await self._hits(query)
            if passages := await self._told(hits[:_PAGES], query):
                return passages
        if scope.cancelled_caught and not hits:
            raise WebError(f"The web took longer than {_SECONDS:g} s to search.")
        return [_summary(hit) for hit in hits[:_PAGES] if hit.summary and origin_of(hit.address)]

    async def _told(self, hits: Sequence[Hit], query: str) -> list[Passage]:
        """The passages of the first page that has some."""
        for hit in hits:
            try:
                page = await self._reader.read(hit.address)
            except WebError:
                continue  # the next hit will do; sites refuse robots every day
            passages = await anyio.to_thread.run_sync(_passages, page, hit, query, abandon_on_cancel=True)
            if passages:
                return passages
        return []

    async def _hits(self, query: str) -> list[Hit]:
        kept = await anyio.to_thread.run_sync(self._cache.get, "hits", self._name, query) if self._cache else None
        if kept is not None:
            return [Hit(**item) for item in json.loads(kept)]
        if self._failures >= _FAILURES:
            return []
        if self._left <= 0:
            self._tell(f"The web was searched {_QUERIES} times in this run; no more is searched.")
            return []
        self._left -= 1
        hits = list(await self._provider.find(query, _HITS))
        self._failures = 0
        if hits and self._cache:
            body = json.dumps([asdict(hit) for hit in hits])
            await anyio.to_thread.run_sync(self._cache.put, body, "hits", self._name, query)
        return hits

    def _failed(self, sentence: str) -> tuple[ScoredPassage, ...]:
        """Nothing, which is said; after so many failures, that it is searched no more."""
        self._tell(sentence)
        self._failures += 1
        if self._failures >= _FAILURES:
            self._tell(f"The web failed {_FAILURES} times one after the other; it is searched no more in this run.")
        return ()

    def _tell(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._say(sentence)


def _passages(page: Page, hit: Hit, query: str) -> list[Passage]:
    told = extract(page)
    found = list(told.sections) if told.ordered else _about(query, told.sections)
    title = _line(told.title or hit.title, _TITLE)
    return [_passage(section, title, place) for section, place in _placed(found, page.address)]


def _about(query: str, found: Sequence[Section]) -> list[Section]:
    order = Ranking([f"{section.title} {section.text}" for section in found]).best(query)
    return [found[at] for at, _ in order]


def _placed(found: Sequence[Section], address: str) -> Iterator[tuple[Section, str]]:
    """Each section with its address, which no two share."""
    seen: Counter[str] = Counter()
    for section in found:
        place = section.anchor if origin_of(section.anchor) else address
        if _ANCHOR.fullmatch(section.anchor) and place == address:
            place = f"{address}#{section.anchor}"
        seen[place] += 1
        yield section, place if seen[place] == 1 else f"{place} ({seen[place]})"


def _passage(section: Section, page: str, place: str) -> Passage:
    own = _line(section.title, _TITLE)
    title = (own or page) if page in own or own in page else f"{page}: {own}"
    licence = _line(section.licence, _LICENCE)
    return Passage("web", title, section.text, place, section.apis, licence=licence)


def _summary(hit: Hit) -> Passage:
    host = urlsplit(hit.address).hostname or ""
    title = f"{_line(hit.title, _TITLE)} ({host}, as the search engine shows it)"
    return Passage("web", title, _line(hit.summary, _SUMMARY), hit.address)


def _line(text: str, most: int) -> str:
    return " ".join(visible(text).split())[:most]
