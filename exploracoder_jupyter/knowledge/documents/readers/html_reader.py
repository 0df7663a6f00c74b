"""Reads HTML pages: the APIs that Sphinx or mkdocstrings describe in them, and the rest as Markdown."""

from __future__ import annotations

from dataclasses import replace

from exploracoder_jupyter.knowledge.documents.document_set import Page
from exploracoder_jupyter.knowledge.documents.readers import markdown_reader, sphinx_html
from exploracoder_jupyter.text.hidden_content_removal import find_main_element, remove_hidden, remove_menus
from exploracoder_jupyter.text.html_markdown import to_markdown
from exploracoder_jupyter.text.html_tree import Node, parse_html

_TOOL_CLASSES = frozenset(
    """viewcode-link viewcode-block viewcode-back linenos linenodiv prompt sphinxsidebar toctree-wrapper
    mkdocstrings-source breadcrumbs""".split()  # noqa: SIM905
)
"""Classes of what documentation tools add to the content."""


def read(text: str, *, xhtml: bool = False) -> Page:
    """Parse an HTML document. Raises MissingRequirement if the package that reads HTML is not installed; ValueError if
    it is empty.
    """
    root = parse_html(text, xhtml=xhtml)
    if not root.children:
        raise ValueError("not a page")
    title = next((node.text for node in root.find_all(tag="title")), "")
    remove_hidden(root)
    root.remove(lambda node: not _TOOL_CLASSES.isdisjoint(node.classes))
    remove_menus(root)
    apis = sphinx_html.take_apis(root)
    page = markdown_reader.read(to_markdown(_find_content(root)))
    described = {api.path for api in apis}
    others = (api for api in page.apis if api.path not in described)
    sections = tuple(replace(section, place=f"#{section.title}" if section.title else "") for section in page.sections)
    return replace(page, title=page.title or title, apis=(*apis, *others), sections=sections)


def _find_content(root: Node) -> Node:
    """Return the main element, which older versions of Sphinx and docutils mark by a class only."""
    main = find_main_element(root)
    classed = (list(root.find_all(tag="div", class_=class_)) for class_ in ("body", "document"))
    marked = next(filter(None, classed), []) if main is root else []
    return max(marked, key=lambda node: len(node.raw), default=main)
