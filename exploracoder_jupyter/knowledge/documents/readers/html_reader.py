"""Reads HTML pages: the APIs that Sphinx or mkdocstrings describe in them, and the rest as Markdown."""

from __future__ import annotations

from dataclasses import replace

from exploracoder_jupyter.knowledge.documents.document_page import Page
from exploracoder_jupyter.knowledge.documents.readers import html_to_markdown, markdown_reader, sphinx_html


def read(body: bytes, encoding: str) -> Page:
    """Parse an HTML document.

    Raises:
        MissingRequirement: If the package that reads HTML is not installed.
        ValueError: If it is empty.
    """
    root = html_to_markdown.parse_html(body, encoding)
    title = html_to_markdown.text_line(head[0]) if (head := root.xpath("//head/title")) else ""
    apis = sphinx_html.take_apis(root)
    page = markdown_reader.read(html_to_markdown.to_markdown(html_to_markdown.find_main_element(root)))
    described = {api.path for api in apis}
    others = (api for api in page.apis if api.path not in described)
    sections = tuple(replace(section, place=f"#{section.title}" if section.title else "") for section in page.sections)
    return replace(page, title=page.title or title, apis=(*apis, *others), sections=sections)
