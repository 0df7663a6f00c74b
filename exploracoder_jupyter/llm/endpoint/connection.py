"""A connection to one endpoint: its address and its requests."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias, TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

import anyio
from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.providers import LOCAL, PROVIDERS, find_provider, names, preset_url
from exploracoder_jupyter.core.configuration.sections import Endpoint
from exploracoder_jupyter.core.configuration.sources import Secrets
from exploracoder_jupyter.core.errors import EndpointError, UsageError
from exploracoder_jupyter.core.network_environment import EnvironmentProxy, certificates, find_proxy
from exploracoder_jupyter.core.secrets.secret_names import header_secrets
from exploracoder_jupyter.core.secrets.secret_patterns import replace_user_info
from exploracoder_jupyter.llm.endpoint import exchanges, faults
from exploracoder_jupyter.llm.endpoint.exchanges import (
    CURRENT_TRAFFIC,
    Report,
    SilenceReporter,
    Traffic,
    as_list,
    as_object,
    format_seconds,
)
from exploracoder_jupyter.llm.endpoint.faults import Fault, Target, explain, key_remedy, retry_delay

if TYPE_CHECKING:
    import openai

    from exploracoder_jupyter.core.http_client import httpx


# Addresses of endpoints: which are local, and which part of one may be shown.
#
# Local means *this machine*: a private or `.local` address is another one, so data sent there leaves this machine,
# which the user is notified of.

_PLAIN_PARAMETERS = ("api-version", "api_version")
"""Parameters of an address's query that are not secrets."""

OPENAI = PROVIDERS["openai"].url

PRESETS = LOCAL


