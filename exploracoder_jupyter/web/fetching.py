"""Requests to the web: allowed addresses, limits of rate and size, and a cache."""

from __future__ import annotations

import hashlib
import re
import socket
import sqlite3
import time
import zlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import anyio

from exploracoder_jupyter.core.files import SqliteStore
from exploracoder_jupyter.core.http_client import httpx
from exploracoder_jupyter.core.network_environment import certificates
from exploracoder_jupyter.core.secrets.secret_patterns import has_user_info
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.web.reading import MAX_PAGE_BYTES, WebError

# Checks which addresses may be fetched: public ones over HTTP or HTTPS, and the configured provider's own.
#
# A search result may point anywhere, including this machine and its network. Host names are resolved here, every
# address of a host must be public, and the connection is then made to the checked address, so that a second DNS
# reply cannot redirect it.

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


# Rate limits: one request per second to each host, a limited number per run, none to a host that asked to stop.

MIN_INTERVAL = 1.0
"""Seconds between two requests to a host."""


class RateLimiter:
    """Waits before requests. `clock` returns seconds; `sleep` waits for a number of seconds."""

    def __init__(
        self,
        max_requests: int = 100,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._left = max_requests
        self._clock = clock
        self._sleep = sleep
        self._next: dict[str, float] = {}
        self._blocked: set[str] = set()

    async def wait(self, host: str) -> None:
        """Wait until a request to the host is allowed, and count it. Raises WebError if the run has used up its
        requests, or the host asked for fewer requests.
        """
        if host in self._blocked:
            raise WebError(f"{host} asked for fewer requests and is not contacted again in this run.")
        if self._left <= 0:
            raise WebError("This run has reached its limit of web requests.")
        self._left -= 1
        now = self._clock()
        at = max(now, self._next.get(host, now))
        self._next[host] = at + MIN_INTERVAL
        if at > now:
            await self._sleep(at - now)

    def block(self, host: str) -> None:
        """Block further requests to this host in this run."""
        self._blocked.add(host)

    def delay(self, host: str, seconds: float) -> None:
        """Delay the next request to this host by at least this many seconds from now."""
        self._next[host] = max(self._next.get(host, 0.0), self._clock() + seconds)


# Caches search results and pages for some days in one SQLite file, safe to lose at any time.
#
# If nothing can be written, nothing is cached and everything still works. A damaged file is replaced.

_FORMAT = "1"
_TABLE = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, body BLOB, at REAL)"
_MAX_AGE_DAYS = 7
_MAX_ENTRIES = 400
_MAX_ENTRY_BYTES = 8_000_000
"""Decompressed size of an entry."""


class WebCache:
    """Texts by key; keys are addresses and queries. No method raises because of a disk or file error."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._store = SqliteStore(folder / "web.sqlite", [_TABLE])
        self._clock = clock

    def get(self, *key: str) -> str | None:
        """Return the text stored under this key, unless it is too old."""
        query, oldest = "SELECT body FROM kept WHERE key = ? AND at > ?", self._clock() - _MAX_AGE_DAYS * 86_400
        row = self._store.attempt(lambda db: db.execute(query, (_digest(key), oldest)).fetchone(), None)
        with suppress(zlib.error, UnicodeDecodeError):
            return zlib.decompressobj().decompress(row[0], _MAX_ENTRY_BYTES).decode() if row else None
        return None

    def put(self, text: str, *key: str) -> None:
        """Store a text under this key."""
        now = self._clock()

        def write(db: sqlite3.Connection) -> None:
            body = zlib.compress(text.encode(errors="replace"))
            db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", (_digest(key), body, now))
            db.execute("DELETE FROM kept WHERE at <= ?", (now - _MAX_AGE_DAYS * 86_400,))
            db.execute(
                "DELETE FROM kept WHERE key NOT IN (SELECT key FROM kept ORDER BY at DESC LIMIT ?)", (_MAX_ENTRIES,)
            )

        self._store.attempt(write, None)
        with suppress(OSError):
            self._store.forget_unsound()  # a cache need not be repaired


def _digest(key: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join((_FORMAT, *key)).encode(errors="replace")).hexdigest()


# Makes bounded HTTP requests.
#
# Redirects are few and each is checked again; size, time and content types are limited; cookies, credentials and
# proxies from the environment are not used.

AddressCheck = Callable[[str], Awaitable[None]]
"""Raises WebError for an address that must not be fetched."""

AGENT = "exploracoder-jupyter"
_SECONDS = 30.0
_IDLE_SECONDS = 10.0
_MAX_REDIRECTS = 5
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_BUSY_STATUSES = (429, 503)
_META = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{1,30})", re.IGNORECASE)
_CHARSETS = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|us-ascii|ascii|latin-?1|(?:iso-8859|windows-125|cp125|koi8)-?\w{1,3}"
    r"|shift[_-]jis|euc-(?:jp|kr)|gb2312|gbk|gb18030|big5",
    re.IGNORECASE,
)
"""Charsets used by web pages; decoding some of Python's other codecs takes unbounded time."""


