"""Documents that are missing, broken, too large or written to do harm."""

import os
import zipfile
import zlib

import pytest

from exploracoder_jupyter.core.errors import MissingRequirement, UsageError
from exploracoder_jupyter.knowledge.documents import document_files
from exploracoder_jupyter.knowledge.documents.document_source import read_documents
from exploracoder_jupyter.knowledge.documents.reading_process import TookTooLong, read_page
from exploracoder_jupyter.knowledge.knowledge_cache import KnowledgeCache

GOOD = "# Acme\n\n## `acmekit.connect(host)`\n\nOpen a connection to a device.\n"


@pytest.fixture
def read(tmp_path):
    def read(*paths, **more):
        return read_documents([tmp_path / path for path in paths], KnowledgeCache(tmp_path / "cache"), **more)

    return read


@pytest.fixture
def ref(tmp_path):
    folder = tmp_path / "ref"
    folder.mkdir()
    (folder / "good.md").write_text(GOOD)
    return folder


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, body in members.items():
            made.writestr(name, body)
    return path


def names(documents):
    return [api.path for api in documents.apis]


def paths_of(documents):
    return {api.origin.partition(",")[0] for api in documents.apis}


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("missing", None, "There is no documentation at"),
        ("https://acme.example/ref", None, "Nothing is loaded from the network"),
        ("a\0b", None, "cannot be read"),
        ("blob.md", b"\0\1\2" * 40, "No documentation could be read at"),
        ("broken.ipynb", b"{", "1 unreadable"),
        ("broken.inv", b"x", "1 unreadable"),
        ("broken.zip", b"x", "is not a valid archive"),
        ("cut.zip", b"PK\x05\x06" + b"\xff" * 18, "contains too many files"),
        ("settings.json", b'{"a": 1}', "has an unsupported file type"),
        ("empty.md", b"", "No documentation could be read at"),
    ],
)
def test_what_is_not_documentation_is_refused(tmp_path, read, name, content, sentence):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read(name)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_beside_good_documents_the_rest_is_counted(ref, read):
    (ref / "blob.md").write_bytes(b"\0\0")
    (ref / "broken.ipynb").write_text("{")
    (ref / "huge.md").write_text("x" * (document_files.MAX_FILE_BYTES + 1))
    (ref / "picture.png").write_bytes(b"\0")
    documents = read("ref")
    assert names(documents) == ["acmekit.connect"]
    assert documents.skipped == (("binary", 1), ("too large", 1), ("unreadable", 1))
    assert documents.left_out.endswith("left out: binary (1), too large (1), unreadable (1).")


def test_links_are_not_followed_nor_pipes_awaited(tmp_path, ref, read):
    (tmp_path / "outside.md").write_text("# `acmekit.secret(x)`\n\nOf another folder.\n")
    (ref / "outside.md").symlink_to(tmp_path / "outside.md")
    (ref / "around").symlink_to(ref)
    os.mkfifo(ref / "pipe.md")
    documents = read("ref")
    assert names(documents) == ["acmekit.connect"]
    assert documents.skipped == (("link or no regular file", 2),)
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        read("ref/pipe.md")


def test_an_archive_is_read_without_being_unpacked(tmp_path, read):
    members = {
        "ref/good.md": GOOD,
        "../../evil.md": "# `acmekit.evil(x)`",
        "/abs.md": "# `acmekit.evil(x)`",
        "C:/abs.md": "# `acmekit.evil(x)`",
        "inner.zip": b"x",
    }
    before = {*tmp_path.rglob("*")}
    archive(tmp_path / "ref.zip", members)
    documents = read("ref.zip")
    assert names(documents) == ["acmekit.connect"] and paths_of(documents) == {"ref.zip/ref/good.md"}
    assert {path.name for path in {*tmp_path.rglob("*")} - before} <= {"ref.zip", "cache", "knowledge.sqlite"}


def test_what_unpacks_to_too_much_is_left_out(tmp_path, read):
    bomb = b"\n" * (document_files.MAX_FILE_BYTES + 1)
    archive(tmp_path / "ref.zip", {"good.md": GOOD, "bomb.md": bomb})
    assert (tmp_path / "ref.zip").stat().st_size < 10_000
    documents = read("ref.zip")
    assert names(documents) == ["acmekit.connect"] and documents.skipped == (("too large", 1),)


def test_an_archive_that_is_too_large_is_refused(tmp_path, read):
    with (tmp_path / "ref.zip").open("wb") as file:
        file.truncate(document_files.MAX_ARCHIVE_BYTES + 1)  # takes no room on the disk
    with pytest.raises(UsageError, match="is larger than 500 MB"):
        read("ref.zip")


