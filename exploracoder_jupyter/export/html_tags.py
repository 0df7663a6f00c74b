"""Transforms sanitized HTML tag by tag. The content of attributes and text is never changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_TAG: Final = re.compile(r'<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^">]|"[^"]*")*)>')
"""Matches a tag. Sanitizers escape `<` in text, but some do not in attributes; all escape quotes there."""
_LANDMARKS: Final = frozenset(("main", "nav", "header", "footer", "aside"))
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_TABLE_WRAPPER: Final = '<div class="wide" tabindex="0" role="group" aria-label="Table">'


def wrap_tables(html: str) -> str:
    """Wrap each table in a scrollable box."""
    return _replace_tags(html, _wrap_table)


def adapt_fragment(html: str) -> str:
    """Replace headings and landmarks, which belong to a page, by neutral elements, and give each picture a label."""
    return _replace_tags(html, _adapt_tag)


def _replace_tags(html: str, change: Callable[[str, str, str], str]) -> str:
    return _TAG.sub(lambda found: change(*found.groups()), html)


def _wrap_table(slash: str, name: str, rest: str) -> str:
    tag = f"<{slash}{name}{rest}>"
    if name != "table":
        return tag
    return f"{tag}</div>" if slash else f"{_TABLE_WRAPPER}{tag}"


def _adapt_tag(slash: str, name: str, rest: str) -> str:
    if name in _HEADINGS:
        return "</strong></div>" if slash else f"<div{rest}><strong>"
    attributes = rest if name != "img" or ' alt="' in rest else f' alt="Picture"{rest}'
    return f"<{slash}{'div' if name in _LANDMARKS else name}{attributes}>"
