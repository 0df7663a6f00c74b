"""What went wrong at an endpoint, as one plain sentence with a remedy.

A `Fault` is the neutral form of a failed request: no client object, no header, no key. `explain` turns it into the
error that the user sees. A key that a server echoes is struck out, and what a server says about a key is not quoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from exploracoder_jupyter.config import config_path
from exploracoder_jupyter.errors import EndpointError
from exploracoder_jupyter.wording import by_front_end, plural

_LONGEST = 300
"""Characters of a server's own words that are quoted."""

_MOST_NAMES = 12


@dataclass(frozen=True, slots=True)
class Fault:
    """A request that failed for good."""

    kind: Literal["status", "unreachable", "timeout", "alien"]
    """`alien`: something answered, but not as an OpenAI-compatible endpoint does."""
    text: str = ""
    """The server's or the operating system's words, the key struck out."""
    status: int = 0
    parameter: str = ""
    """The request's parameter that the server blames, if it says."""


@dataclass(frozen=True, slots=True)
class Where:
    """What was asked: for the sentence."""

    url: str
    """As `presets.shown` gives it."""
    model: str
    key: bool
    """Whether a key is configured."""
    timeout: float
    """Seconds."""
    attempts: int


def explain(fault: Fault, where: Where, models: Sequence[str] = ()) -> EndpointError:
    """The error for the user. `models` are those that the endpoint lists, if it was asked."""
    match fault.kind:
        case "timeout":
            return EndpointError(
                f"{where.url} did not answer within {plural(where.timeout, 'second')} ({_tries(where.attempts)}).",
                remedy="Check that the model is loaded, or raise the endpoint's timeout.",
            )
        case "unreachable":
            return EndpointError(
                f"{where.url} cannot be reached{_because(fault.text)}.",
                remedy="Check base_url, and that the server is running.",
            )
        case "alien":
            return EndpointError(
                f"{where.url} does not answer as an OpenAI-compatible endpoint{_because(fault.text)}.",
                remedy="Check base_url; it usually ends in /v1.",
            )
        case "status":
            return _refusal(fault, where, models)


def _refusal(fault: Fault, where: Where, models: Sequence[str]) -> EndpointError:
    if fault.status in (401, 403):
        return EndpointError(
            f"{where.url} refused the key ({fault.status})."
            if where.key
            else f"{where.url} wants a key ({fault.status}), and none is configured.",
            remedy=key_remedy(),
        )
    if fault.status == 404:
        return _missing(fault, where, models)
    if fault.status == 429:
        return EndpointError(
            f"{where.url} refuses more requests now (429, {_tries(where.attempts)}){_because(fault.text)}.",
            remedy="Wait, use fewer candidates, or check the account's quota.",
        )
    if fault.status >= 500:
        return EndpointError(
            f"{where.url} failed ({fault.status}, {_tries(where.attempts)}){_because(fault.text)}.",
            remedy="Look at the server's own log, or try again later.",
        )
    return EndpointError(
        f"{where.url} refused the request ({fault.status}){_because(fault.text)}.",
        remedy=f"Check that {where.model!r} is a chat model with room for the prompt.",
    )


def _missing(fault: Fault, where: Where, models: Sequence[str]) -> EndpointError:
    if models and where.model not in models:
        more = ", ..." if len(models) > _MOST_NAMES else ""
        return EndpointError(
            f"{where.url} has no model {where.model!r}.",
            remedy=f"It has: {', '.join(models[:_MOST_NAMES])}{more}.",
        )
    return EndpointError(
        f"{where.url} has no such address, or no model {where.model!r} (404){_because(fault.text)}.",
        remedy="Check base_url, which usually ends in /v1, and the model's name.",
    )


def key_remedy() -> str:
    """Where a key is set."""
    names = "EXPLORACODER_API_KEY or OPENAI_API_KEY in the environment"
    otherwise = f"{names}, or api_key in {config_path()}"
    return by_front_end(terminal=f"Set {otherwise}.", notebook=f"Run `%explora config key`, or set {otherwise}.")


def quoted(text: str, key: str | None) -> str:
    """A server's words on one line, shortened, the key struck out."""
    if key:
        text = text.replace(key, "[key]")
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def _because(text: str) -> str:
    return f": {text.rstrip('.')}" if text else ""


def _tries(attempts: int) -> str:
    return "tried once" if attempts == 1 else f"tried {attempts} times"
