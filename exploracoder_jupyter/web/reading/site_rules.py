"""Extracts the content of a page: rules for the sites that code searches most often find, and one for all others.

More than nine of ten results in CoCoST's measurements came from eight sites (appendix A, table 4).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from exploracoder_jupyter.text.hidden_content_removal import remove_hidden
from exploracoder_jupyter.text.html_tree import Node, parse_html
from exploracoder_jupyter.web.reading.main_content import find_main_content
from exploracoder_jupyter.web.reading.page_sections import Section, extract_sections, split_markdown
from exploracoder_jupyter.web.reading.stack_exchange import is_question_page, parse_api_thread, parse_question_page
from exploracoder_jupyter.web.web_types import Page

_API = re.compile(r"[a-z_]\w*(?:\.\w+)+")


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page."""

    title: str
    sections: tuple[Section, ...]
    ordered: bool = False
    """Whether the best sections come first already."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """Where a site's pages contain their text, as selectors separated by commas.

    A selector is `tag`, `.class`, `tag.class` or `[role]`, or several of these, each a descendant of the one
    before.
    """

    content: str
    """The first selector that matches is used."""
    without: str = ""
    licence: str = ""


_SPHINX = _Rule(
    "article.bd-article, [main], main, div.body, article",
    ".prev-next-area, .prev-next-footer, .bd-sidebar, .sphinxsidebar, .toctree-wrapper, .viewcode-link,"
    " .header-article, .sphx-glr-download-link-note, .sphx-glr-footer, .sphx-glr-timing, .related, nav",
)
_GEEKS = _Rule(
    "div.article--viewer_content, div.entry-content, article .text, article, main",
    ".article-meta, .recommended, .three_dot_dropdown, .article--recommended, .improved, .login-modal-div,"
    " .responsive-tabs__list, .copy-code-button, .code-editor-icons, .article-buttons, .rightBar, nav",
    "all rights reserved (GeeksforGeeks)",
)
_TENSORFLOW = _Rule(
    ".devsite-article-body, devsite-content, article, main",
    "devsite-toc, devsite-feedback, devsite-bookmark, devsite-thumb-rating, .tfo-notebook-buttons, .nocontent,"
    " .devsite-article-meta, nav",
    "CC BY 4.0; code samples Apache-2.0",
)
_RULES: dict[str, _Rule] = {
    "numpy.org": replace(_SPHINX, licence="BSD-3-Clause"),
    "pandas.pydata.org": replace(_SPHINX, licence="BSD-3-Clause"),
    "scipy.org": replace(_SPHINX, licence="BSD-3-Clause"),
    "scikit-learn.org": replace(_SPHINX, licence="BSD-3-Clause"),
    "matplotlib.org": replace(_SPHINX, licence="Matplotlib licence (PSF-based)"),
    "readthedocs.io": _SPHINX,
    "readthedocs.org": _SPHINX,
    "tensorflow.org": _TENSORFLOW,
    "geeksforgeeks.org": _GEEKS,
}


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
    return PageContent(title, tuple(_site_sections(root, page.address, title)))


def _site_sections(root: Node, address: str, title: str) -> Iterator[Section]:
    host = (urlsplit(address).hostname or "").lower()
    rule = next((rule for site, rule in _RULES.items() if host == site or host.endswith(f".{site}")), None)
    content = _content(root, rule) if rule else None
    link = next((node for node in root.walk() if "license" in node.attributes.get("rel", "").split()), None)
    licence = rule.licence if rule else (link.text or link.attributes.get("href", ""))[:100] if link else ""
    if content and rule:
        unwanted = rule.without.split(", ")
        content.remove(lambda node: any(_matches(node, selector) for selector in unwanted))
    for section in extract_sections(content or find_main_content(root), title):
        apis = (section.anchor,) if _API.fullmatch(section.anchor) else ()
        yield replace(section, licence=licence, apis=apis)


def _content(root: Node, rule: _Rule) -> Node | None:
    for selector in rule.content.split(", "):
        nodes = [root]
        for step in selector.split():
            nodes = [found for node in nodes for found in node.walk() if found is not node and _matches(found, step)]
        if nodes:
            return nodes[0]
    return None


def _matches(node: Node, selector: str) -> bool:
    if selector.startswith("["):
        return node.attributes.get("role") == selector[1:-1]
    tag, _, class_ = selector.partition(".")
    return (not tag or node.tag == tag) and (not class_ or class_ in node.classes)
