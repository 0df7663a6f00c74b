"""What of a query is sent: few words on one line, and nothing that looks like a secret or names this machine's user."""

from __future__ import annotations

import re

_MOST = 200
"""Characters."""
_PRIVATE = tuple(
    re.compile(shape, re.IGNORECASE)
    for shape in (
        r"\[redacted\]",
        r"\b[a-z][a-z0-9+.-]*://\S+",  # an address may hold a password or a token
        r"\b[\w.+-]+@[\w-]+\.[\w.-]+",
        r"\b(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|auth(?:orization)?|credentials?)"
        r"\s*[=:]\s*(?:bearer\s+)?(?:\"[^\"]*\"|'[^']*'|\S+)",
        r"\bbearer\s+\S+",
        r"(?<!\w)(?:~|[a-z]:)?(?:[\\/][\w.@-]*\w){2,}[\\/]?",  # a path from the root
        r"(?<![\w-])(?=(?:[\w-]*\d){4})(?=[\w-]*[a-z])[\w-]{24,}",  # long and mixed: a key, a hash
        r"\b\d(?:[ -]?\d){8,}\b",  # the number of a card, an account, a telephone
        r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    )
)


def searchable(query: str) -> str:
    """The query as it may be sent; empty where nothing is left of it."""
    for shape in _PRIVATE:
        query = shape.sub(" ", query[:2000])
    words = query.replace("`", " ").split()
    text = ""
    for word in words:
        if len(text) + len(word) + 1 > _MOST:
            break
        text = f"{text} {word}".strip()
    return text if re.search(r"\w", text) else ""
