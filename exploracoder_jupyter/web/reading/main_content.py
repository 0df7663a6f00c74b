"""Where the text of any page is: its main element, what trafilatura finds, or the page without what surrounds texts."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from html import escape

from exploracoder_jupyter.web.reading.html_parser import Node

_AROUND = frozenset(("nav", "header", "footer", "aside"))
_LEAST = 200
"""Characters below which an element is not the main one."""
_MOST = 500_000
_PROBES = 30
_SHARE = 0.9


def main_part(root: Node) -> Node:
    """The element that holds the page's text. `root` loses what stands around texts."""
    found = main_element(root)
    if found is not root and len(found.text) >= _LEAST:
        return found
    lines = _main_lines(root)
    return _holder(root, lines) if lines else root


def main_element(root: Node) -> Node:
    """What the page itself calls its main part, else all of it. `root` loses what stands around texts."""
    _without_surroundings(root)
    mains = [node for node in root.walk() if node.tag == "main" or node.attributes.get("role") == "main"]
    articles = list(root.having(tag="article"))
    return next(iter(mains or (articles if len(articles) == 1 else [])), root)


def _without_surroundings(root: Node) -> None:
    for node in list(root.walk()):
        node.children = [child for child in node.children if isinstance(child, str) or child.tag not in _AROUND]


def _main_lines(root: Node) -> list[str]:
    """The longest lines of the main text, where trafilatura is there, finds one, and need not look for long."""
    try:
        import trafilatura
    except ImportError:
        return []
    html = "".join(_html(root))
    if len(html) > _MOST:
        return []
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs every page without a text
    try:
        text = trafilatura.extract(html, include_comments=False, include_tables=True) or ""
    except Exception:  # it is given any page there is
        return []
    lines = (" ".join(line.split()).lstrip("-| ") for line in text.splitlines())
    return sorted(filter(None, lines), key=len, reverse=True)[:_PROBES]


def _holder(node: Node, lines: Sequence[str]) -> Node:
    """The smallest element with nearly all of the lines: told by our own means, its code stays code."""
    wanted = _SHARE * _held(node, lines)
    while True:
        inner = (child for child in node.children if isinstance(child, Node))
        within = next((child for child in inner if _held(child, lines) >= max(wanted, 1)), None)
        if within is None:
            return node
        node = within


def _held(node: Node, lines: Sequence[str]) -> int:
    text = node.text
    return sum(len(line) for line in lines if line in text)


def _html(node: Node) -> Iterator[str]:
    named = "".join(f' {name}="{escape(node.attributes[name])}"' for name in ("id", "class") if name in node.attributes)
    if node.tag:
        yield f"<{node.tag}{named}>"
    for child in node.children:
        if isinstance(child, str):
            yield escape(child, quote=False)
        else:
            yield from _html(child)
    if node.tag:
        yield f"</{node.tag}>"
