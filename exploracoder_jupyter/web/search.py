"""Search engines, and queries that may be sent to them."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import parse_qs, quote_plus, urlencode, urlsplit

import anyio.to_thread
from pydantic import JsonValue

from exploracoder_jupyter.core.secrets.secret_names import is_credential_name
from exploracoder_jupyter.core.secrets.secret_patterns import REDACTED
from exploracoder_jupyter.text.html import Node, find_main_element, parse_html, remove_hidden
from exploracoder_jupyter.web.fetching import HttpClient, join_link, origin_of
from exploracoder_jupyter.web.reading import SearchHit, WebError

# Sanitizes queries before they are sent: a few words on one line, without anything that looks private.
#
# Secrets, addresses, paths, and whatever else could identify this machine or its user are removed.

_MAX_QUERY_CHARS = 200
_PRIVATE_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        re.escape(REDACTED),
        r"\b[a-z][a-z0-9+.-]*://\S+",  # a URL may contain a password or a token
        r"\b[\w.+-]+@[\w-]+\.[\w.-]+",
        r"\bbearer\s+\S+",
        r"(?<!\w)(?:~|[a-z]:)?(?:[\\/][\w.@-]*\w){2,}[\\/]?",  # an absolute path
        r"(?<![\w-])(?=(?:[\w-]*\d){4})(?=[\w-]*[a-z])[\w-]{24,}",  # long and mixed: a key, a hash
        r"\b\d(?:[ -]?\d){8,}\b",  # a card, account or telephone number
        r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    )
)
_PAIR = re.compile(
    r"(?<![\w-])([\w-]+)\s*[=:]\s*(?=(?P<value>(?:bearer\s+)?(?:\"[^\"]*\"|'[^']*'|\S+)))", re.IGNORECASE
)
"""A name, and the value that follows it, in which further pairs may begin."""


def sanitize_query(query: str) -> str:
    """Return the query as it may be sent; empty if nothing is left of it."""
    query, parts, end = query[:2000], [], 0
    for pair in _PAIR.finditer(query):
        if pair.start() >= end and is_credential_name(pair[1]):
            parts.append(query[end : pair.start()])
            end = pair.end("value")
    rest = " ".join([*parts, query[end:]])
    for pattern in _PRIVATE_PATTERNS:
        rest = pattern.sub(" ", rest)
    text = textwrap.shorten(
        rest.replace("`", " "), _MAX_QUERY_CHARS, placeholder="", break_long_words=False, break_on_hyphens=False
    )
    return text if re.search(r"\w", text) else ""


# Search engines: DuckDuckGo through ddgs, a SearXNG server, or any site that has a search URL.

_JSON = ("application/json", "text/json", "application/vnd.api+json")
_SECONDS = 15
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "dt"))
_WRAPPER_PARAMETERS = ("uddg", "url", "q", "u")
"""Query parameters in which a results page wraps the target address."""
_ADDRESSES = ("url", "link", "href")
_TITLES = ("title", "name", "heading")
_SUMMARIES = ("content", "snippet", "summary", "description", "body", "text")
_MAX_VALUES = 20_000


async def search_duckduckgo(query: str, most: int) -> Sequence[SearchHit]:
    """Search DuckDuckGo, as in ToolCoder; needs the package `ddgs`, which makes the requests itself.

    Raises WebError if the package cannot be imported or can no longer search DuckDuckGo, or the search fails.
    """
    return await anyio.to_thread.run_sync(_search_duckduckgo, query, most, abandon_on_cancel=True)


def _search_duckduckgo(query: str, most: int) -> list[SearchHit]:
    try:
        from ddgs import DDGS
        from ddgs.engines import ENGINES
    except ImportError as error:  # whether it is installed is checked when the web is opened
        remedy = "`pip install -U 'exploracoder-jupyter[web]'` may repair it"
        raise WebError(f"The package ddgs, which searches DuckDuckGo, cannot be imported: {remedy}.") from error
    if "duckduckgo" not in ENGINES["text"]:  # ddgs would query all other engines without the user's knowledge
        raise WebError("This version of ddgs cannot search DuckDuckGo.")
    try:
        found = DDGS(timeout=_SECONDS).text(query, max_results=most, backend="duckduckgo")
    except Exception as error:  # ddgs passes on the exceptions of its dependencies
        if "No results" in str(error):
            return []
        raise WebError(f"Searching DuckDuckGo failed ({type(error).__name__}).") from error
    hits = (SearchHit(item.get("title", ""), item.get("href", ""), item.get("body", "")) for item in found)
    return [hit for hit in hits if origin_of(hit.address)]


async def search_searxng(query: str, most: int, *, http: HttpClient, address: str) -> Sequence[SearchHit]:
    """Search with a SearXNG server; `address` is that of the server or of its search page.

    Raises WebError if the server cannot be reached or does not return JSON.
    """
    page = f"{address.rstrip('/').removesuffix('/search')}/search"
    url = f"{page}?{urlencode({'q': query, 'format': 'json'})}"
    try:
        answer = await http.get(url, _JSON, trusted=origin_of(url))
    except WebError as error:
        hint = " Its settings must list `json` under `search: formats`." if error.status == 403 else ""
        raise WebError(f"{error}{hint}") from error
    return _from_json(answer.text, answer.address)[:most]


async def search_by_template(query: str, most: int, *, http: HttpClient, template: str) -> Sequence[SearchHit]:
    """Search any site at a URL that contains `{query}`.

    Raises WebError if the site cannot be reached, or returns neither JSON nor a page of links.
    """
    url = template.replace("{query}", quote_plus(query))
    answer = await http.get(url, (*_JSON, "text/html"), trusted=origin_of(url))
    if answer.type == "text/html":
        found = await anyio.to_thread.run_sync(_from_page, answer.text, answer.address)
    else:
        found = _from_json(answer.text, answer.address)
    return found[:most]


def _from_json(text: str, base: str) -> list[SearchHit]:
    try:
        value: JsonValue = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WebError(f"{urlsplit(base).hostname} did not return JSON.") from error
    return _deduplicate(filter(None, (_hit(item, base) for item in _objects(value))))


def _objects(value: JsonValue) -> Iterator[dict[str, JsonValue]]:
    stack = [value]
    for _ in range(_MAX_VALUES):
        if not stack:
            return
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack += reversed(list(value.values()))
        elif isinstance(value, list):
            stack += reversed(value)


def _hit(item: dict[str, JsonValue], base: str) -> SearchHit | None:
    """Convert an object to a hit, if it has an address and a title.

    Read the Docs returns a domain and a path instead of an address.
    """
    texts = {key: text for key, text in item.items() if isinstance(text, str)}
    address = next((texts[key] for key in _ADDRESSES if key in texts), "")
    if not address and "domain" in texts and "path" in texts:
        address = join_link(texts["domain"], texts["path"])
    title = next((texts[key] for key in _TITLES if texts.get(key)), "")
    summary = next((texts[key] for key in _SUMMARIES if key in texts), "")
    address = join_link(base, address) if address else ""
    return SearchHit(title, address, summary) if address and title else None


def _from_page(text: str, base: str) -> list[SearchHit]:
    root = parse_html(text)
    remove_hidden(root)
    content = find_main_element(root)
    in_headings = [node for heading in content.walk() if heading.tag in _HEADINGS for node in heading.find_all(tag="a")]
    links = [_link(node, base) for node in in_headings or content.find_all(tag="a")]
    own = urlsplit(base)[1:3]  # links to it lead to other pages of results
    hits = (hit for hit in links if origin_of(hit.address) and urlsplit(hit.address)[1:3] != own)
    return _deduplicate(hit for hit in hits if len(hit.title) > 3)


def _link(node: Node, base: str) -> SearchHit:
    address = join_link(base, node.attributes.get("href", ""))
    query = parse_qs(urlsplit(address).query)
    inner = next((query[name][0] for name in _WRAPPER_PARAMETERS if name in query and origin_of(query[name][0])), "")
    return SearchHit(node.text, inner or address)


def _deduplicate(hits: Iterable[SearchHit]) -> list[SearchHit]:
    found: dict[str, SearchHit] = {}
    for hit in hits:
        found.setdefault(hit.address, hit)
    return list(found.values())
