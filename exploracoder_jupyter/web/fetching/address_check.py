"""Checks which addresses may be fetched: public ones over HTTP or HTTPS, and the configured provider's own.

A search result may point anywhere, including this machine and its network. Host names are resolved here, every address
of a host must be public, and the connection is then made to the checked address, so that a second DNS reply cannot
redirect it.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urljoin, urlsplit

import anyio

from exploracoder_jupyter.core.secrets.secret_patterns import has_user_info
from exploracoder_jupyter.web.web_types import WebError

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the IP addresses of a host name, for a port."""

_PORTS = {"http": 80, "https": 443}
_MAX_ADDRESS_CHARS = 2000
_NAT64_NETWORKS = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
"""IPv6 ranges that embed IPv4 addresses (NAT64)."""


def origin_of(address: str) -> str:
    """Return scheme, host and port, such as `http://localhost:8888`; empty if it is not a web address."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in _PORTS or not parts.hostname:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or _PORTS[parts.scheme]}"


def join_link(base: str, link: str) -> str:
    """Resolve a link against a base address; empty if it does not lead to a web address."""
    try:
        address = urljoin(base, link)
    except ValueError:
        return ""
    return address if origin_of(address) else ""


def check_address(address: str, *, any_port: bool = False) -> None:
    """Reject anything but a plain page address. Raises WebError if the scheme is unsupported, the address contains a
    password or is too long, or, unless `any_port`, uses a non-default port.
    """
    if len(address) > _MAX_ADDRESS_CHARS or not origin_of(address):
        raise WebError("The address is not an HTTP or HTTPS URL.")
    parts = urlsplit(address)
    if has_user_info(parts):
        raise WebError("The address contains a user name or a password.")
    if not any_port and parts.port not in (None, _PORTS[parts.scheme]):
        raise WebError("The address uses a non-default port.")


async def resolve_public(host: str, port: int, resolve: Resolver) -> list[str]:
    """Return the IP addresses of a public host, IPv4 first. Raises WebError if the host has no address, or one that is
    not public.
    """
    try:
        found = [ip_address(text.partition("%")[0]) for text in await resolve(host, port)]
    except (OSError, ValueError) as error:
        raise WebError(f"The host name {host!r} is not known.") from error
    if not found:
        raise WebError(f"The host name {host!r} is not known.")
    if not all(map(is_public, found)):
        raise WebError(f"{host} is in a private network or on this machine.")
    return [str(address) for address in sorted(found, key=lambda address: address.version)]


async def resolve_host(host: str, port: int) -> list[str]:
    """Resolve a host name with the system's resolver."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address belongs to the public internet, also if it embeds an IPv4 address."""
    if isinstance(address, IPv6Address):
        inner = _embedded_ipv4(address)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _embedded_ipv4(address: IPv6Address) -> IPv4Address | None:
    if any(address in network for network in _NAT64_NETWORKS):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
