"""Limits how much of a response is read, and counts what is received.

The limits are hooks of the HTTP client, so that they also apply to error responses and redirects, and while a body is
read: memory never contains more of it than the limit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, cast

import anyio

from exploracoder_jupyter.llm.endpoint.exchange_traffic import CURRENT_TRAFFIC, Traffic

if TYPE_CHECKING:
    import httpx2

_MAX_BYTES = {"stream": 256_000_000, "embeddings": 16_000_000, "other": 4_000_000}
"""Limits for one response. Only the text of a stream accumulates in memory, which `reply_delivery` limits."""
_MAX_EVENT_BYTES = 1_000_000
"""Bytes of one server-sent event, which is in memory as a whole."""
_MAX_COMMENTS = 20_000
"""Lines of a stream that keep the connection alive."""
_EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class ResponseRefused(Exception):
    """A response that is not read further."""


class ResponseTooLarge(ResponseRefused):
    """The response is larger than any valid reply; the message gives the limit."""


class EncodingRefused(ResponseRefused):
    """The response is compressed, though no encoding was offered; decompressed it could have any size."""


class RedirectRefused(ResponseRefused):
    """The response redirects to another server, which must get neither key nor prompt; the message is its address."""


def install_limits(client: httpx2.AsyncClient) -> None:
    """Add hooks that measure and limit all responses to the client."""
    hooks = client.event_hooks
    client.event_hooks = {**hooks, "response": [*hooks.get("response", ()), _limit]}


async def _limit(response: httpx2.Response) -> None:
    traffic = CURRENT_TRAFFIC.get()
    traffic.answered, traffic.last_activity = True, anyio.current_time()
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise EncodingRefused(response.headers["content-encoding"])
    if response.has_redirect_location:
        _check_redirect(response)
    response.stream = _limited(cast("httpx2.AsyncByteStream", response.stream), _kind(response), traffic)


def _check_redirect(response: httpx2.Response) -> None:
    asked = response.request.url
    target = asked.join(response.headers["location"])
    upgraded = target.host == asked.host and (asked.scheme, target.scheme) == ("http", "https")
    if (target.scheme, target.host, target.port) != (asked.scheme, asked.host, asked.port) and not upgraded:
        raise RedirectRefused(str(target.copy_with(userinfo=b"", query=None, fragment=None)))


def _kind(response: httpx2.Response) -> str:
    if response.is_success and response.headers.get("content-type", "").startswith("text/event-stream"):
        return "stream"
    return "embeddings" if response.request.url.path.endswith("/embeddings") else "other"


def _limited(stream: httpx2.AsyncByteStream, kind: str, traffic: Traffic) -> httpx2.AsyncByteStream:
    import httpx2

    class Limited(httpx2.AsyncByteStream):
        """The body of a response, within the limits."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            event, comments = _EventSize() if kind == "stream" else None, 0
            async for chunk in stream:
                traffic.add_received(len(chunk))
                if traffic.received > _MAX_BYTES[kind]:
                    raise ResponseTooLarge(f"its response has more than {_MAX_BYTES[kind] // 1_000_000} MB")
                comments += chunk.count(b"\n:") if event else 0
                if comments > _MAX_COMMENTS:
                    raise ResponseTooLarge(f"its stream has more than {_MAX_COMMENTS:,} comments")
                if event and event.add_chunk(chunk) > _MAX_EVENT_BYTES:
                    raise ResponseTooLarge(f"one event of its stream has more than {_MAX_EVENT_BYTES // 1_000_000} MB")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Limited()


class _EventSize:
    def __init__(self) -> None:
        self._size = 0
        self._tail = b""

    def add_chunk(self, chunk: bytes) -> int:
        """Return the size including this chunk."""
        joined = self._tail + chunk
        end = max(joined.rfind(mark) for mark in _EVENT_ENDS)
        self._size = len(joined) - end if end >= 0 else self._size + len(chunk)
        self._tail = joined[-3:]
        return self._size
