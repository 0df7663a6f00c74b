"""Removes what a page's reader does not see: hidden text is not meant for people."""

from __future__ import annotations

import re
import unicodedata

from exploracoder_jupyter.web.reading.html_parser import Node

_TEXTLESS_TAGS = frozenset(
    """script style noscript template input button select textarea iframe object embed svg canvas dialog audio
    video head link meta noembed noframes map math""".split()  # noqa: SIM905
)
"""Elements that contain no text for a reader, or ask for input."""
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*(?:0+(?:\.0*)?|\.0+)(?![.\d])"
    r"|font-size\s*:\s*0+(?:\.0+)?(?![.\d])|(?:left|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_HIDDEN_CLASSES = frozenset(
    "sr-only visually-hidden visuallyhidden screen-reader-text d-none hidden headerlink".split()  # noqa: SIM905
)
_VARIATION_SELECTORS = frozenset([0xFE00 + at for at in range(16)] + [0xE0100 + at for at in range(240)])
"""Variation selectors: they can encode arbitrary bytes and are never visible."""


def remove_hidden(node: Node) -> None:
    """Remove hidden elements, scripts and form fields from the tree; comments are never in it."""
    visible_children: list[Node | str] = []
    for child in node.children:
        if isinstance(child, str):
            visible_children.append(child)
        elif not _is_hidden(child):
            remove_hidden(child)
            visible_children.append(child)
    node.children = visible_children


def strip_invisible(text: str) -> str:
    """Remove characters that are not visible: zero-width, direction and control characters."""
    return "".join(char for char in text.replace("\r\n", "\n") if char in "\n\t" or _is_visible(char))


def _is_visible(char: str) -> bool:
    if char.isascii():
        return char.isprintable()
    return unicodedata.category(char) not in ("Cf", "Cc", "Cs", "Co", "Cn") and ord(char) not in _VARIATION_SELECTORS


def _is_hidden(node: Node) -> bool:
    attributes = node.attributes
    return (
        node.tag in _TEXTLESS_TAGS
        or "hidden" in attributes
        or attributes.get("aria-hidden", "").lower() == "true"
        or bool(_HIDDEN_CLASSES & node.classes)
        or bool(_HIDING_STYLE.search(attributes.get("style", "")))
    )
