"""The web as a source of a run, where the settings ask for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from exploracoder_jupyter.core.errors import MissingMeans, UsageError
from exploracoder_jupyter.core.events import Event, Notice
from exploracoder_jupyter.core.settings import Retrieval
from exploracoder_jupyter.core.web_settings import PLACES, web_key
from exploracoder_jupyter.pipeline.ports import Source

if TYPE_CHECKING:
    from exploracoder_jupyter.web import Http, Provider

_SENT = (
    "The web is searched: queries, made of words of the task and the library and of types of errors, are sent to {}."
    " Pages that are found are read from their sites, and what helps of them goes to the model."
)


async def open_web(
    settings: Retrieval,
    workdir: Path,
    cache: Path,
    tell: Callable[[Event], None],
    stack: AsyncExitStack,
    *,
    clean: Callable[[str], str] = str,
) -> Source | None:
    """The web as the settings say, none where it is off. `stack` closes its connections; `clean` takes secrets out of
    what is asked.

    Raises:
        UsageError: there is no such folder.
        MissingMeans: the package that it needs is not installed.
    """
    if settings.web == "off":
        return None
    _check_installed("lxml", "Searching the web")

    from exploracoder_jupyter import web  # most runs do without, and an HTTP client takes its time to import

    def warn(sentence: str) -> None:
        tell(Notice(sentence, "warning"))

    if settings.web == "folder":
        pages = web.Folder(_folder(settings.web_address, workdir))
        pages.prepare()
        tell(Notice(f"Saved pages in {settings.web_address} are searched in place of the web."))
        return web.WebSource(pages, pages, None, name="folder", say=warn, clean=clean)
    http = await stack.enter_async_context(web.Http())
    provider, name = _provider(settings, http)
    kept = web.Cache(cache)
    trusted = web.origin_of(settings.web_address or "") if settings.web == "url" else ""
    reader = web.WebReader(http, kept, trusted=trusted)
    tell(Notice(_SENT.format(name)))
    return web.WebSource(provider, reader, kept, name=f"{settings.web} {settings.web_address}", say=warn, clean=clean)


def _provider(settings: Retrieval, http: Http) -> tuple[Provider, str]:
    """The search engine, and its name for people."""
    from exploracoder_jupyter import web

    if settings.web == "ddgs":
        _check_installed("ddgs", "Searching with DuckDuckGo")
        return web.DuckDuckGo(), "DuckDuckGo"
    address = settings.web_address or ""
    host = urlsplit(address).hostname or ""
    if settings.web == "searxng":
        return web.SearXNG(http, address), f"{host}, which asks other search engines"
    return web.Template(http, address.replace("{key}", web_key())), host


def _check_installed(package: str, doing: str) -> None:
    if find_spec(package) is None:
        raise MissingMeans(
            f"{doing} needs the package {package}, which is not installed.",
            remedy="`pip install 'exploracoder-jupyter[web]'` installs it.",
        )


def _folder(address: str | None, workdir: Path) -> Path:
    try:
        folder = workdir / Path(address or "").expanduser()
        if folder.is_dir():
            return folder
    except (RuntimeError, OSError):  # there is no such user; it may not be looked at, or its name is too long
        pass
    raise UsageError(f"There is no folder {address!r} of saved pages to search.", remedy=PLACES)
