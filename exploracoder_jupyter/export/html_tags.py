"""HTML that is safe already, changed tag by tag. What stands in attributes and texts stays, whatever it looks like."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_TAG: Final = re.compile(r'<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^">]|"[^"]*")*)>')
"""Sanitizers escape `<` in texts, and not all of them in attributes, whose quotes they do escape."""
_PLACES: Final = frozenset(("main", "nav", "header", "footer", "aside"))
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_BOX: Final = '<div class="wide" tabindex="0" role="group" aria-label="Table">'


def wide(html: str) -> str:
    """The HTML with its tables in boxes that scroll."""
    return _changed(html, _boxed)


def subordinate(html: str) -> str:
    """The HTML without headings and places of a page of its own, and with a name for each picture."""
    return _changed(html, _lowered)


def _changed(html: str, change: Callable[[str, str, str], str]) -> str:
    return _TAG.sub(lambda found: change(*found.groups()), html)


def _boxed(slash: str, name: str, rest: str) -> str:
    tag = f"<{slash}{name}{rest}>"
    if name != "table":
        return tag
    return f"{tag}</div>" if slash else f"{_BOX}{tag}"


def _lowered(slash: str, name: str, rest: str) -> str:
    if name in _HEADINGS:
        return "</strong></div>" if slash else f"<div{rest}><strong>"
    told = rest if name != "img" or ' alt="' in rest else f' alt="Picture"{rest}'
    return f"<{slash}{'div' if name in _PLACES else name}{told}>"
