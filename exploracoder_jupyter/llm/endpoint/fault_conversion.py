"""Converts exceptions of the client, and invalid replies, into faults with the measurements of their exchange."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import JsonValue

from exploracoder_jupyter.llm.endpoint.exchange_traffic import Traffic
from exploracoder_jupyter.llm.endpoint.fault_messages import Fault, Kind, quote_message
from exploracoder_jupyter.llm.endpoint.response_limits import (
    EncodingRefused,
    RedirectRefused,
    ResponseRefused,
    ResponseTooLarge,
)
from exploracoder_jupyter.llm.endpoint.retry_delays import requested_delay
from exploracoder_jupyter.llm.endpoint.tolerant_json import as_list, as_object, as_text, json_type

if TYPE_CHECKING:
    import httpx2


_MESSAGE_KEYS = ("message", "detail", "error", "errors", "msg", "error_description", "title")
_MAX_NESTING = 5
_SECONDS = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)s")
_TEMPLATE_ERROR = re.compile(r"\bjinja|chat[ _]?template|roles? must alternate|system role", re.I)
"""An error of the model's chat template, which is an error of the server to some, and does not pass."""


def client_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that indicate a fault of the endpoint; RecursionError: a body that is nested too deeply."""
    import openai

    return (openai.OpenAIError, ResponseRefused, ValueError, RecursionError)


def to_fault(error: Exception, exchange: Traffic, key: str | None) -> Fault:
    """Return the fault for an exception of the client."""
    return _fault(error, exchange, key).with_measurements(exchange)


def unwrap_error(answer: JsonValue) -> JsonValue:
    """Return the object of an error that is sent in a list, as Gemini does; any other answer as it is."""
    first = answer[0] if isinstance(answer, list) and answer else None
    return first if isinstance(first, dict) and first.get("error") else answer


def describe_wrong_shape(answer: JsonValue) -> str:
    """Return why this is not a reply of an OpenAI-compatible endpoint; empty if it is one."""
    if isinstance(answer, str):
        return "it sent a web page" if answer.lstrip().startswith("<") else "it sent no JSON"
    if not isinstance(answer, dict):
        return f"its reply is {json_type(answer)}, not an object"
    choices = answer.get("choices")
    return "" if choices is None or isinstance(choices, list) else f"its `choices` are {json_type(choices)}, not a list"


def parse_error_reply(error: JsonValue, key: str | None) -> Fault:
    """Return the fault for a reply that contains an error despite its success status."""
    code = as_object(error).get("code")
    status = code if type(code) is int and 400 <= code < 600 else 502
    return Fault("status", quote_message(_server_message(error), key), status, passing=False)


def _fault(error: Exception, exchange: Traffic, key: str | None) -> Fault:
    import openai

    match error:
        case ResponseTooLarge():
            return Fault("too large", str(error))
        case RedirectRefused():
            return Fault("redirect", quote_message(str(error), key))
        case EncodingRefused():
            return Fault(
                "incompatible", quote_message(f"its response is compressed ({error}), which was not requested", key)
            )
        case openai.APITimeoutError() | openai.APIConnectionError():
            return _connection_fault(error.__cause__, exchange, key)
        case openai.APIStatusError():
            return _refusal(error.response, error.body, error.param, key)
        case openai.APIError():  # within a stream
            return parse_error_reply(_json(error.body) or str(error), key)
        case RecursionError():
            return Fault("incompatible", "its reply is nested too deeply")
        case UnicodeDecodeError():
            return Fault("incompatible", "its reply is not UTF-8")
    return Fault("incompatible", quote_message(f"its reply is not JSON ({error})", key))


def _refusal(response: httpx2.Response, body: object, parameter: str | None, key: str | None) -> Fault:
    error = unwrap_error(_json(body))
    error = as_object(error).get("error") or error
    status, advice = response.status_code, response.headers.get("x-should-retry")
    passing = advice == "true" if advice in ("true", "false") else status in (408, 409, 429) or status >= 500
    message = _server_message(error)
    return Fault(
        "status",
        quote_message(message, key),
        status,
        as_text(_json(parameter)) or as_text(as_object(error).get("param")),
        passing=passing and not _TEMPLATE_ERROR.search(message),
        retry_after=requested_delay(response.headers) or _delay_in(error),
    )


def _delay_in(error: JsonValue) -> float | None:
    """Return the seconds to wait that Google's `RetryInfo` asks for."""
    delays = (as_text(as_object(item).get("retryDelay")) for item in as_list(as_object(error).get("details")))
    return next((float(found[1]) for delay in delays if (found := _SECONDS.fullmatch(delay))), None)


def _connection_fault(cause: BaseException | None, exchange: Traffic, key: str | None) -> Fault:
    import httpx2

    text, kind = quote_message(_root_message(cause), key), _kind(cause, exchange)
    unfit = (httpx2.UnsupportedProtocol, httpx2.TooManyRedirects, httpx2.DecodingError)
    if isinstance(cause, unfit):
        return Fault("incompatible", text)
    return Fault(kind, text if kind in ("unreachable", "unresolved", "tls") else "", passing=kind != "tls")


def _kind(cause: BaseException | None, exchange: Traffic) -> Kind:
    import httpx2

    match cause:
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return "no connection"
        case httpx2.TimeoutException():
            return "stalled" if exchange.answered else "silent"
        case httpx2.ConnectError() | httpx2.ProxyError():
            kinds: dict[type[BaseException], Kind] = {ssl.SSLError: "tls", socket.gaierror: "unresolved"}
            found = (kinds[type_] for error in _chain(cause) for type_ in kinds if isinstance(error, type_))
            return next(found, "unreachable")
    return "cut" if exchange.answered else "closed"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            yield from _chain(error.exceptions[0])
        error = error.__cause__ or error.__context__


def _root_message(cause: BaseException | None) -> str:
    """Return the operating system's message, if there is one: the client's messages describe its own attempts."""
    for error in _chain(cause):
        if isinstance(error, (ssl.SSLError, socket.gaierror)) and error.strerror:
            return error.strerror
        if isinstance(error, OSError) and error.errno:
            return os.strerror(error.errno)
    return str(cause or "")


def _server_message(body: JsonValue) -> str:
    """Return the message in an error, which some servers nest, or send in a list."""
    for _ in range(_MAX_NESTING):
        if isinstance(body, dict):
            body = next((body[key] for key in _MESSAGE_KEYS if body.get(key)), "")
        elif isinstance(body, list) and len(body) == 1 and isinstance(body[0], dict) and "loc" not in body[0]:
            body = body[0]
    text = body if isinstance(body, str) else str(body or "")
    return "" if text.lstrip().startswith("<") else text


def _json(body: object) -> JsonValue:
    return body if isinstance(body, (dict, list, str)) else None
