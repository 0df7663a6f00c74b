"""Explains the failures of an endpoint, each in one plain sentence with a remedy.

A `Fault` is the neutral form of a failed request: it contains no client object, header or key. `explain` turns it into
the error that the user sees; its numbers are measured. A key that a server echoes is redacted, and a server's message
about a key is not quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from exploracoder_jupyter.core.configuration.settings_sources import config_path
from exploracoder_jupyter.core.errors import EndpointError
from exploracoder_jupyter.core.message_formatting import choose_wording
from exploracoder_jupyter.core.secrets.secret_redactor import known_forms
from exploracoder_jupyter.llm.endpoint.exchange_traffic import Traffic, format_seconds

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
    """Message of the server or the operating system, with the key redacted."""
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
    """As returned by `endpoint_addresses.redact_address`."""
    model: str
    key: bool
    timeout: float
    proxy: str = ""
    """What names the proxy through which it is requested; empty if there is none."""


def explain(fault: Fault, target: Target, models: Sequence[str] = ()) -> EndpointError:
    """Return the error for the user. `models` are those that the endpoint lists, if they were requested."""
    if fault.kind == "status":
        return _refusal(fault, target, models)
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


def _refusal(fault: Fault, target: Target, models: Sequence[str]) -> EndpointError:
    if fault.refuses_key:
        return EndpointError(
            f"{target.url} refused the key ({fault.status})."
            if target.key
            else f"{target.url} requires a key ({fault.status}), and none is configured.",
            remedy=key_remedy(),
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


def key_remedy() -> str:
    """Return a sentence on where to set a key."""
    names = "EXPLORACODER_API_KEY or OPENAI_API_KEY in the environment"
    otherwise = f"{names}, or api_key in {config_path()}"
    return choose_wording(terminal=f"Set {otherwise}.", notebook=f"Run `%explora config key`, or set {otherwise}.")


def quote_message(text: str, key: str | None) -> str:
    """Return a server's message on one line, shortened, with the key redacted."""
    for form in known_forms([key] if key else []):
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
