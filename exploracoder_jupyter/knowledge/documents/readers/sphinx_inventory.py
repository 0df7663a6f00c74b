"""Reads `objects.inv`: the names that a project's Sphinx documentation describes."""

from __future__ import annotations

import re
import zlib

from exploracoder_jupyter.knowledge.documents.document_page import Page
from exploracoder_jupyter.knowledge.documents.readers.signature_parser import DIRECTIVE_KINDS, make_api

_MAX_BYTES = 32_000_000
"""Maximum decompressed size in bytes."""
_HEAD = re.compile(rb"# Sphinx inventory version 2\n# Project: (.*)\n# Version: (.*)\n#.*zlib.*\n")
_LINE = re.compile(r"(\S+) py:(\w+) -?\d+ (\S*) (.*)")


def read(body: bytes) -> Page:
    """Return the APIs that an inventory names, without descriptions; their place is where the HTML describes them.
    Raises ValueError if it is not an inventory of version 2, or is corrupt.
    """
    head = _HEAD.match(body)
    if not head:
        raise ValueError("not a Sphinx inventory")
    try:
        unpacked = zlib.decompressobj().decompress(body[head.end() :], _MAX_BYTES)
    except zlib.error as error:
        raise ValueError("a corrupt inventory") from error
    found = filter(None, map(_LINE.match, unpacked.decode("utf-8", "replace").splitlines()))
    apis = tuple(
        make_api(
            row[1],
            DIRECTIVE_KINDS[row[2]],
            "",
            "",
            library=row[1].partition(".")[0],
            place=_place(row[3], row[1]),
        )
        for row in found
        if row[2] in DIRECTIVE_KINDS and re.fullmatch(r"\w+(\.\w+)+", row[1])
    )
    return Page(apis=apis, project=f"{head[1].decode('utf-8', 'replace')} {head[2].decode('utf-8', 'replace')}".strip())


def _place(written: str, name: str) -> str:
    """Return where a name is described; the inventory abbreviates the name at the end to `$`."""
    return f"{written[:-1]}{name}" if written.endswith("$") else written
