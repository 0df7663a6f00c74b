"""Which reader a document gets, by the ending of its name and what is in it."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

from exploracoder_jupyter.knowledge.documents.document_files import File
from exploracoder_jupyter.knowledge.documents.document_page import Page
from exploracoder_jupyter.knowledge.documents.document_set import completed
from exploracoder_jupyter.knowledge.documents.readers import (
    html_reader,
    markdown_reader,
    notebook_reader,
    openapi_reader,
    rst_reader,
    sphinx_inventory,
    text_reader,
)

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_LOOKED_AT = 8_000
_HISTORY = re.compile(r"(?:change ?log|changes|history|news|versions?|release|what.?s.?new)s?\b", re.IGNORECASE)
_HTML = (".html", ".htm", ".xhtml")


ReadPage = Callable[[File], Page]
"""Reads one document; raises what `page_of` raises, and TookTooLong."""


class NotText(ValueError):
    """A document that should be text is not."""


class TookTooLong(ValueError):
    """Reading a document took more time than it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"longer than {seconds:g} s")
        self.seconds = seconds


def read_page(file: File) -> Page:
    """The page of a document, with what the descriptions of its APIs say of parameters, examples and the like.

    Raises what `page_of` raises.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd escapes in code that is only looked at
        page = page_of(file)
        return replace(page, apis=tuple(map(completed, page.apis)))


def page_of(file: File) -> Page:
    """The page of a document; an empty one where it is none after all, like most JSON.

    What a history of versions mentions is not described by it.

    Raises:
        NotText: it is binary.
        MissingMeans: what reads it is not installed.
        Exception: it is broken, in whatever way its reader finds.
    """
    page = _page(file)
    if _HISTORY.match(PurePosixPath(file.name).stem) or _HISTORY.match(page.title):
        return replace(page, apis=tuple(api for api in page.apis if api.library))
    return page


def _page(file: File) -> Page:
    kind = file.suffix
    if kind == ".inv":
        return sphinx_inventory.read(file.body)
    text, encoding = decoded(file.body)
    if kind in _HTML:
        return html_reader.read(file.body, encoding)
    if kind in (".rst", ".rest"):
        return rst_reader.read(text)
    if kind == ".ipynb":
        return notebook_reader.read(text)
    if kind in (".json", ".yaml", ".yml"):
        return openapi_reader.read(text, yaml=kind != ".json") if openapi_reader.is_one(text) else Page()
    return _of_text(kind, PurePosixPath(file.name).stem, text)


def _of_text(kind: str, stem: str, text: str) -> Page:
    if kind == ".pyi":
        return text_reader.read_stub(text)
    if kind == ".py":
        return Page() if stem in ("conf", "setup") else text_reader.read_program(text)
    return text_reader.read(text) if kind == ".txt" else markdown_reader.read(text)


def decoded(body: bytes) -> tuple[str, str]:
    """The text, and the encoding that it is in: UTF-8, what its mark says, or the one of old Windows files.

    Raises:
        NotText: it is binary.
    """
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body.decode(encoding, "replace"), encoding
    if b"\0" in body[:_LOOKED_AT]:
        raise NotText
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace"), "cp1252"
