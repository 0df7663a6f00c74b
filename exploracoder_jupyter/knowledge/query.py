"""What a query says beside its words: APIs that it names outright, and the library, which tells nothing apart."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAMED = tuple(
    map(
        re.compile,
        (
            r"[.`](\w{2,})",
            r"(\w{2,})(?=\()",
            r"\b(\w+_\w+)\b",
            r"(\w{2,})`? (?:function|method)\b",
            r"\b(?:function|method) `?(\w{2,})",
        ),
    )
)


def named(query: str) -> frozenset[str]:
    """Words written as code or called a function: `groupby`, np.all, read_csv, where(...), "the where function"."""
    return frozenset(word for pattern in _NAMED for word in pattern.findall(query))


def subject(query: str, libraries: Iterable[str]) -> str:
    """The query without the names of the libraries; as it is where nothing else is left."""
    names = "|".join(re.escape(name) for name in libraries)
    rest = re.sub(rf"\b(?:{names})\b", " ", query, flags=re.IGNORECASE) if names else query
    return rest if re.search(r"\w", rest) else query
