"""Chooses the reader of a document by its suffix and content."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

from exploracoder_jupyter.knowledge.documents.document_files import File
from exploracoder_jupyter.knowledge.documents.document_set import Page, complete_api
from exploracoder_jupyter.knowledge.documents.readers import (
    html_reader,
    markdown_reader,
    notebook_reader,
    rst_reader,
    sphinx_inventory,
    text_reader,
)
from exploracoder_jupyter.knowledge.documents.readers.signature_parser import parse_stubs

_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_PROBED_BYTES = 8_000
_CHANGELOG = re.compile(r"(?:change ?log|changes|history|news|versions?|release|what.?s.?new)s?\b", re.IGNORECASE)
_HTML = (".html", ".htm", ".xhtml")


ReadPage = Callable[[File], Page]
"""Reads one document. Raises what `parse_page` raises, and TookTooLong."""


class NotText(ValueError):
    """A document that should be text is binary."""


class TookTooLong(ValueError):
    """Reading a document exceeded the time limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"longer than {seconds:g} s")
        self.seconds = seconds


def read_page(file: File) -> Page:
    """Parse a document and complete its APIs from their descriptions. Raises what `parse_page` raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about invalid escapes in code that is never run
        page = parse_page(file)
        return replace(page, apis=tuple(map(complete_api, page.apis)))


def parse_page(file: File) -> Page:
    """Parse a document; the page is empty if it is not documentation after all, like a configuration of Sphinx.

    APIs that a changelog merely mentions are left out.

    Raises NotText if it is binary; MissingRequirement if the package that reads it is not installed; Exception if it is
    malformed; the type depends on the reader.
    """
    page = _read(file)
    if _CHANGELOG.match(PurePosixPath(file.name).stem) or _CHANGELOG.match(page.title):
        return replace(page, apis=tuple(api for api in page.apis if api.library))
    return page


def _read(file: File) -> Page:
    kind = file.suffix
    if kind == ".inv":
        return sphinx_inventory.read(file.body)
    text = decode(file.body)
    if kind in _HTML:
        return html_reader.read(text, xhtml=kind == ".xhtml")
    if kind in (".rst", ".rest"):
        return rst_reader.read(text)
    if kind == ".ipynb":
        return notebook_reader.read(text)
    if kind == ".pyi":
        return Page(apis=tuple(parse_stubs(text, among_others=True)))
    if kind == ".py":
        is_configuration = PurePosixPath(file.name).stem in ("conf", "setup")
        return Page() if is_configuration else text_reader.read_program(text)
    return text_reader.read(text) if kind == ".txt" else markdown_reader.read(text)


def decode(body: bytes) -> str:
    """Decode a document: by its byte order mark, as UTF-8, or as Windows-1252. Raises NotText if it is binary."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    if b"\0" in body[:_PROBED_BYTES]:
        raise NotText
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")
