"""Sanitizes queries before they are sent: a few words on one line, without anything that looks private.

Secrets, addresses, paths, and whatever else could identify this machine or its user are removed.
"""

from __future__ import annotations

import re

_MAX_QUERY_CHARS = 200
"""Characters of a query."""
_PRIVATE_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\[redacted\]",
        r"\b[a-z][a-z0-9+.-]*://\S+",  # a URL may contain a password or a token
        r"\b[\w.+-]+@[\w-]+\.[\w.-]+",
        r"\b(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|auth(?:orization)?|credentials?)"
        r"\s*[=:]\s*(?:bearer\s+)?(?:\"[^\"]*\"|'[^']*'|\S+)",
        r"\bbearer\s+\S+",
        r"(?<!\w)(?:~|[a-z]:)?(?:[\\/][\w.@-]*\w){2,}[\\/]?",  # an absolute path
        r"(?<![\w-])(?=(?:[\w-]*\d){4})(?=[\w-]*[a-z])[\w-]{24,}",  # long and mixed: a key, a hash
        r"\b\d(?:[ -]?\d){8,}\b",  # a card, account or telephone number
        r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    )
)


def sanitize_query(query: str) -> str:
    """Return the query as it may be sent; empty if nothing is left of it."""
    for pattern in _PRIVATE_PATTERNS:
        query = pattern.sub(" ", query[:2000])
    words = query.replace("`", " ").split()
    text = ""
    for word in words:
        if len(text) + len(word) + 1 > _MAX_QUERY_CHARS:
            break
        text = f"{text} {word}".strip()
    return text if re.search(r"\w", text) else ""
