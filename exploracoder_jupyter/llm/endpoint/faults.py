"""The failures of an endpoint, each in one plain sentence with a remedy, and when to ask again."""

from __future__ import annotations

import email.utils
import math
import os
import random
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from pydantic import JsonValue

from exploracoder_jupyter.core.configuration.providers import key_variables
from exploracoder_jupyter.core.configuration.sources import config_path
from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.messages import choose_wording
from exploracoder_jupyter.core.secrets.redaction import known_forms
from exploracoder_jupyter.llm.endpoint.exchanges import (
    EncodingRefused,
    RedirectRefused,
    ResponseRefused,
    ResponseTooLarge,
    Traffic,
    as_list,
    as_object,
    as_text,
    format_seconds,
    json_type,
)

if TYPE_CHECKING:
    from exploracoder_jupyter.core.http_client import httpx


# Explains the failures of an endpoint, each in one plain sentence with a remedy.
#
# A `Fault` is the neutral form of a failed request: it contains no client object, header or key. `explain` turns it
# into the error that the user sees; its numbers are measured. A key that a server echoes is redacted, and a
# server's message about a key is not quoted.

_MAX_CHARACTERS = 300

_MAX_NAMES = 12

_INVALID_KEY = re.compile(
    r"\bapi[ _-]?key\b.{0,30}\b(?:not valid|invalid|expired)|\b(?:invalid|incorrect)\b.{0,15}\bapi[ _-]?key\b", re.I
)

Kind = Literal[
    "status",
    "unreachable",
    "unresolved",
    "tls",
    "no connection",
    "silent",
    "stalled",
    "unfinished",
    "closed",
    "cut",
    "too large",
    "redirect",
    "incompatible",
]
"""What happened. `no connection`: none within the limit; `silent`: no answer began; `stalled`: an answer began, then
nothing more arrived; `unfinished`: the deadline passed; `closed`: the connection was lost before an answer; `cut`: it
was
lost within one; `incompatible`: the answer is not that of an OpenAI-compatible endpoint."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A request that failed and is not retried."""

    kind: Kind
    text: str = ""
    """Message of the server or the operating system, with keys redacted."""
    status: int = 0
    parameter: str = ""
    passing: bool = False
    """Whether the same request may succeed later."""
    retry_after: float | None = None
    """Seconds that the server requests to wait."""
    requests: int = 0
    seconds: float = 0.0
    silence: float = 0.0
    """Seconds since the endpoint last sent anything."""
    received: int = 0

    def with_measurements(self, exchange: Traffic) -> Fault:
        """Return this fault with the measurements of its exchange."""
        return replace(
            self,
            requests=exchange.requests,
            seconds=exchange.seconds,
            silence=exchange.silence,
            received=exchange.received,
        )

    def plus(self, earlier: Fault | None) -> Fault:
        """Return this fault with the requests and seconds of an earlier one added."""
        if earlier is None:
            return self
        return replace(self, requests=self.requests + earlier.requests, seconds=self.seconds + earlier.seconds)

    @property
    def refuses_key(self) -> bool:
        """Whether the key is wrong or missing; Gemini answers 400 to a wrong one."""
        return self.status in (401, 403) or (self.status == 400 and _INVALID_KEY.search(self.text) is not None)

    @property
    def is_final(self) -> bool:
        """Whether to send no further requests: the deadline has passed, or another request would cost as much."""
        return self.kind in ("unfinished", "too large")


@dataclass(frozen=True, slots=True)
class Target:
    """What was requested from which endpoint, for the error message."""

    url: str
    """As returned by `connection.redact_address`."""
    model: str
    key: bool
    timeout: float
    base_url: str | None = None
    """As in the settings; never shown."""
    proxy: str = ""
    """What names the proxy through which it is requested; empty if there is none."""


def explain(fault: Fault, target: Target, models: Sequence[str] = ()) -> EndpointError:
    """Return the error for the user. `models` are those that the endpoint lists, if they were requested."""
    if fault.kind == "status":
        return _refusal_message(fault, target, models)
    what, remedy = _EXPLANATIONS[fault.kind]
    sentence = what.format(
        because=_reason(fault.text),
        text=fault.text,
        host=_host(target.url),
        silence=format_seconds(fault.silence),
        seconds=format_seconds(fault.seconds),
        requests=f" and {fault.requests} requests" if fault.requests > 1 else "",
        tries=f" ({_describe_tries(fault)})" if fault.requests > 1 else "",
    )
    if target.proxy and fault.kind in ("unreachable", "unresolved", "no connection"):
        remedy = f"Check base_url, that the server is running, and the proxy in {target.proxy}."
    return EndpointError(f"{target.url} {sentence}.", remedy=remedy)


def _host(url: str) -> str:
    with suppress(ValueError):
        return urlsplit(url).hostname or url
    return url


