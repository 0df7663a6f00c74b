"""Addresses of endpoints: presets by name, what counts as local, and what of an address may be shown.

`base_url = "ollama"` means Ollama's usual address on this machine, and so on. Local means *this machine*: a private
or `.local` address is another one, so what is sent there leaves, and the user is told.
"""

from __future__ import annotations

from ipaddress import ip_address
from types import MappingProxyType
from urllib.parse import urlsplit

from exploracoder_jupyter.core.errors import UsageError

OPENAI = "https://api.openai.com/v1"
"""Where a model is looked for when no `base_url` is set."""

PRESETS = MappingProxyType(
    {
        "llamacpp": "http://localhost:8080/v1",
        "lmstudio": "http://localhost:1234/v1",
        "ollama": "http://localhost:11434/v1",
        "vllm": "http://localhost:8000/v1",
    }
)


def address(base_url: str | None) -> str:
    """The URL that a `base_url` setting means: itself, a preset's, or OpenAI's.

    Raises:
        UsageError: it is neither a preset nor an http(s) URL.
    """
    if not base_url:
        return OPENAI
    if known := PRESETS.get(base_url.strip().lower()):
        return known
    if not base_url.startswith(("http://", "https://")) or _host(base_url) is None:
        names = ", ".join(PRESETS)
        raise UsageError(
            f"base_url {base_url!r} is not an address.",
            remedy=f"Give one that starts with http:// or https://, or one of: {names}.",
        )
    return base_url.strip().rstrip("/")


def is_local(base_url: str | None) -> bool:
    """Whether what is sent there stays on this machine. No name is looked up."""
    host = _host(address(base_url)) or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        number = ip_address(host)
    except ValueError:
        return False
    return number.is_loopback or number.is_unspecified


def shown(base_url: str | None) -> str:
    """The address without a user name, password or query, which may be secrets."""
    parts = urlsplit(address(base_url))
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _host(url: str) -> str | None:
    """The host name; `None` where there is none, or the port is no number."""
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.port != 0 else None
    except ValueError:
        return None
