"""The web as a source of passages; off unless enabled.

A query goes to one search engine (`search_engines`, `saved_pages`). The best page that may be read (`fetching`) is
reduced to what its readers see (`text.hidden_content_removal`), divided into sections by rules for its site
(`site_rules`, `stack_exchange`, `main_content`, `page_sections`), and ranked (`text.lexical_index`, `web_source`).
Pages are untrusted data: their instructions are never executed, and links on them are not followed.
"""

from exploracoder_jupyter.web.fetching.address_check import origin_of
from exploracoder_jupyter.web.fetching.http_client import HttpClient
from exploracoder_jupyter.web.fetching.page_fetcher import PageFetcher
from exploracoder_jupyter.web.fetching.web_cache import WebCache
from exploracoder_jupyter.web.saved_pages import SavedPages
from exploracoder_jupyter.web.search_engines import DuckDuckGo, SearXNG, UrlTemplate
from exploracoder_jupyter.web.web_source import WebSource
from exploracoder_jupyter.web.web_types import SearchEngine

__all__ = [
    "DuckDuckGo",
    "HttpClient",
    "PageFetcher",
    "SavedPages",
    "SearXNG",
    "SearchEngine",
    "UrlTemplate",
    "WebCache",
    "WebSource",
    "origin_of",
]
