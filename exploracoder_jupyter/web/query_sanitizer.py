"""Sanitizes queries before they are sent: a few words on one line, without anything that looks private.

Secrets, addresses, paths, and whatever else could identify this machine or its user are removed.
"""

from __future__ import annotations

import re
import textwrap

from exploracoder_jupyter.core.secrets.secret_names import is_credential_name
from exploracoder_jupyter.core.secrets.secret_patterns import REDACTED

_MAX_QUERY_CHARS = 200
_PRIVATE_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        re.escape(REDACTED),
        r"\b[a-z][a-z0-9+.-]*://\S+",  # a URL may contain a password or a token
        r"\b[\w.+-]+@[\w-]+\.[\w.-]+",
        r"\bbearer\s+\S+",
        r"(?<!\w)(?:~|[a-z]:)?(?:[\\/][\w.@-]*\w){2,}[\\/]?",  # an absolute path
        r"(?<![\w-])(?=(?:[\w-]*\d){4})(?=[\w-]*[a-z])[\w-]{24,}",  # long and mixed: a key, a hash
        r"\b\d(?:[ -]?\d){8,}\b",  # a card, account or telephone number
        r"\b\d{1,3}(?:\.\d{1,3}){3}\b",
    )
)
_PAIR = re.compile(
    r"(?<![\w-])([\w-]+)\s*[=:]\s*(?=(?P<value>(?:bearer\s+)?(?:\"[^\"]*\"|'[^']*'|\S+)))", re.IGNORECASE
)
"""A name, and the value that follows it, in which further pairs may begin."""


def sanitize_query(query: str) -> str:
    """Return the query as it may be sent; empty if nothing is left of it."""
    query, parts, end = query[:2000], [], 0
    for pair in _PAIR.finditer(query):
        if pair.start() >= end and is_credential_name(pair[1]):
            parts.append(query[end : pair.start()])
            end = pair.end("value")
    rest = " ".join([*parts, query[end:]])
    for pattern in _PRIVATE_PATTERNS:
        rest = pattern.sub(" ", rest)
    text = textwrap.shorten(
        rest.replace("`", " "), _MAX_QUERY_CHARS, placeholder="", break_long_words=False, break_on_hyphens=False
    )
    return text if re.search(r"\w", text) else ""
