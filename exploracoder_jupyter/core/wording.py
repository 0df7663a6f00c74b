"""Words of messages: nouns by their number, suggestions for misspelt names, remedies that fit the front end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_AT_A_TERMINAL = ContextVar("_AT_A_TERMINAL", default=False)
_LIKE = 0.7
"""How alike two names are, from 0 to 1, before one is suggested for the other."""


def plural(count: float, noun: str) -> str:
    """`1 call`, `2 calls`, `1,234 tokens`, `0.5 seconds`."""
    number = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{number} {noun}" if count == 1 else f"{number} {noun}s"


def did_you_mean(unknown: str, known: Iterable[str]) -> str:
    """`Did you mean search? `, to stand before a remedy; empty where nothing that is known is like it."""
    from difflib import get_close_matches

    by_spelling = {name.lower(): name for name in known}
    near = get_close_matches(unknown.lower(), by_spelling, n=1, cutoff=_LIKE)
    return f"Did you mean {by_spelling[near[0]]}? " if near else ""


@contextmanager
def at_a_terminal() -> Iterator[None]:
    """Within this context, `by_front_end` returns what a terminal's user can do."""
    token = _AT_A_TERMINAL.set(True)
    try:
        yield
    finally:
        _AT_A_TERMINAL.reset(token)


def by_front_end(*, terminal: str, notebook: str) -> str:
    """The one of the two texts that fits the front end that started this work."""
    return terminal if _AT_A_TERMINAL.get() else notebook
