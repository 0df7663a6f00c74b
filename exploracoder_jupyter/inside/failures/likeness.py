"""How alike two identifiers are, and the names that are nearest to one that is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from heapq import nlargest

ALIKE = 0.6
"""From here on a name may be what was meant."""

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_MOST = 20_000


def likeness(wanted: str, name: str) -> float:
    """From 0 to 1: by letters, or by the words that both have, whichever says more. Case counts for little."""
    if wanted == name:
        return 1.0
    left, right = _words(wanted), _words(name)
    shared = len(left & right) / max(len(left | right), 1)
    by_words = 0.5 + 0.45 * shared if shared else 0.0
    matcher = SequenceMatcher(None, wanted.lower(), name.lower())
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return by_words
    return max(by_words, 0.95 * matcher.ratio())


def nearest(wanted: str, names: Iterable[str], most: int) -> list[str]:
    """The names that may have been meant, the nearest first; private ones only for what is private itself."""
    private = wanted.startswith("_")
    known = [name for name in list(names)[:_MOST] if private or not name.startswith("_")]
    upper = wanted[:1].isupper()
    scored = [(likeness(wanted, name), name[:1].isupper() == upper, -len(name), name) for name in known]
    return [item[-1] for item in nlargest(most, (item for item in scored if item[0] >= ALIKE))]


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower().rstrip("s") for word in _WORD.findall(name) if len(word) > 1)
