"""Extracts the content of a page: questions with their answers, and the main text of any other page.

The main text is the main element, what trafilatura finds, or the page without its surroundings.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape

from exploracoder_jupyter.text.hidden_content_removal import find_main_element, remove_hidden
from exploracoder_jupyter.text.html_tree import Node, parse_html
from exploracoder_jupyter.web.reading.page_sections import Section, extract_sections, split_markdown
from exploracoder_jupyter.web.reading.stack_exchange import is_question_page, parse_api_thread, parse_question_page
from exploracoder_jupyter.web.web_types import Page

_API = re.compile(r"[a-z_]\w*(?:\.\w+)+")
_MIN_MAIN_CHARS = 200
_MAX_HTML_CHARS = 500_000
_MAX_LINES = 30
_MIN_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page."""

    title: str
    sections: tuple[Section, ...]
    ordered: bool = False
    """Whether the best sections come first already."""


def extract_content(page: Page) -> PageContent:
    """Extract the visible content of a page. Any text is accepted."""
    if page.form == "questions":
        title, found = parse_api_thread(page.text)
        return PageContent(title, tuple(found), ordered=True)
    if page.form != "html":
        found = split_markdown(page.text)
        return PageContent(next((section.title for section in found if section.title), ""), tuple(found))
    root = parse_html(page.text)
    heading = next(root.find_all(tag="title"), None) or next(root.find_all(tag="h1"), None)
    title = heading.text[:200] if heading else ""
    remove_hidden(root)
    if is_question_page(root, page.address):
        title, found = parse_question_page(root, page.address)
        return PageContent(title, tuple(found), ordered=True)
    link = next((node for node in root.walk() if "license" in node.attributes.get("rel", "").split()), None)
    licence = (link.text or link.attributes.get("href", ""))[:100] if link else ""
    sections = extract_sections(find_main_content(root), title)
    return PageContent(title, tuple(replace(one, licence=licence, apis=_named_api(one)) for one in sections))


def _named_api(section: Section) -> tuple[str, ...]:
    return (section.anchor,) if _API.fullmatch(section.anchor) else ()


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
