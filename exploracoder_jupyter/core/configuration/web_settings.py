"""Settings for web search, validated before anything is written because an address may contain a secret."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import get_args
from urllib.parse import urlsplit

from exploracoder_jupyter.core.configuration.sections import Web
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.secrets.secret_patterns import has_user_info
from exploracoder_jupyter.core.validation import JsonValue

WEB_KEY = "EXPLORACODER_WEB_KEY"
"""Environment variable whose value replaces `{key}` in an address: the address is recorded, the key never is."""

WEB_REMEDY = "Use ddgs, the URL of a SearXNG server, or a URL that contains {query}."


def web_key() -> str:
    """Return the key from this process's environment; empty if there is none."""
    return os.environ.get(WEB_KEY, "")


def expand_web_address(given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the section `retrieval` with an address given as `web` moved to `web_address`.

    Raises:
        UsageError: it is neither the name of a kind of web search nor an address.
    """
    web = given.get("web")
    if not isinstance(web, str) or web in get_args(Web):
        return dict(given)
    if not web.startswith(("http://", "https://")):
        raise UsageError(f"The web cannot be searched with {web!r}.", remedy=WEB_REMEDY)
    return {**given, "web": "url" if "{query}" in web else "searxng", "web_address": web}


def validate_web_address(web: Web, address: str | None) -> None:
    """Validate the address for web search."""
    if web in ("off", "ddgs"):
        return
    if not address:
        raise UsageError(f"Web search with {web} needs the setting 'retrieval.web_address'.", remedy=WEB_REMEDY)
    try:
        parts = urlsplit(address)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise UsageError(f"The address {address!r} is not an http or https URL.", remedy=WEB_REMEDY)
    if has_user_info(parts):
        remedy = f"Write {{key}} in place of a secret, and set {WEB_KEY}."
        raise UsageError("The web search address contains a user name or password.", remedy=remedy)
    if web == "url" and "{query}" not in f"{parts.path}?{parts.query}":
        raise UsageError(f"The address {address!r} has no {{query}} placeholder.", remedy=WEB_REMEDY)
