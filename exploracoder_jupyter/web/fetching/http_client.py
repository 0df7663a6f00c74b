"""Makes bounded HTTP requests.

Redirects are few and each is checked again; size, time and content types are limited; cookies, credentials and proxies
from the environment are not used.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import anyio
import httpx2

from exploracoder_jupyter.core.network_environment import certificates
from exploracoder_jupyter.core.version import __version__
from exploracoder_jupyter.web.fetching.address_check import (
    Resolver,
    check_address,
    join_link,
    origin_of,
    resolve_host,
    resolve_public,
)
from exploracoder_jupyter.web.fetching.rate_limit import RateLimiter
from exploracoder_jupyter.web.web_types import MAX_PAGE_BYTES, WebError

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
        transport: httpx2.AsyncBaseTransport | None = None,
        resolve: Resolver = resolve_host,
    ) -> None:
        self.rate_limiter = rate_limiter or RateLimiter()
        self._resolve = resolve
        self._client = httpx2.AsyncClient(
            transport=transport,
            headers={"User-Agent": f"{AGENT}/{__version__}"},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            timeout=_IDLE_SECONDS,
            # Hosts on one IP address must not share a connection that was verified for one of them.
            limits=httpx2.Limits(max_keepalive_connections=0),
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
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
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

    async def _send(self, address: str, addresses: list[str]) -> httpx2.Response:
        url = httpx2.URL(address)
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
            except httpx2.ConnectError:
                if not addresses:
                    raise

    async def _read_response(self, address: str, response: httpx2.Response, types: Collection[str]) -> Response:
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