def resolve_address(base_url: str | None) -> str:
    """Return the URL for a `base_url` setting: the setting itself, a preset's URL, or OpenAI's. Raises UsageError if it
    is neither a preset nor an http(s) URL.
    """
    base_url = (base_url or "").strip()
    if not base_url:
        return OPENAI
    if known := preset_url(base_url):
        return known
    if not base_url.startswith(("http://", "https://")) or _host(base_url) is None:
        raise UsageError(
            f"base_url {base_url!r} is not an address.",
            remedy=f"Use an address that starts with http:// or https://, or one of: {', '.join(names())}.",
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


# A connection to one endpoint: makes requests through `openai`, which is imported on first use.
#
# Failures are values (`Fault`), because exceptions of the client must not leave this module, not even as the
# context of another: they contain requests, and requests contain the key. A request is retried after 408, 409, 429,
# 5xx, a timeout or a lost connection, with backoff, up to the endpoint's limit of retries. The client could retry
# as well, but would report neither the number of requests nor the reason for a wait.
#
# Three time limits apply to an exchange: connecting takes at most ten seconds, the endpoint may be silent for at
# most its `timeout`, and everything, including retries and waits, ends at the deadline set by the caller.

_CONNECT_SECONDS = 10.0
_LIST_SECONDS = 5.0
"""Time limit for listing the models, a convenience that must not take long."""
_SHORT_WAIT = 3.0
"""Waits before a retry up to this many seconds are not reported."""

_NO_KEY = "not-needed"
"""Sent to servers without keys, because the client requires one."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_EXTRA = frozenset(["messages", "model", "n", "stream"])
"""What a request is made of, and how its answer is read."""

_T = TypeVar("_T")
_END: Final = object()

Stream: TypeAlias = "AsyncGenerator[JsonValue | Fault]"
"""Chunks, each an object; a final fault means that the stream broke off."""

Answer: TypeAlias = "JsonValue | Stream | Fault"


class Connection:
    """The client for one endpoint, with the explanation of its failures. Close it.

    `report` receives a sentence when the endpoint is silent for a while, or when a retry has to wait.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        secrets: Secrets,
        *,
        model: str,
        report: Report | None = None,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        self._key = _key(endpoint, secrets)
        self._extra_body = _extra_body(endpoint)
        self._hidden = (*([self._key] if self._key else []), *header_secrets(endpoint.headers))
        provider = find_provider(endpoint.base_url)
        self._list_headers = provider.list_headers if provider else {}
        self._retries = endpoint.retries
        self._report = report or (lambda sentence: None)
        # A proxy cannot reach local addresses of this machine.
        is_direct = http_client is not None or is_local(endpoint.base_url)
        proxy = None if is_direct else find_proxy(resolve_address(endpoint.base_url))
        self.target = Target(
            url=redact_address(endpoint.base_url),
            model=model,
            key=self._key is not None,
            base_url=endpoint.base_url,
            timeout=endpoint.timeout,
            proxy=proxy.variable if proxy else "",
        )
        self._client = _client(endpoint, self._key or _NO_KEY, http_client, proxy)

    async def chat(self, body: dict[str, Any], *, deadline: float) -> Answer:
        """Make a chat request: return a stream, which must be closed, if the body requests one, else the whole reply.

        Every chunk, and the whole reply, is an object; `choices`, if present, is a list.
        """
        import openai

        exchange, body = Traffic(deadline), body | self._extra_body
        if body.get("stream"):
            form = openai.AsyncStream[object]
            post = self._client.post
            answer = await self._request(
                exchange, lambda: post("/chat/completions", cast_to=object, body=body, stream=True, stream_cls=form)
            )
            return answer if isinstance(answer, Fault) else self._chunks(answer, exchange)
        return await self._post(exchange, "/chat/completions", body)

    async def embeddings(self, texts: Sequence[str]) -> JsonValue | Fault:
        """Return vectors of the texts, as numbers rather than base64, which some servers do not support."""
        body: dict[str, Any] = {"input": list(texts), "model": self.target.model, "encoding_format": "float"}
        return await self._post(Traffic(anyio.current_time() + 2 * self.target.timeout), "/embeddings", body)

    async def models(self) -> tuple[str, ...] | Fault:
        """Return the names of the models that the endpoint lists. Makes one request with a short timeout."""
        import openai

        timeout = min(_LIST_SECONDS, self.target.timeout)
        client = self._client.with_options(timeout=timeout)
        options: Any = {}
        if self._list_headers:
            headers = {name: value.format(key=self._key or "") for name, value in self._list_headers.items()}
            options = {"headers": {"Authorization": openai.Omit(), **headers}}
        exchange = Traffic(anyio.current_time() + timeout)
        answer = await self._request(
            exchange, lambda: client.get("/models", cast_to=object, options=options), retries=0
        )
        if isinstance(answer, Fault):
            return answer
        page = cast(JsonValue, answer)
        if isinstance(page, (dict, list)) and (fault := self._fault_in(page, exchange)):
            return fault
        rows = page.get("data") if isinstance(page, dict) else None
        if not isinstance(rows, list):
            return self._incompatible(exchange, faults.describe_wrong_shape(page) or "its list of models is not one")
        return tuple(str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row)

    async def to_error(self, fault: Fault) -> EndpointError:
        """Return the error to raise for a fault; requests the list of models where that helps."""
        listed = await self.models() if fault.status == 404 else ()
        return explain(fault, self.target, () if isinstance(listed, Fault) else listed)

    def report_retry(self, fault: Fault, seconds: float = 0.0) -> None:
        """Report that the request is repeated after this fault, and in how many seconds."""
        when = f" in {format_seconds(seconds)}" if seconds else ""
        self._report(f"{explain(fault, self.target).message.rstrip('.')}; retrying{when}")

    async def aclose(self) -> None:
        """Close the client. Idempotent."""
        with anyio.CancelScope(shield=True):
            await self._client.close()

    async def _post(self, exchange: Traffic, path: str, body: dict[str, Any]) -> JsonValue | Fault:
        answer = await self._request(exchange, lambda: self._client.post(path, cast_to=object, body=body))
        if isinstance(answer, Fault):
            return answer
        value = cast(JsonValue, answer)
        return self._fault_in(value, exchange) or value

    async def _chunks(self, stream: openai.AsyncStream[object], exchange: Traffic) -> Stream:
        try:
            chunks, received = aiter(stream), None
            while not isinstance(received, Fault):
                received = await self._next(chunks, exchange)
                if received is _END:
                    return
                yield cast("JsonValue | Fault", received)
        finally:
            with anyio.CancelScope(shield=True):
                await stream.close()

    async def _next(self, chunks: AsyncIterator[object], exchange: Traffic) -> object:
        # A server whose data is always ready never suspends this task, so the deadline could not cancel it.
        with self._reporting(exchange), anyio.CancelScope(deadline=exchange.deadline):
            if not exchange.time_left:
                return Fault("unfinished").with_measurements(exchange)
            try:
                chunk = cast(JsonValue, await anext(chunks))
            except StopAsyncIteration:
                return _END
            except faults.client_errors() as error:
                return faults.to_fault(error, exchange, self._hidden)
            return self._fault_in(chunk, exchange) or chunk
        return Fault("unfinished").with_measurements(exchange)

    async def _request(
        self, exchange: Traffic, send: Callable[[], Awaitable[_T]], *, retries: int | None = None
    ) -> _T | Fault:
        limit = self._retries if retries is None else retries
        token = CURRENT_TRAFFIC.set(exchange)
        try:
            with self._reporting(exchange), anyio.CancelScope(deadline=exchange.deadline):
                while True:
                    exchange.start_request()
                    try:
                        return await send()
                    except faults.client_errors() as error:
                        fault = faults.to_fault(error, exchange, self._hidden)
                    may_retry = fault.passing and exchange.requests <= limit
                    if not may_retry or not await self._wait_for_retry(fault, exchange):
                        return fault
        finally:
            CURRENT_TRAFFIC.reset(token)
        return Fault("unfinished" if exchange.answered else "silent").with_measurements(exchange)

    async def _wait_for_retry(self, fault: Fault, exchange: Traffic) -> bool:
        seconds = retry_delay(fault, exchange.requests, min(self.target.timeout, exchange.time_left))
        if seconds is None:
            return False
        if seconds > _SHORT_WAIT or fault.silence > _SHORT_WAIT:
            self.report_retry(fault, seconds)
        exchange.sleeping = True
        await anyio.sleep(seconds)
        exchange.sleeping = False
        return True

    def _reporting(self, exchange: Traffic) -> SilenceReporter:
        return SilenceReporter(exchange, self.target.url, timeout=self.target.timeout, report=self._report)

    def _fault_in(self, answer: JsonValue, exchange: Traffic) -> Fault | None:
        """Return the fault in a reply with a success status: not an object, or an error as sent by gateways."""
        answer = faults.unwrap_error(answer)
        if wrong := faults.describe_wrong_shape(answer):
            return self._incompatible(exchange, wrong)
        reply = as_object(answer)
        if not reply.get("error") or as_list(reply.get("choices")):
            return None
        return faults.parse_error_reply(reply["error"], self._hidden).with_measurements(exchange)

    def _incompatible(self, exchange: Traffic, text: str) -> Fault:
        return Fault("incompatible", text).with_measurements(exchange)


class ConnectionUser:
    """An async context manager with a connection, which `aclose` or the end of the context closes."""

    _connection: Connection

    async def aclose(self) -> None:
        """Close the connection. Idempotent."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _client(
    endpoint: Endpoint, key: str, http_client: httpx.AsyncClient | None, proxy: EnvironmentProxy | None
) -> openai.AsyncOpenAI:
    import openai

    base_url, query = split_query(endpoint.base_url)
    http_client = http_client or _http_client(base_url, proxy)
    exchanges.install_limits(http_client)
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=base_url,
        default_query=query,
        timeout=openai.Timeout(endpoint.timeout, connect=min(_CONNECT_SECONDS, endpoint.timeout)),
        max_retries=0,
        default_headers={**_headers(endpoint), "Accept-Encoding": "identity"},
        http_client=http_client,
    )


def _http_client(base_url: str, proxy: EnvironmentProxy | None) -> httpx.AsyncClient:
    """Return a client with the proxy and certificates of the environment, and nothing else of it."""
    import openai

    from exploracoder_jupyter.core.http_client import httpx

    verify = certificates(base_url)
    # Proxies that are reached by https are verified by the same certificates.
    context = verify if isinstance(verify, ssl.SSLContext) and proxy and proxy.url.scheme == "https" else None
    through = httpx.Proxy(proxy.url, ssl_context=context) if proxy else None
    return openai.DefaultAsyncHttpxClient(trust_env=False, verify=verify, proxy=through)


def _key(endpoint: Endpoint, secrets: Secrets) -> str | None:
    key = secrets.api_key.get_secret_value().strip() if secrets.api_key else ""
    if not key and not endpoint.headers and resolve_address(endpoint.base_url) == OPENAI:
        raise EndpointError(f"No key is configured for {OPENAI}.", remedy=key_remedy())
    if not (key.isascii() and key.isprintable()):
        raise EndpointError("The configured key contains invalid characters.", remedy=key_remedy(endpoint.base_url))
    return key or None


def _headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers of the settings. Raises UsageError, without a value, if one cannot be sent."""
    for name, value in endpoint.headers.items():
        if not (_HEADER_NAME.fullmatch(name) and value.isascii() and value.isprintable()):
            raise UsageError(
                f"The header {name!r} of endpoint.headers contains invalid characters.",
                remedy="Use ASCII letters and digits, on one line.",
            )
    return endpoint.headers


def _extra_body(endpoint: Endpoint) -> dict[str, Any]:
    """Return what the settings add to a request. Raises UsageError if a run depends on it, or it is not JSON."""
    if taken := sorted(_NOT_EXTRA & endpoint.extra_body.keys()):
        raise UsageError(f"endpoint.extra_body cannot set {taken[0]!r}, which each request sets.", remedy="Remove it.")
    try:
        json.dumps(endpoint.extra_body)
    except TypeError as error:
        raise UsageError(
            f"endpoint.extra_body is not JSON: {error}.", remedy="Use texts, numbers and tables."
        ) from error
    return endpoint.extra_body
