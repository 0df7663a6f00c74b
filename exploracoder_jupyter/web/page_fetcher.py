"""Fetches web pages, each once: from the cache, the Stack Exchange API, or the site itself if its robots.txt
allows.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from urllib.parse import urldefrag, urlsplit

import anyio.to_thread
from protego import Protego
from pydantic import ValidationError

from exploracoder_jupyter.web.fetching import AGENT, HttpClient, WebCache, origin_of
from exploracoder_jupyter.web.reading import ApiReply, Page, PageFormat, Thread, WebError, parse_question_url

_FORMS: dict[str, PageFormat] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/plain": "text",
}
_API = "https://api.stackexchange.com/2.3/questions"
_DISALLOW_ALL = "User-agent: *\nDisallow: /"
"""Used when a site's rules cannot be fetched."""


class PageFetcher:
    """Reads pages. Pages of the origin `trusted` may be in a private network."""

    def __init__(self, http: HttpClient, cache: WebCache, *, trusted: str = "") -> None:
        self._http = http
        self._cache = cache
        self._trusted = trusted
        self._robots: dict[str, Protego] = {}

    async def read(self, address: str) -> Page:
        """Return the page at an address. Raises WebError if it cannot be read, or the site disallows robots for it."""
        if not origin_of(address):
            raise WebError("The address is not an HTTP or HTTPS URL.")
        address = urldefrag(address).url
        cached = await anyio.to_thread.run_sync(self._cache.get, "page", address)
        if cached is not None:
            return Page(**json.loads(cached))
        page = await self._fetch_thread(address)
        if page is None:
            answer = await self._http.get(address, _FORMS, trusted=self._trusted, check=self._check_robots)
            page = Page(answer.address, _FORMS[answer.type], answer.text)
        await anyio.to_thread.run_sync(self._cache.put, json.dumps(asdict(page)), "page", address)
        return page

    async def _check_robots(self, address: str) -> None:
        origin = origin_of(address)
        if origin not in self._robots:
            self._robots[origin] = await self._fetch_robots(origin)
        if not self._robots[origin].can_fetch(address, AGENT):
            raise WebError(f"{urlsplit(address).hostname} disallows robots for this page.")

    async def _fetch_robots(self, origin: str) -> Protego:
        try:
            answer = await self._http.get(f"{origin}/robots.txt", ("text/",), trusted=self._trusted)
        except WebError as error:
            is_missing = 400 <= error.status < 500 and error.status != 429
            return Protego.parse("" if is_missing else _DISALLOW_ALL)
        return Protego.parse(answer.text.removeprefix("\ufeff"))

    async def _fetch_thread(self, address: str) -> Page | None:
        """Fetch a question with its answers from the API.

        Returns None if the address is not a question's, or the API returns nothing now.
        """
        location = parse_question_url(address)
        if location is None:
            return None
        site, number = location
        try:
            question = await self._fetch_items(f"{_API}/{number}?site={site}&filter=withbody")
            query = f"site={site}&filter=withbody&order=desc&sort=votes&pagesize=10"
            answers = await self._fetch_items(f"{_API}/{number}/answers?{query}")
            thread = Thread(address=address, question=question.items[0], answers=answers.items)
        except (WebError, ValidationError, IndexError):
            return None
        return Page(address, "questions", thread.model_dump_json())

    async def _fetch_items(self, address: str) -> ApiReply:
        answer = await self._http.get(address, ("application/json",))
        items = ApiReply.model_validate_json(answer.text)
        if items.backoff > 0:
            self._http.rate_limiter.delay("api.stackexchange.com", min(items.backoff, 60.0))
        return items
