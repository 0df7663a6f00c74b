"""Helpers for messages: plurals, tokens and money, suggestions for misspelled names, fitting remedies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exploracoder_jupyter.core.types import Usage


_IN_TERMINAL = ContextVar("_IN_TERMINAL", default=False)
_MIN_SIMILARITY = 0.7
"""Similarity from 0 to 1 above which one name is suggested for another."""


def plural(count: float, noun: str) -> str:
    """Format a count with its noun: `1 call`, `2 calls`, `1,234 tokens`, `0.5 seconds`."""
    number = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{number} {noun}" if count == 1 else f"{number} {noun}s"


def describe_tries(tries: int, failed: int) -> str:
    """Describe how much was tried: `11 tries, 3 failed`."""
    count = f"{tries:,} {'try' if tries == 1 else 'tries'}"
    return f"{count}, {failed:,} failed" if failed else count


def did_you_mean(unknown: str, known: Iterable[str]) -> str:
    """Return a prefix for a remedy, e.g. `Did you mean search? `; empty if no known name is similar."""
    from difflib import get_close_matches

    by_spelling = {name.lower(): name for name in known}
    near = get_close_matches(unknown.lower(), by_spelling, n=1, cutoff=_MIN_SIMILARITY)
    return f"Did you mean {by_spelling[near[0]]}? " if near else ""


@contextmanager
def terminal_wording() -> Iterator[None]:
    """Make `choose_wording` return the text for terminal users within this context."""
    token = _IN_TERMINAL.set(True)
    try:
        yield
    finally:
        _IN_TERMINAL.reset(token)


def choose_wording(*, terminal: str, notebook: str) -> str:
    """Return the text that fits the front end in use."""
    return terminal if _IN_TERMINAL.get() else notebook


def one_line(text: str, most: int) -> str:
    """Collapse the text to one line of at most `most` characters, with an ellipsis if it was truncated."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def money(amount: float, currency: str) -> str:
    """Format an amount of money with the label of its currency, if it has one: `1.25 EUR`, `0.0042 EUR`."""
    places = 2 if amount >= 0.1 or not amount else 4 if amount >= 0.001 else 6
    return f"{amount:,.{places}f} {currency}".strip()


def describe_cost(amount: float, currency: str) -> str:
    """Format an amount of money so that it can be recognized: `0.0042 EUR`, `cost 0.0042`."""
    return money(amount, currency) if currency else f"cost {money(amount, '')}"


def describe_tokens(usage: Usage) -> str:
    """Describe tokens and what they cost: `1,234 tokens (1,000 cached), 0.0042 EUR`."""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    cost = "" if usage.cost is None else f", {describe_cost(usage.cost, usage.currency)}"
    return f"{plural(usage.tokens, 'token')}{cached}{cost}"
