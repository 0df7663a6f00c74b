"""Pages of the web, read once: from the cache, through the Stack Exchange API, or from the site, where it lets us."""

from __future__ import annotations

import json
from dataclasses import asdict
from urllib.parse import urldefrag, urlsplit

import anyio.to_thread
from pydantic import ValidationError

from exploracoder_jupyter.web.fetching.bounded_request import Http
from exploracoder_jupyter.web.fetching.public_addresses import origin_of
from exploracoder_jupyter.web.fetching.robots_txt import NOTHING, Robots, parse_robots
from exploracoder_jupyter.web.fetching.web_cache import Cache
from exploracoder_jupyter.web.reading.stack_exchange import Items, Thread, question_at
from exploracoder_jupyter.web.web_types import Form, Page, WebError

_FORMS: dict[str, Form] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/plain": "text",
}
_API = "https://api.stackexchange.com/2.3/questions"
_JSON = ("application/json",)


class WebReader:
    """Reads pages; satisfies `web_types.Reader`. Pages of the origin `trusted` may lie in a private network."""

    def __init__(self, http: Http, cache: Cache, *, trusted: str = "") -> None:
        self._http = http
        self._cache = cache
        self._trusted = trusted
        self._robots: dict[str, Robots] = {}

    async def read(self, address: str) -> Page:
        """The page at an address.

        Raises:
            WebError: it cannot be read, or the site wants no robot there.
        """
        if not origin_of(address):
            raise WebError("It is no http or https address.")
        address = urldefrag(address).url
        kept = await anyio.to_thread.run_sync(self._cache.get, "page", address)
        if kept is not None:
            return Page(**json.loads(kept))
        page = await self._thread(address) or await self._page(address)
        await anyio.to_thread.run_sync(self._cache.put, json.dumps(asdict(page)), "page", address)
        return page

    async def _page(self, address: str) -> Page:
        answer = await self._http.get(address, _FORMS, trusted=self._trusted, check=self._check_robots)
        return Page(answer.address, _FORMS[answer.type], answer.text)

    async def _check_robots(self, address: str) -> None:
        origin, parts = origin_of(address), urlsplit(address)
        if origin not in self._robots:
            self._robots[origin] = await self._rules(origin)
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        if not self._robots[origin].allow(path):
            raise WebError(f"{parts.hostname} wants no robots there.")

    async def _rules(self, origin: str) -> Robots:
        try:
            answer = await self._http.get(f"{origin}/robots.txt", ("text/",), trusted=self._trusted)
        except WebError as error:
            there_are_none = 400 <= error.status < 500 and error.status != 429
            return Robots() if there_are_none else NOTHING
        return parse_robots(answer.text)

    async def _thread(self, address: str) -> Page | None:
        """A question with its answers from the API; none where this is no question, or the API gives nothing now."""
        asked = question_at(address)
        if asked is None:
            return None
        site, number = asked
        try:
            question = await self._items(f"{_API}/{number}?site={site}&filter=withbody")
            query = f"site={site}&filter=withbody&order=desc&sort=votes&pagesize=10"
            answers = await self._items(f"{_API}/{number}/answers?{query}")
        except WebError:
            return None
        if not question.items:
            return None
        thread = Thread(address=address, question=question.items[0], answers=answers.items)
        return Page(address, "questions", thread.model_dump_json())

    async def _items(self, address: str) -> Items:
        answer = await self._http.get(address, _JSON)
        try:
            items = Items.model_validate_json(answer.text)
        except ValidationError as error:
            raise WebError("The Stack Exchange API gave something else than posts.") from error
        if items.backoff > 0:
            self._http.pace.after("api.stackexchange.com", min(items.backoff, 60.0))
        return items
