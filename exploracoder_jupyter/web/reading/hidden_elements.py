"""Taking away what a page's reader does not see: what hides there is not meant for people."""

from __future__ import annotations

import re
import unicodedata

from exploracoder_jupyter.web.reading.html_parser import Node

_SILENT = frozenset(
    """script style noscript template input button select textarea iframe object embed svg canvas dialog audio
    video head link meta noembed noframes map math""".split()  # noqa: SIM905
)
"""Elements that hold no text for a reader, or ask for one."""
_UNSEEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*(?:0+(?:\.0*)?|\.0+)(?![.\d])"
    r"|font-size\s*:\s*0+(?:\.0+)?(?![.\d])|(?:left|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_UNSEEN_CLASSES = frozenset(
    "sr-only visually-hidden visuallyhidden screen-reader-text d-none hidden headerlink".split()  # noqa: SIM905
)
_SELECTORS = frozenset([0xFE00 + at for at in range(16)] + [0xE0100 + at for at in range(240)])
"""Variation selectors: they can carry any bytes and are never seen."""


def strip_unseen(node: Node) -> None:
    """Take out of the tree what is hidden, what runs and what is filled in; comments were never in it."""
    kept: list[Node | str] = []
    for child in node.children:
        if isinstance(child, str):
            kept.append(child)
        elif not _unseen(child):
            strip_unseen(child)
            kept.append(child)
    node.children = kept


def visible(text: str) -> str:
    """The text without characters that are not seen: of zero width, turning the direction, control characters."""
    return "".join(char for char in text.replace("\r\n", "\n") if char in "\n\t" or _seen(char))


def _seen(char: str) -> bool:
    if char.isascii():
        return char.isprintable()
    return unicodedata.category(char) not in ("Cf", "Cc", "Cs", "Co", "Cn") and ord(char) not in _SELECTORS


def _unseen(node: Node) -> bool:
    attributes = node.attributes
    return (
        node.tag in _SILENT
        or "hidden" in attributes
        or attributes.get("aria-hidden", "").lower() == "true"
        or bool(_UNSEEN_CLASSES & node.classes)
        or bool(_UNSEEN.search(attributes.get("style", "")))
    )