_CHECK_MODEL = "Check that the model is loaded, or raise the endpoint's timeout."
_CHECK_SERVER = "Check base_url, and that the server is running."
_CHECK_LOG = "Check the server's own log, or try again later."

_EXPLANATIONS: dict[Kind, tuple[str, str]] = {
    "unreachable": ("cannot be reached{tries}{because}", _CHECK_SERVER),
    "unresolved": ("cannot be reached because the name {host} is unknown{tries}{because}", _CHECK_SERVER),
    "tls": (
        "was reached, but a secure connection could not be established{because}",
        "Check whether base_url must begin with http:// or https://, and check the server's certificate.",
    ),
    "no connection": ("accepted no connection within {silence}{tries}", _CHECK_SERVER),
    "silent": ("sent no answer within {silence}{tries}", _CHECK_MODEL),
    "stalled": ("stopped in the middle of its reply and sent nothing for {silence}{tries}", _CHECK_MODEL),
    "unfinished": ("had not completed its reply after {seconds}{requests}", _CHECK_MODEL),
    "closed": ("closed the connection without an answer{tries}", _CHECK_LOG),
    "cut": ("closed the connection in the middle of its reply{tries}", _CHECK_LOG),
    "too large": ("sent too much: {text}", "Check that base_url is the address of a language model."),
    "redirect": (
        "redirects to another server, {text}, which was not contacted",
        "Set base_url to that address if you trust it.",
    ),
    "incompatible": (
        "does not answer like an OpenAI-compatible endpoint{because}",
        "Check base_url; it usually ends in /v1.",
    ),
}


def _refusal_message(fault: Fault, target: Target, models: Sequence[str]) -> EndpointError:
    if fault.refuses_key:
        return EndpointError(
            f"{target.url} refused the key ({fault.status})."
            if target.key
            else f"{target.url} requires a key ({fault.status}), and none is configured.",
            remedy=key_remedy(target.base_url),
        )
    if fault.status == 404:
        return _not_found(fault, target, models)
    if fault.status == 429:
        return EndpointError(
            f"{target.url} refuses further requests (429, {_describe_tries(fault)}){_reason(fault.text)}.",
            remedy="Wait, use fewer candidates, or check the account's quota.",
        )
    if fault.status >= 500:
        return EndpointError(
            f"{target.url} failed ({fault.status}, {_describe_tries(fault)}){_reason(fault.text)}.", remedy=_CHECK_LOG
        )
    return EndpointError(
        f"{target.url} refused the request ({fault.status}){_reason(fault.text)}.",
        remedy=f"Check that {target.model!r} is a chat model with a context long enough for the prompt.",
    )


def _not_found(fault: Fault, target: Target, models: Sequence[str]) -> EndpointError:
    if models and target.model not in models:
        return EndpointError(f"{target.url} has no model {target.model!r}.", remedy=f"Available: {join_names(models)}.")
    return EndpointError(
        f"{target.url} was not found, or has no model {target.model!r} (404){_reason(fault.text)}.",
        remedy="Check base_url, which usually ends in /v1, and the model's name.",
    )


def join_names(models: Sequence[str]) -> str:
    """Return the first names of models, separated by commas."""
    return ", ".join(models[:_MAX_NAMES]) + (", ..." if len(models) > _MAX_NAMES else "")


def key_remedy(base_url: str | None = None) -> str:
    """Return a sentence on where to set a key for this `base_url`."""
    names = f"{' or '.join(key_variables(base_url))} in the environment"
    otherwise = f"{names}, or api_key in {config_path()}"
    return choose_wording(terminal=f"Set {otherwise}.", notebook=f"Run `%explora config key`, or set {otherwise}.")


def quote_message(text: str, hidden: Sequence[str]) -> str:
    """Return a server's message on one line, shortened, with keys redacted."""
    for form in known_forms(hidden):
        text = text.replace(form, "[key]")
    line = " ".join(text.split())
    return line if len(line) <= _MAX_CHARACTERS else f"{line[:_MAX_CHARACTERS]}..."


def _reason(text: str) -> str:
    return f": {text.rstrip('.')}" if text else ""


def _describe_tries(fault: Fault) -> str:
    """Return the number of tries, with their duration and the wait that the server requests, if at least one second."""
    times = "tried once" if fault.requests < 2 else f"tried {fault.requests} times"
    spent = f" in {format_seconds(fault.seconds)}" if fault.requests > 1 and fault.seconds >= 1 else ""
    wait = fault.retry_after if fault.retry_after and fault.retry_after >= 1 else None
    return times + spent + (f", the server asks to wait {format_seconds(wait)}" if wait else "")


# How long to wait before a request to an endpoint is sent again.

_BACKOFF: Final = 0.5
"""Seconds before the first retry; doubles with each retry."""
_MAX_BACKOFF: Final = 8.0


