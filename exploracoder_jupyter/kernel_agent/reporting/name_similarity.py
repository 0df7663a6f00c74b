"""Finds the identifiers most similar to a missing one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from heapq import nlargest

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_GENERIC = frozenset("add as at by create do for from get has in is list make new of on set to with".split())  # noqa: SIM905
"""Words that many names have: sharing them alone makes no two names similar."""
_MAX_NAMES = 20_000
_MIN_SIMILARITY = 0.6


def most_similar(missing: str, names: Iterable[str], limit: int) -> list[str]:
    """Return the names that may have been meant, most similar first; private names only for a private one.

    Similarity is by letters or by shared words, whichever is higher. Case counts for little.
    """
    private, capitalized = missing.startswith("_"), missing[:1].isupper()
    candidates = [name for name in list(names)[:_MAX_NAMES] if private or not name.startswith("_")]
    missing_words, matcher = _words(missing), SequenceMatcher(None, b=missing.lower(), autojunk=False)

    def similarity(name: str) -> float:
        if name == missing:
            return 1.0
        others = _words(name)
        common = missing_words & others
        shared = len(common) / max(len(missing_words | others), 1) if common - _GENERIC else 0.0
        by_words = 0.5 + 0.45 * shared if shared else 0.0
        matcher.set_seq1(name.lower())
        if matcher.real_quick_ratio() < _MIN_SIMILARITY or matcher.quick_ratio() < _MIN_SIMILARITY:
            return by_words
        return max(by_words, 0.95 * matcher.ratio())

    scored = [(similarity(name), name[:1].isupper() == capitalized, -len(name), name) for name in candidates]
    return [item[-1] for item in nlargest(limit, (item for item in scored if item[0] >= _MIN_SIMILARITY))]


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower().rstrip("s") for word in _WORD.findall(name) if len(word) > 1)
