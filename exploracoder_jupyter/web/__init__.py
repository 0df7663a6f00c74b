"""The web as a source of passages, off unless it is asked for.

A query goes to one search engine (`providers`, `folder`); the best page that may be read (`reader`, `http`) is reduced
to what its readers see (`markup`, `hidden`), divided into sections by rules for its site (`sites`, `questions`,
`generic`, `sections`), and ranked (`rank`, `source`). A page is data: nothing that it says is done, and no link is
followed because it is there.
"""

from exploracoder_jupyter.web.fetching.bounded_request import Http
from exploracoder_jupyter.web.fetching.page_fetcher import WebReader
from exploracoder_jupyter.web.fetching.public_addresses import origin_of
from exploracoder_jupyter.web.fetching.web_cache import Cache
from exploracoder_jupyter.web.saved_pages import Folder
from exploracoder_jupyter.web.search_engines import DuckDuckGo, SearXNG, Template
from exploracoder_jupyter.web.web_source import WebSource
from exploracoder_jupyter.web.web_types import Hit, Page, Provider, Reader, WebError

__all__ = [
    "Cache",
    "DuckDuckGo",
    "Folder",
    "Hit",
    "Http",
    "Page",
    "Provider",
    "Reader",
    "SearXNG",
    "Template",
    "WebError",
    "WebReader",
    "WebSource",
    "origin_of",
]
