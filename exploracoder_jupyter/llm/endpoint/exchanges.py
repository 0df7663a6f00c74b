"""What an exchange with an endpoint sends and receives: counted, limited, and read where it is not as documented."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, cast

import anyio
from pydantic import JsonValue

if TYPE_CHECKING:
    from exploracoder_jupyter.core.http_client import httpx


# Reads JSON from a server that may send anything: a value of another type than expected counts as missing.


def as_object(value: JsonValue) -> Mapping[str, JsonValue]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> Sequence[JsonValue]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def as_text(value: JsonValue) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: JsonValue, maximum: int) -> int | None:
    """Return the value if it is an integer from 0 to `maximum`, else `None`."""
    return value if type(value) is int and 0 <= value <= maximum else None


def json_type(value: JsonValue) -> str:
    """Return the JSON name of the value's type, with an article."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


# Measures what an exchange with an endpoint sends and receives, and reports long silence.
#
# Error messages contain these measurements.

Report = Callable[[str], None]
"""Receives a sentence about what is being waited for, without the full stop."""

_FIRST_REPORT = 15.0
"""Seconds of silence before the first report; the interval then doubles."""


@dataclass(slots=True)
class Traffic:
    """One exchange: a request with its retries, and the response."""

    deadline: float
    """The time by which the exchange ends, retries included."""
    began: float = field(default_factory=anyio.current_time)
    requests: int = 0
    """Number of requests sent."""
    answered: bool = False
    """Whether a response to the last request began."""
    received: int = 0
    """Bytes of that response's body."""
    last_activity: float = field(default_factory=anyio.current_time)
    """When the last request was sent, or the last data of its response received."""
    sleeping: bool = False
    """Whether the exchange waits before the next request."""

    def start_request(self) -> None:
        """Record that a request is sent."""
        self.requests += 1
        self.answered, self.received, self.last_activity = False, 0, anyio.current_time()

    def add_received(self, size: int) -> None:
        """Record that `size` bytes of the body were received."""
        self.received += size
        self.last_activity = anyio.current_time()

    @property
    def time_left(self) -> float:
        """Seconds until the deadline."""
        return max(self.deadline - anyio.current_time(), 0.0)

    @property
    def seconds(self) -> float:
        """Seconds since the exchange began."""
        return anyio.current_time() - self.began

    @property
    def silence(self) -> float:
        """Seconds since something was sent or received."""
        return anyio.current_time() - self.last_activity


CURRENT_TRAFFIC: ContextVar[Traffic] = ContextVar("traffic")
"""The exchange of the current task."""


class SilenceReporter:
    """Context manager that reports when the endpoint has sent nothing for a while."""

    def __init__(self, traffic: Traffic, url: str, *, timeout: float, report: Report) -> None:
        self._traffic = traffic
        self._url = url
        self._timeout = timeout
        self._report = report
        self._next = self._first = min(_FIRST_REPORT, timeout / 2)
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._wait(self._first)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer:
            self._timer.cancel()

    def _wait(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._check)

    def _check(self) -> None:
        silent = self._traffic.silence
        if silent < self._first:
            self._next = self._first
        elif silent >= self._next and not self._traffic.sleeping:
            until = f"waiting until {format_seconds(self._timeout)}"
            self._report(f"{self._url} has sent nothing for {format_seconds(silent)}; {until}")
            self._next *= 2
        self._wait(max(self._next - silent, 0.05))


def format_seconds(seconds: float) -> str:
    """Format a duration for a message: whole seconds, or one decimal below ten."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f}".removesuffix(".0") + " s"


# Limits how much of a response is read, and counts what is received.
#
# The limits are hooks of the HTTP client, so that they also apply to error responses and redirects, and while a
# body is read: memory never contains more of it than the limit.

_MAX_BYTES = {"stream": 256_000_000, "embeddings": 16_000_000, "other": 4_000_000}
"""Limits for one response. Only the text of a stream accumulates in memory, which `replies` limits."""
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


def install_limits(client: httpx.AsyncClient) -> None:
    """Add hooks that measure and limit all responses to the client."""
    hooks = client.event_hooks
    client.event_hooks = {**hooks, "response": [*hooks.get("response", ()), _limit]}


async def _limit(response: httpx.Response) -> None:
    traffic = CURRENT_TRAFFIC.get()
    traffic.answered, traffic.last_activity = True, anyio.current_time()
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise EncodingRefused(response.headers["content-encoding"])
    if response.has_redirect_location:
        _check_redirect(response)
    response.stream = _limited(cast("httpx.AsyncByteStream", response.stream), _kind(response), traffic)


def _check_redirect(response: httpx.Response) -> None:
    asked = response.request.url
    target = asked.join(response.headers["location"])
    upgraded = target.host == asked.host and (asked.scheme, target.scheme) == ("http", "https")
    if (target.scheme, target.host, target.port) != (asked.scheme, asked.host, asked.port) and not upgraded:
        raise RedirectRefused(str(target.copy_with(userinfo=b"", query=None, fragment=None)))


def _kind(response: httpx.Response) -> str:
    if response.is_success and response.headers.get("content-type", "").startswith("text/event-stream"):
        return "stream"
    return "embeddings" if response.request.url.path.endswith("/embeddings") else "other"


def _limited(stream: httpx.AsyncByteStream, kind: str, traffic: Traffic) -> httpx.AsyncByteStream:
    from exploracoder_jupyter.core.http_client import httpx

    class Limited(httpx.AsyncByteStream):
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
