"""`objects.inv`: the names that a project's Sphinx documentation describes."""

from __future__ import annotations

import re
import zlib

from exploracoder_jupyter.knowledge.documents.document_page import Page
from exploracoder_jupyter.knowledge.documents.readers.written_signatures import KINDS, api

_LARGEST = 32_000_000
"""Bytes that it may unpack to."""
_HEAD = re.compile(rb"# Sphinx inventory version 2\n# Project: (.*)\n# Version: (.*)\n#.*zlib.*\n")
_LINE = re.compile(r"(\S+) py:(\w+) -?\d+ (\S*) (.*)")


def read(body: bytes) -> Page:
    """The APIs that an inventory names, without anything on them; their place is where the HTML describes them.

    Raises:
        ValueError: it is no inventory of version 2, or it is not sound.
    """
    head = _HEAD.match(body)
    if not head:
        raise ValueError("no inventory of Sphinx")
    try:
        unpacked = zlib.decompressobj().decompress(body[head.end() :], _LARGEST)
    except zlib.error as error:
        raise ValueError("a broken inventory") from error
    found = filter(None, map(_LINE.match, unpacked.decode("utf-8", "replace").splitlines()))
    apis = tuple(
        api(
            row[1],
            KINDS[row[2]],
            "",
            "",
            library=row[1].partition(".")[0],
            place=_place(row[3], row[1]),
        )
        for row in found
        if row[2] in KINDS and re.fullmatch(r"\w+(\.\w+)+", row[1])
    )
    return Page(apis=apis, project=f"{head[1].decode('utf-8', 'replace')} {head[2].decode('utf-8', 'replace')}".strip())


def _place(written: str, name: str) -> str:
    """Where a name is told; the inventory has `$` for the name at its end."""
    return f"{written[:-1]}{name}" if written.endswith("$") else written
