"""Documents that would take minutes or hours to read, read in the real process."""

import json
import zlib

import psutil
import pytest

from exploracoder_jupyter.knowledge.documents.document_files import File
from exploracoder_jupyter.knowledge.documents.document_source import read_documents
from exploracoder_jupyter.knowledge.documents.reading_process import NotText, PageProcess, TookTooLong
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache

GOOD = "# `acmekit.connect(host)`\n\nOpen a connection to a device.\n"
SLOW = File("slow.md", b"# `acmekit.connect(host)`\n\nOpen a connection to a device.\n\n" * 50_000)
HEAD = b"# Sphinx inventory version 2\n# Project: Acme\n# Version: 1\n# The rest is compressed using zlib.\n"
BAD = {
    "brackets.md": "[" * 50_000,
    "comments.md": "<!--" * 30_000,
    "emphasis.md": "*a_ " * 20_000,
    "images.md": "![[](" * 10_000,
    "backticks.md": " ".join("`" * number for number in range(1, 320)),
    "quotes.md": "> " * 20_000,
    "angles.md": "<" * 50_000,
    "lists.md": "- " * 5_000,
    "table.md": "a|b\n-|-\n" + "|" * 100_000,
    "setext.md": "a\n" * 50_000 + "===",
    "references.md": "".join(f"[a{number}]: /u{number}\n" for number in range(10_000)),
    "title.md": '[a]: /u "' + "x\n" * 50_000,
    "tag.html": "<a href='" * 20_000,
    "indent.rst": "See Also:\n" + " " * 100_000 + "x",
    "returns.rst": "Returns:\n    " + "[" * 100_000 + ": x\n",
    "signatures.txt": "f" + "(" * 100_000,
    "stubs.pyi": "x = " + "(" * 100_000,
    "cells.ipynb": json.dumps({"cells": [{"cell_type": "markdown", "source": "[" * 1_000_000}], "metadata": {}}),
}


@pytest.fixture
def ref(tmp_path):
    folder = tmp_path / "ref"
    folder.mkdir()
    (folder / "good.md").write_text(GOOD)
    return folder


@pytest.mark.timeout(280)
def test_hostile_documents_are_read_in_bounded_time(tmp_path, ref):
    """Issue 14, item 9: no document holds up the reading, and what is good is read."""
    for name, text in BAD.items():
        (ref / name).write_text(text)
    (ref / "objects.inv").write_bytes(HEAD + zlib.compress(b"a" * 100_000_000))
    with PageProcess(seconds=3) as page_of:
        documents = read_documents([ref], KnowledgeCache(tmp_path / "cache"), read=page_of)
    assert "acmekit.connect" in [api.path for api in documents.apis]


@pytest.mark.timeout(60)
def test_a_slow_document_is_skipped():
    """Issue 14, item 9: the process that reads is ended by the system, and replaced."""
    with PageProcess(seconds=0.5) as page_of:
        with pytest.raises(TookTooLong):
            page_of(SLOW)
        assert [api.path for api in page_of(File("good.md", GOOD.encode())).apis] == ["acmekit.connect"]


def test_what_is_not_text_is_refused_alike():
    """Issue 14, item 9: the reasons of readers come across."""
    with PageProcess() as page_of, pytest.raises(NotText):
        page_of(File("blob.md", b"\0" * 10))


def test_leaving_ends_the_process():
    """Issue 14, item 9: nothing is left of the reading."""
    with PageProcess() as page_of:
        page_of(File("good.md", GOOD.encode()))
        (child,) = [one for one in psutil.Process().children() if "reading_process" in " ".join(one.cmdline())]
    assert not child.is_running()
