"""Finds the main text of any page: its main element, what trafilatura finds, or the page without its surroundings."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from html import escape

from exploracoder_jupyter.text.hidden_content_removal import find_main_element
from exploracoder_jupyter.text.html_tree import Node

_MIN_MAIN_CHARS = 200
_MAX_HTML_CHARS = 500_000
_MAX_LINES = 30
_MIN_SHARE = 0.9


def find_main_content(root: Node) -> Node:
    """Return the element that contains the page's text. Navigation and the like are removed from `root`."""
    found = find_main_element(root)
    if found is not root and len(found.text) >= _MIN_MAIN_CHARS:
        return found
    lines = _main_lines(root)
    return _smallest_with(root, lines) if lines else root


def _main_lines(root: Node) -> list[str]:
    """Return the longest lines of the main text found by trafilatura.

    Empty if trafilatura is not installed, finds nothing, or would take too long.
    """
    try:
        import trafilatura
    except ImportError:
        return []
    html = "".join(_to_html(root))
    if len(html) > _MAX_HTML_CHARS:
        return []
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs every page without text
    try:
        text = trafilatura.extract(html, include_comments=False, include_tables=True) or ""
    except Exception:  # it may fail in any way on arbitrary pages
        return []
    lines = (" ".join(line.split()).lstrip("-| ") for line in text.splitlines())
    return sorted(filter(None, lines), key=len, reverse=True)[:_MAX_LINES]


def _smallest_with(node: Node, lines: Sequence[str]) -> Node:
    wanted = _MIN_SHARE * _matched_chars(node, lines)
    while True:
        within = next((child for child in node.elements if _matched_chars(child, lines) >= max(wanted, 1)), None)
        if within is None:
            return node
        node = within


def _matched_chars(node: Node, lines: Sequence[str]) -> int:
    text = node.text
    return sum(len(line) for line in lines if line in text)


def _to_html(node: Node) -> Iterator[str]:
    if node.tag:
        named = ((name, node.attributes[name]) for name in ("id", "class") if name in node.attributes)
        attributes = "".join(f' {name}="{escape(value)}"' for name, value in named)
        yield f"<{node.tag}{attributes}>"
    for child in node.children:
        if isinstance(child, str):
            yield escape(child, quote=False)
        else:
            yield from _to_html(child)
    if node.tag:
        yield f"</{node.tag}>"
