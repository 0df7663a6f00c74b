"""HTML pages: what Sphinx or mkdocstrings describe in them, and the rest as Markdown."""

from __future__ import annotations

from dataclasses import replace

from exploracoder_jupyter.knowledge.documents.document_page import Page
from exploracoder_jupyter.knowledge.documents.readers import html_to_markdown, markdown_reader, sphinx_html


def read(body: bytes, encoding: str) -> Page:
    """The page of an HTML document.

    Raises:
        MissingMeans: what reads HTML is not installed.
        ValueError: there is nothing in it.
    """
    root = html_to_markdown.tree(body, encoding)
    title = html_to_markdown.text(head[0]) if (head := root.xpath("//head/title")) else ""
    apis = sphinx_html.take_apis(root)
    page = markdown_reader.read(html_to_markdown.markdown(html_to_markdown.main_part(root)))
    described = {api.path for api in apis}
    told = (api for api in page.apis if api.path not in described)
    place = tuple(replace(section, place=f"#{section.title}" if section.title else "") for section in page.sections)
    return replace(page, title=page.title or title, apis=(*apis, *told), sections=place)
