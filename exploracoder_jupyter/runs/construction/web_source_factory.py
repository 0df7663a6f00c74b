"""Creates the web source of a run, if the settings enable it."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from exploracoder_jupyter.core.configuration.retrieval_settings import Retrieval
from exploracoder_jupyter.core.configuration.web_settings import web_key
from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.core.events import Notice
from exploracoder_jupyter.pipeline.ports import Source
from exploracoder_jupyter.runs.construction.knowledge_factory import cache_folder
from exploracoder_jupyter.runs.construction.source_factory import SourceContext

if TYPE_CHECKING:
    from exploracoder_jupyter.web.fetching.http_client import HttpClient
    from exploracoder_jupyter.web.web_types import SearchEngine

_WEB_NOTICE = (
    "The web is searched: queries made of words from the task, library names and error types are sent to {}."
    " Pages that are found are downloaded, and relevant passages are sent to the model."
)


async def open_web_source(context: SourceContext) -> Source | None:
    """Create the web source; `None` if it is off.

    Raises:
        MissingRequirement: a required package is not installed.
    """
    settings, clean = context.settings.retrieval, context.clean
    if settings.web == "off":
        return None
    for package in ("lxml", "protego"):
        _check_installed(package, "Searching the web")

    # Not needed by most runs, and an HTTP client is slow to import.
    from exploracoder_jupyter.web.fetching.address_check import origin_of
    from exploracoder_jupyter.web.fetching.http_client import HttpClient
    from exploracoder_jupyter.web.fetching.page_fetcher import PageFetcher
    from exploracoder_jupyter.web.fetching.web_cache import WebCache
    from exploracoder_jupyter.web.web_source import WebSource

    def warn(sentence: str) -> None:
        context.emit(Notice(sentence, "warning"))

    http = await context.stack.enter_async_context(HttpClient())
    find, name = _choose_engine(settings, http)
    pages_cache = WebCache(cache_folder())
    trusted = origin_of(settings.web_address or "") if settings.web == "url" else ""
    reader = PageFetcher(http, pages_cache, trusted=trusted)
    context.emit(Notice(_WEB_NOTICE.format(name)))
    name = f"{settings.web} {settings.web_address}"
    return WebSource(find, reader.read, pages_cache, name=name, say=warn, clean=clean)


def _choose_engine(settings: Retrieval, http: HttpClient) -> tuple[SearchEngine, str]:
    from exploracoder_jupyter.web import search_engines

    if settings.web == "ddgs":
        _check_installed("ddgs", "Searching with DuckDuckGo")
        return search_engines.search_duckduckgo, "DuckDuckGo"
    address = settings.web_address or ""
    host = urlsplit(address).hostname or ""
    if settings.web == "searxng":
        find = partial(search_engines.search_searxng, http=http, address=address)
        return find, f"{host}, which asks other search engines"
    template = address.replace("{key}", web_key())
    return partial(search_engines.search_by_template, http=http, template=template), host


def _check_installed(package: str, doing: str) -> None:
    if find_spec(package) is None:
        raise MissingRequirement(
            f"{doing} needs the package {package}, which is not installed.",
            remedy="Install it with `pip install 'exploracoder-jupyter[web]'`.",
        )
