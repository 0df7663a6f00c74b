"""Where the web is searched, as settings name it; checked before anything is written, for it may hold a secret."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, get_args
from urllib.parse import SplitResult, urlsplit

from pydantic import JsonValue

from exploracoder_jupyter.core.errors import UsageError

Web = Literal["off", "ddgs", "searxng", "url", "folder"]
"""How the web is searched."""

WEB_KEY = "EXPLORACODER_WEB_KEY"
"""What stands for `{key}` in an address: that is on record, a key never is."""

PLACES = "Name ddgs, the URL of a SearXNG server, a URL with {query} in it, or a folder of saved pages."


def web_key() -> str:
    """The key of this process's environment; empty where there is none."""
    return os.environ.get(WEB_KEY, "")


def spelled_out(given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The section `retrieval` with `web` and `web_address`, where `web` names the place itself."""
    web = given.get("web")
    if not isinstance(web, str) or web in get_args(Web):
        return dict(given)
    is_url = web.startswith(("http://", "https://"))
    kind = ("url" if "{query}" in web else "searxng") if is_url else "folder"
    return {**given, "web": kind, "web_address": web}


def check_place(web: Web, address: str | None) -> None:
    """Refuse an address that cannot be used.

    Raises:
        UsageError: it is missing or no web address, holds a name or a password, or does not say where the query goes.
    """
    if web in ("off", "ddgs"):
        return
    if not address:
        raise UsageError(f"Searching the web by {web} needs the setting 'retrieval.web_address'.", remedy=PLACES)
    if web == "folder":
        return
    parts = _parts(address)
    if parts is None:
        raise UsageError(f"The address {address!r} is no http or https address.", remedy=PLACES)
    if parts.username is not None or parts.password is not None:
        remedy = f"Write {{key}} where a secret belongs, and set {WEB_KEY}."
        raise UsageError("The address to search the web at holds a name or a password.", remedy=remedy)
    if web == "url" and "{query}" not in f"{parts.path}?{parts.query}":
        raise UsageError(f"The address {address!r} does not say where the {{query}} goes.", remedy=PLACES)


def _parts(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return None
    return parts if is_usable else None
