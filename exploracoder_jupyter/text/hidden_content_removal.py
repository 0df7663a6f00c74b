"""Removes what a page's reader does not see, or does not come for: hidden text is not meant for people."""

from __future__ import annotations

import re

from exploracoder_jupyter.text.html_tree import Node

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
_SURROUNDING_TAGS = frozenset(("nav", "footer", "aside"))
_MIN_MENU_ITEMS = 5
_MENU_SHARE = 0.9
"""The share of letters in links that makes a list a menu."""


def remove_hidden(root: Node) -> None:
    """Remove hidden elements, scripts and form fields from the tree; comments are never in it."""
    root.remove(_is_hidden)


def _is_hidden(node: Node) -> bool:
    attributes = node.attributes
    return (
        node.tag in _TEXTLESS_TAGS
        or "hidden" in attributes
        or attributes.get("aria-hidden", "").lower() == "true"
        or not _HIDDEN_CLASSES.isdisjoint(node.classes)
        or bool(_HIDING_STYLE.search(attributes.get("style", "")))
    )


def find_main_element(root: Node) -> Node:
    """Return what the page marks as its main part, or else `root`. Navigation and the like are removed from `root`."""
    root.remove(lambda node: node.tag in _SURROUNDING_TAGS)
    mains = [node for node in root.walk() if node.tag == "main" or node.attributes.get("role") == "main"]
    articles = list(root.find_all(tag="article"))
    if marked := mains or (articles if len(articles) == 1 else []):
        return max(marked, key=lambda node: len(node.raw))
    root.remove(lambda node: node.tag == "header")
    return root


def remove_menus(node: Node) -> tuple[int, int, int]:
    """Remove lists that consist almost entirely of links, and return the node's letters, those in links, and items."""
    letters, linked, items = 0, 0, int(node.tag == "li")
    for child in node.children:
        if isinstance(child, str):
            letters += len("".join(child.split()))
        else:
            counts = remove_menus(child)
            letters, linked, items = letters + counts[0], linked + counts[1], items + counts[2]
    if node.tag in ("ul", "ol") and items >= _MIN_MENU_ITEMS and linked >= _MENU_SHARE * letters:
        node.children = []
    return letters, letters if node.tag == "a" else linked, items
