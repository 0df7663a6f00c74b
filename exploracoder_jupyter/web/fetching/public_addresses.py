"""Which addresses may be fetched: public ones, by http or https, and the configured provider's own.

A search result may point anywhere, this machine and its network included. A name is resolved here, every address it
has must be public, and the connection is then made to the address that was checked, so that no second answer of a name
server can lead elsewhere.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urljoin, urlsplit

import anyio

from exploracoder_jupyter.web.web_types import WebError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The IP addresses of a name, for a port."""

_PORTS = {"http": 80, "https": 443}
_LONGEST = 2000
_TRANSLATED = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
"""IPv6 addresses that stand for IPv4 ones (NAT64)."""


def origin_of(address: str) -> str:
    """Scheme, host and port: `http://localhost:8888`; empty where it is no web address."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in _PORTS or not parts.hostname:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or _PORTS[parts.scheme]}"


def joined(base: str, link: str) -> str:
    """The address that a link leads to; empty where it leads nowhere on the web."""
    try:
        address = urljoin(base, link)
    except ValueError:
        return ""
    return address if origin_of(address) else ""


def check_form(address: str, *, any_port: bool = False) -> None:
    """Refuse what is no plain address of a page.

    Raises:
        WebError: another scheme, a password in it, too long, or, but for `any_port`, a port of its own.
    """
    if len(address) > _LONGEST or not origin_of(address):
        raise WebError("It is no http or https address.")
    parts = urlsplit(address)
    if parts.username is not None or parts.password is not None:
        raise WebError("Its address holds a name or a password.")
    if not any_port and parts.port not in (None, _PORTS[parts.scheme]):
        raise WebError("Its address names a port of its own.")


async def public_addresses(host: str, port: int, resolve: Resolve) -> list[str]:
    """The IP addresses of a public host, the ones of IPv4 first.

    Raises:
        WebError: it has none, or one that is not public.
    """
    try:
        found = [ip_address(text.partition("%")[0]) for text in await resolve(host, port)]
    except (OSError, ValueError) as error:
        raise WebError(f"The name {host!r} is not known.") from error
    if not found:
        raise WebError(f"The name {host!r} is not known.")
    if not all(map(is_public, found)):
        raise WebError(f"{host} lies in a private network or on this machine.")
    return [str(address) for address in sorted(found, key=lambda address: address.version)]


async def resolve(host: str, port: int) -> list[str]:
    """What the system's resolver gives."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is one of the public internet, also where it wraps one of IPv4."""
    if isinstance(address, IPv6Address):
        inner = _wrapped(address)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _wrapped(address: IPv6Address) -> IPv4Address | None:
    if any(address in network for network in _TRANSLATED):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
