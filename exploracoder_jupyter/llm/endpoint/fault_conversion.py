"""Converts exceptions of the client, and invalid replies, into faults with the measurements of their exchange."""

from __future__ import annotations

import os
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
from exploracoder_jupyter.llm.endpoint.tolerant_json import as_object, as_text, json_type

if TYPE_CHECKING:
    import httpx2


def client_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that indicate a fault of the endpoint; RecursionError: a body that is nested too deeply."""
    import openai

    return (openai.OpenAIError, ResponseRefused, ValueError, RecursionError)


def to_fault(error: Exception, exchange: Traffic, key: str | None) -> Fault:
    """Return the fault for an exception of the client."""
    return _fault(error, exchange, key).with_measurements(exchange)


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
    status, advice = response.status_code, response.headers.get("x-should-retry")
    passing = advice == "true" if advice in ("true", "false") else status in (408, 409, 429) or status >= 500
    return Fault(
        "status",
        quote_message(_server_message(_json(body)), key),
        status,
        as_text(_json(parameter)),
        passing=passing,
        retry_after=requested_delay(response.headers),
    )


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
    if isinstance(body, dict):
        message = body.get("message") or body.get("detail") or body.get("error") or ""
        return message if isinstance(message, str) else str(message)
    text = as_text(body)
    return "" if text.lstrip().startswith("<") else text


def _json(body: object) -> JsonValue:
    return body if isinstance(body, (dict, str)) else None
