"""The identifiers that are nearest to one that is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from heapq import nlargest

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_MOST = 20_000
_ALIKE = 0.6


def nearest(wanted: str, names: Iterable[str], most: int) -> list[str]:
    """The names that may have been meant, the nearest first; private ones only for what is private itself.

    By letters, or by the words that both have, whichever says more. Case counts for little.
    """
    private, upper = wanted.startswith("_"), wanted[:1].isupper()
    known = [name for name in list(names)[:_MOST] if private or not name.startswith("_")]
    like = _likeness_to(wanted)
    scored = [(like(name), name[:1].isupper() == upper, -len(name), name) for name in known]
    return [item[-1] for item in nlargest(most, (item for item in scored if item[0] >= _ALIKE))]


def _likeness_to(wanted: str) -> Callable[[str], float]:
    """From 0 to 1, of a name."""
    words, matcher = _words(wanted), SequenceMatcher(None, b=wanted.lower(), autojunk=False)

    def likeness(name: str) -> float:
        if name == wanted:
            return 1.0
        others = _words(name)
        shared = len(words & others) / max(len(words | others), 1)
        by_words = 0.5 + 0.45 * shared if shared else 0.0
        matcher.set_seq1(name.lower())
        if matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
            return by_words
        return max(by_words, 0.95 * matcher.ratio())

    return likeness


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower().rstrip("s") for word in _WORD.findall(name) if len(word) > 1)
