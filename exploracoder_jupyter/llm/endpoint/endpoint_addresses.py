"""Addresses of endpoints: presets by name, which addresses are local, and which part of an address may be shown.

`base_url = "ollama"` means Ollama's usual address on this machine, and so on. Local means *this machine*: a private or
`.local` address is another one, so data sent there leaves this machine, which the user is notified of.
"""

from __future__ import annotations

from ipaddress import ip_address
from types import MappingProxyType
from urllib.parse import parse_qsl, urlsplit

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.secrets.secret_patterns import replace_user_info

_PLAIN_PARAMETERS = ("api-version", "api_version")
"""Parameters of an address's query that are not secrets."""

OPENAI = "https://api.openai.com/v1"

PRESETS = MappingProxyType(
    {
        "llamacpp": "http://localhost:8080/v1",
        "lmstudio": "http://localhost:1234/v1",
        "ollama": "http://localhost:11434/v1",
        "vllm": "http://localhost:8000/v1",
    }
)


def resolve_address(base_url: str | None) -> str:
    """Return the URL for a `base_url` setting: the setting itself, a preset's URL, or OpenAI's. Raises UsageError if it
    is neither a preset nor an http(s) URL.
    """
    base_url = (base_url or "").strip()
    if not base_url:
        return OPENAI
    if known := PRESETS.get(base_url.lower()):
        return known
    if not base_url.startswith(("http://", "https://")) or _host(base_url) is None:
        names = ", ".join(PRESETS)
        raise UsageError(
            f"base_url {base_url!r} is not an address.",
            remedy=f"Use an address that starts with http:// or https://, or one of: {names}.",
        )
    return base_url.rstrip("/")


def split_query(base_url: str | None) -> tuple[str, dict[str, object]]:
    """Return the address below which the paths of requests are, and the query that all of them have."""
    parts = urlsplit(resolve_address(base_url))
    query: dict[str, object] = dict(parse_qsl(parts.query, keep_blank_values=True))
    return parts._replace(query="", fragment="").geturl().rstrip("/"), query


def is_local(base_url: str | None) -> bool:
    """Whether data sent there stays on this machine. Makes no DNS query."""
    host = _host(resolve_address(base_url)) or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        number = ip_address(host)
    except ValueError:
        return False
    return number.is_loopback or number.is_unspecified


def redact_address(base_url: str | None) -> str:
    """Return the address without user name, password or query, which may be secrets; the version of an API is not."""
    parts = urlsplit(resolve_address(base_url))
    query = "&".join(pair for pair in parts.query.split("&") if pair.partition("=")[0].lower() in _PLAIN_PARAMETERS)
    return replace_user_info(parts._replace(query=query, fragment="").geturl())


def secret_query_values(base_url: str | None) -> list[str]:
    """Return the values in the address's query that may be secrets."""
    query = parse_qsl(urlsplit(base_url or "").query)
    return [value for name, value in query if name.lower() not in _PLAIN_PARAMETERS]


def _host(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.port != 0 else None
    except ValueError:
        return None
