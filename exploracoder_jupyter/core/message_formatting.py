"""Helpers for messages: plurals, suggestions for misspelled names, and remedies that fit the front end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