def retry_delay(fault: Fault, retry: int, limit: float) -> float | None:
    """Return the seconds to wait before this retry, counted from 1: what the server asks for, else the backoff.

    `None` if that would be longer than `limit` seconds: then the request is not sent again.
    """
    backoff = min(_BACKOFF * 2 ** (retry - 1), _MAX_BACKOFF)
    seconds = fault.retry_after or backoff * random.uniform(0.75, 1)
    return seconds if seconds <= limit else None


def requested_delay(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that the headers of a response request to wait; `None` if they do not."""
    header = headers.get("retry-after", "")
    seconds = _parse_number(headers.get("retry-after-ms", "")) / 1000
    if math.isnan(seconds):
        seconds = _parse_number(header)
    if math.isnan(seconds) and (date := email.utils.parsedate_tz(header)):
        seconds = email.utils.mktime_tz(date) - time.time()
    return seconds if 0 < seconds < math.inf else None


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


# Converts exceptions of the client, and invalid replies, into faults with the measurements of their exchange.

_MESSAGE_KEYS = ("message", "detail", "error", "errors", "msg", "error_description", "title")
_MAX_NESTING = 5
_SECONDS = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)s")
_TEMPLATE_ERROR = re.compile(r"\bjinja|chat[ _]?template|roles? must alternate|system role", re.I)
"""An error of the model's chat template, which is an error of the server to some, and does not pass."""


def client_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that indicate a fault of the endpoint; RecursionError: a body that is nested too deeply."""
    import openai

    return (openai.OpenAIError, ResponseRefused, ValueError, RecursionError)


def to_fault(error: Exception, exchange: Traffic, hidden: Sequence[str]) -> Fault:
    """Return the fault for an exception of the client."""
    return _fault(error, exchange, hidden).with_measurements(exchange)


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


def parse_error_reply(error: JsonValue, hidden: Sequence[str]) -> Fault:
    """Return the fault for a reply that contains an error despite its success status."""
    code = as_object(error).get("code")
    status = code if type(code) is int and 400 <= code < 600 else 502
    return Fault("status", quote_message(_server_message(error), hidden), status, passing=False)


def _fault(error: Exception, exchange: Traffic, hidden: Sequence[str]) -> Fault:
    import openai

    match error:
        case ResponseTooLarge():
            return Fault("too large", str(error))
        case RedirectRefused():
            return Fault("redirect", quote_message(str(error), hidden))
        case EncodingRefused():
            return Fault(
                "incompatible", quote_message(f"its response is compressed ({error}), which was not requested", hidden)
            )
        case openai.APITimeoutError() | openai.APIConnectionError():
            return _connection_fault(error.__cause__, exchange, hidden)
        case openai.APIStatusError():
            return _refusal(error.response, error.body, error.param, hidden)
        case openai.APIError():  # within a stream
            return parse_error_reply(_json(error.body) or str(error), hidden)
        case RecursionError():
            return Fault("incompatible", "its reply is nested too deeply")
        case UnicodeDecodeError():
            return Fault("incompatible", "its reply is not UTF-8")
    return Fault("incompatible", quote_message(f"its reply is not JSON ({error})", hidden))


def _refusal(response: httpx.Response, body: object, parameter: str | None, hidden: Sequence[str]) -> Fault:
    error = unwrap_error(_json(body))
    error = as_object(error).get("error") or error
    status, advice = response.status_code, response.headers.get("x-should-retry")
    passing = advice == "true" if advice in ("true", "false") else status in (408, 409, 429) or status >= 500
    message = _server_message(error)
    return Fault(
        "status",
        quote_message(message, hidden),
        status,
        as_text(_json(parameter)) or as_text(as_object(error).get("param")),
        passing=passing and not _TEMPLATE_ERROR.search(message),
        retry_after=requested_delay(response.headers) or _delay_in(error),
    )


def _delay_in(error: JsonValue) -> float | None:
    """Return the seconds to wait that Google's `RetryInfo` asks for."""
    delays = (as_text(as_object(item).get("retryDelay")) for item in as_list(as_object(error).get("details")))
    return next((float(found[1]) for delay in delays if (found := _SECONDS.fullmatch(delay))), None)


def _connection_fault(cause: BaseException | None, exchange: Traffic, hidden: Sequence[str]) -> Fault:
    from exploracoder_jupyter.core.http_client import httpx

    text, kind = quote_message(_root_message(cause), hidden), _kind(cause, exchange)
    unfit = (httpx.UnsupportedProtocol, httpx.TooManyRedirects, httpx.DecodingError)
    if isinstance(cause, unfit):
        return Fault("incompatible", text)
    return Fault(kind, text if kind in ("unreachable", "unresolved", "tls") else "", passing=kind != "tls")


def _kind(cause: BaseException | None, exchange: Traffic) -> Kind:
    from exploracoder_jupyter.core.http_client import httpx

    match cause:
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            return "no connection"
        case httpx.TimeoutException():
            return "stalled" if exchange.answered else "silent"
        case httpx.ConnectError() | httpx.ProxyError():
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