@dataclass(frozen=True, slots=True)
class Response:
    """A site's response."""

    address: str
    type: str
    text: str


class HttpClient(AbstractAsyncContextManager["HttpClient"]):
    """Makes the requests of one run. Use it as an async context manager."""

    def __init__(
        self,
        *,
        rate_limiter: RateLimiter | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        resolve: Resolver = resolve_host,
    ) -> None:
        self.rate_limiter = rate_limiter or RateLimiter()
        self._resolve = resolve
        self._client = httpx.AsyncClient(
            transport=transport,
            headers={"User-Agent": f"{AGENT}/{__version__}"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=_IDLE_SECONDS,
            # Hosts on one IP address must not share a connection that was verified for one of them.
            limits=httpx.Limits(max_keepalive_connections=0),
            follow_redirects=False,
            trust_env=False,  # a proxy would resolve names again, unchecked
            verify=certificates("https://"),
        )

    async def __aexit__(self, *_error: object) -> None:
        await self._client.aclose()

    async def get(
        self, address: str, types: Collection[str], *, trusted: str = "", check: AddressCheck | None = None
    ) -> Response:
        """Fetch the address; its content type must be one of `types` (`text/` matches all types that start with it).

        Only the origin `trusted` may be in a private network; `check` is called before each request.

        Raises WebError if the address must not be fetched, or fetching it fails.
        """
        try:
            with anyio.fail_after(_SECONDS):
                return await self._follow(address, types, trusted, check)
        except TimeoutError as error:
            raise WebError(f"{_host(address)} took too long to respond.") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise WebError(f"{_host(address)} could not be reached ({type(error).__name__}).") from error

    async def _follow(self, address: str, types: Collection[str], trusted: str, check: AddressCheck | None) -> Response:
        for _ in range(_MAX_REDIRECTS + 1):
            origin = origin_of(address)
            is_trusted = bool(trusted) and origin == trusted
            check_address(address, any_port=is_trusted)
            addresses: list[str] = []  # the trusted origin is connected to by name
            if not is_trusted:
                parts = urlsplit(origin)
                addresses = await resolve_public(parts.hostname or "", parts.port or 0, self._resolve)
            if check:
                await check(address)
            await self.rate_limiter.wait(_host(address))
            response = await self._send(address, addresses)
            try:
                if response.status_code not in _REDIRECT_STATUSES:
                    return await self._read_response(address, response, types)
                address = join_link(address, response.headers.get("location", ""))
            finally:
                await response.aclose()
        raise WebError(f"{_host(address)} redirected too many times.")

    async def _send(self, address: str, addresses: list[str]) -> httpx.Response:
        url = httpx.URL(address)
        if not addresses:
            return await self._client.send(self._client.build_request("GET", url), stream=True)
        while True:
            request = self._client.build_request(
                "GET",
                url.copy_with(host=addresses.pop(0)),
                headers={"Host": url.netloc.decode("ascii")},
                extensions={"sni_hostname": url.raw_host.decode("ascii")},
            )
            try:
                return await self._client.send(request, stream=True)
            except httpx.ConnectError:
                if not addresses:
                    raise

    async def _read_response(self, address: str, response: httpx.Response, types: Collection[str]) -> Response:
        host = _host(address)
        if response.status_code in _BUSY_STATUSES:
            self.rate_limiter.block(host)
            raise WebError(f"{host} asks for fewer requests.", status=response.status_code)
        if response.status_code != 200:
            raise WebError(f"{host} responded with status {response.status_code}.", status=response.status_code)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not any(kind == wanted or (wanted.endswith("/") and kind.startswith(wanted)) for wanted in types):
            raise WebError(f"{host} did not return text ({kind or 'no content type'}).")
        if "," in response.headers.get("content-encoding", ""):  # unpacked, the inner content could have any size
            raise WebError(f"{host} returned text that is compressed more than once.")
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_PAGE_BYTES:
                raise WebError(f"{host} returned more than {MAX_PAGE_BYTES // 1_000_000} MB.")
        return Response(address, kind, _decode(bytes(body), response.charset_encoding))


def _decode(body: bytes, charset: str | None) -> str:
    meta = _META.search(body[:4096])
    named = charset or (meta[1].decode("ascii") if meta else "")
    try:
        return body.decode(named if _CHARSETS.fullmatch(named) else "utf-8", errors="replace")
    except LookupError:
        return body.decode(errors="replace")


def _host(address: str) -> str:
    return urlsplit(origin_of(address)).hostname or "The address"