def test_an_inventory_that_unpacks_too_large_is_cut(tmp_path, read, monkeypatch):
    monkeypatch.setattr("exploracoder_jupyter.knowledge.documents.markup_readers._MAX_BYTES", 1_000)
    lines = "\n".join(f"acmekit.f{number} py:function 1 a.html#$ -" for number in range(10_000))
    head = b"# Sphinx inventory version 2\n# Project: Acme\n# Version: 1\n# The rest is compressed using zlib.\n"
    (tmp_path / "objects.inv").write_bytes(head + zlib.compress(lines.encode()))
    assert 0 < len(read("objects.inv").apis) < 50


def test_time_that_is_up_ends_the_reading(ref, read, monkeypatch):
    (ref / "more.md").write_text("# More\n\nThere is more to be said about the device than this.\n")
    read_pages = []

    def slow(file):
        read_pages.append(file.name)
        monkeypatch.setattr(document_files.time, "monotonic", lambda: float("inf"))
        return read_page(file)

    documents = read("ref", read=slow)
    assert read_pages == ["ref/good.md"] and documents.skipped == (("beyond the limits", 1),)
    monkeypatch.undo()
    assert read("ref").skipped == (), "what was cut short is not kept"


def test_entities_of_a_document_are_not_expanded(tmp_path, read):
    (tmp_path / "secret.txt").write_text("the secret of another file")
    head = f'<!DOCTYPE html [<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt"><!ENTITY y "yyyyy">]>'
    (tmp_path / "page.html").write_text(f"{head}<h1>Page</h1><p>What is told here: &x; &y; and that is all of it.</p>")
    assert "yyyyy" not in repr(read("page.html").passages) and "secret of" not in repr(read("page.html").passages)


def test_texts_of_any_encoding_are_read(tmp_path, ref, read):
    for name, encoding in (("a", "utf-8-sig"), ("b", "utf-16"), ("c", "latin-1")):
        (ref / f"{name}.md").write_bytes(
            f"# Größe\n\nWie groß ein Gerät ist, steht in {name}, sonst nirgends.\n".encode(encoding)
        )
    texts = [passage.text for passage in read("ref").passages if "Gerät" in passage.text]
    assert len(texts) == 3


def test_a_missing_package_is_named(tmp_path, read, monkeypatch):
    (tmp_path / "page.html").write_text("<h1>Page</h1>")
    monkeypatch.setitem(__import__("sys").modules, "lxml", None)
    with pytest.raises(MissingRequirement, match=r"pip install 'exploracoder-jupyter\[docs\]'"):
        read("page.html")


def test_halves_of_characters_are_replaced(tmp_path, ref, read):
    (ref / os.fsdecode(b"na\xffme.md")).write_text("# Page\n\nWhat is told here stands in a file with an odd name.\n")
    half = r'"\ud800 is half of a character, and stands in a text of some length"'
    cells = f'[{{"cell_type": "markdown", "source": {half}}}]'
    (ref / "tour.ipynb").write_text(f'{{"cells": {cells}, "metadata": {{}}}}')
    (ref / "page.html").write_text("<p>Half of a character, &#xD800;, and more, so that it is long enough.</p>")
    documents = read("ref")
    assert repr(documents).encode() and not documents.skipped
    assert len(documents.apis) == 1 and len(documents.passages) == 3 and read("ref").reopened


def test_what_was_read_is_kept_by_content(ref, read):
    first = read("ref")
    again = read("ref", read=lambda file: pytest.fail("it was read before"))
    assert again.apis == first.apis and again.reopened and not first.reopened
    (ref / "good.md").write_text(GOOD.replace("connect", "reach"))
    assert names(read("ref")) == ["acmekit.reach"]


def slow_about(*names):
    def read(file):
        if file.name in names:
            raise TookTooLong(15.0)
        return read_page(file)

    return read


def test_a_slow_file_is_named_and_others_read(ref, read):
    """Issue 14, item 9: a document that exceeds its time is left out with a sentence that names it, also next time."""
    (ref / "bad.md").write_text("[" * 50_000)
    documents = read("ref", read=slow_about("ref/bad.md"))
    assert names(documents) == ["acmekit.connect"]
    for one in (documents, read("ref")):
        (sentence,) = one.notices
        assert "'ref/bad.md'" in sentence and "15 s" in sentence


def test_many_bombs_end_at_the_limit_of_all(tmp_path, read, monkeypatch):
    monkeypatch.setattr(document_files, "MAX_BYTES", 3 * document_files.MAX_FILE_BYTES)
    bomb = b"\n" * (document_files.MAX_FILE_BYTES + 1)
    archive(tmp_path / "ref.zip", {"README.md": GOOD, **{f"bomb{number}.md": bomb for number in range(6)}})
    assert dict(read("ref.zip").skipped) == {"too large": 3, "beyond the limits": 3}
