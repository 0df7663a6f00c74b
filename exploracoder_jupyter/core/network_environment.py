"""Proxies and certificates as the environment names them, in one place for every HTTP client of this package.

A variable that cannot be used is named in one sentence before anything is requested. A proxy's address is never shown,
since it may contain a password.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from exploracoder_jupyter.core.errors import UsageError

if TYPE_CHECKING:
    from exploracoder_jupyter.core.http_client import httpx

_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables of OpenSSL with certificates to trust in place of the system's; the first one wins."""
_SOCKS: Final = {"socks": "socks5h", "socks5": "socks5", "socks5h": "socks5h"}
"""Schemes of SOCKS proxies, with those that the HTTP client knows."""
_REMEDY: Final = "Correct or unset it; NO_PROXY lists hosts that are reached without a proxy."


@dataclass(frozen=True, slots=True)
class EnvironmentProxy:
    """A proxy that the environment names for an address."""

    variable: str
    """The variable that names it, for messages."""
    url: httpx.URL
    """May contain a password."""


def find_proxy(address: str) -> EnvironmentProxy | None:
    """Return the proxy for requests to this address: of `HTTP_PROXY` or `HTTPS_PROXY`, else of `ALL_PROXY`, unless
    `NO_PROXY` excludes the host. SOCKS proxies resolve the host's name themselves.

    Raises UsageError if the proxy's address is malformed or of another kind, or the package for SOCKS is not installed.
    """
    parts, given = urlsplit(address), getproxies()
    kind = next((kind for kind in (parts.scheme, "all") if given.get(kind, "").strip()), None)
    if kind is None or _bypassed(parts, given.get("no", "")):
        return None
    return EnvironmentProxy(variable := _name_of(kind), _parse_proxy(given[kind].strip(), variable))


def certificates(address: str) -> ssl.SSLContext | bool:
    """Return how to verify the servers at this address: by the certificates that the environment names, else by the
    system's (`True`).

    Raises UsageError if the variable names nothing from which certificates can be loaded, and the address needs them.
    """
    variable = next((name for name in _CERTIFICATES if os.environ.get(name)), None)
    if variable is None:
        return True
    path = os.environ[variable]
    try:
        if variable == _CERTIFICATES[1]:  # OpenSSL ignores folders that do not exist
            if not any(map(os.path.isdir, path.split(os.pathsep))):
                raise FileNotFoundError
            return ssl.create_default_context(capath=path)
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        if not address.startswith("https://"):
            return True
        raise UsageError(
            f"The environment variable {variable} names {path!r}, {_reason(error)}.",
            remedy="Correct the variable, or unset it to trust the certificates of this system.",
        ) from None


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return "which contains no certificate"
    return (
        "which does not exist" if isinstance(error, FileNotFoundError) else f"which cannot be read ({error.strerror})"
    )


def _name_of(kind: str) -> str:
    names = (f"{kind}_proxy", f"{kind}_proxy".upper())
    name = next((name for name in names if os.environ.get(name)), None)
    return f"the environment variable {name}" if name else "the settings of this system"


def _parse_proxy(address: str, variable: str) -> httpx.URL:
    from exploracoder_jupyter.core.http_client import httpx

    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        scheme = _SOCKS.get(parts.scheme, parts.scheme)
        url = httpx.URL(parts._replace(scheme=scheme).geturl())
        is_valid = bool(parts.hostname) and parts.port != 0 and not re.search(r"\s", address)
    except (ValueError, httpx.InvalidURL):
        is_valid = False
    if not is_valid:
        raise UsageError(f"The proxy in {variable} is not a valid address.", remedy=_REMEDY)
    if scheme not in ("http", "https", *_SOCKS):
        raise UsageError(
            f"The proxy in {variable} has the scheme {scheme!r}, which is not supported; http, https and socks5 are.",
            remedy=_REMEDY,
        )
    if scheme in _SOCKS and find_spec("socksio") is None:
        raise UsageError(
            f"The SOCKS proxy in {variable} needs the package socksio, which is not installed.",
            remedy="Install it: pip install 'socksio==1.*'. Or unset the variable.",
        )
    return url


def _bypassed(parts: SplitResult, excluded: str) -> bool:
    host = (parts.hostname or "").lower()
    entries = [entry.strip().lower().partition("://")[2] or entry.strip().lower() for entry in excluded.split(",")]
    with_port = f"{host}:{parts.port}"
    return proxy_bypass(host) or any(_covers(entry, host) or _covers(entry, with_port) for entry in entries if entry)


def _covers(entry: str, host: str) -> bool:
    """Whether an entry of NO_PROXY is this host, a domain or a network that contains it, or `*`."""
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        domain = entry.lstrip("*").lstrip(".")
        return entry == "*" or (bool(domain) and f".{host}".endswith(f".{domain}"))
