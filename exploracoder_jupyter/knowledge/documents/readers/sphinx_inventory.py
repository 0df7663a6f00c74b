"""Reads `objects.inv`: the names that a project's Sphinx documentation describes."""

from __future__ import annotations

import re
import zlib

from exploracoder_jupyter.knowledge.documents.document_set import Page
from exploracoder_jupyter.knowledge.documents.readers.signature_parser import DIRECTIVE_KINDS, make_api

_MAX_BYTES = 32_000_000
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
    apis = []
    for _, name, kind, place in (row.group(0, 1, 2, 3) for row in found):
        if kind in DIRECTIVE_KINDS and re.fullmatch(r"\w+(\.\w+)+", name):
            place = re.sub(r"\$\Z", name, place)  # the inventory abbreviates the name at the end
            api = make_api(name, DIRECTIVE_KINDS[kind], "", "", library=name.partition(".")[0], place=place)
            apis.append(api)
    project, version = (part.decode("utf-8", "replace") for part in head.groups())
    return Page(apis=tuple(apis), project=f"{project} {version}".strip())
