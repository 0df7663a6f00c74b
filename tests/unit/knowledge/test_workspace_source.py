"""The user's files as a source: in pieces, within limits, never outside the folder, never with credentials."""

import json
import os

import anyio
import pytest

from exploracoder_jupyter.knowledge.sources import WorkspaceSource
from exploracoder_jupyter.text.files import Limits, iter_files

FUNCTION = "def total(rows):\n    '''Add up the prices of the rows.'''\n    return sum(row.price for row in rows)\n"


def _write(folder, **files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _read(folder, limits=None):
    return [file.path for file in iter_files(folder, limits or Limits())]


def _found(source, query, k=10):
    return [hit.passage for hit in anyio.run(source.search, query, k)]


def _cell(source, kind="code", **more):
    return {"cell_type": kind, "source": source, "metadata": {}, **more}


def _notebook(*cells, **metadata):
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def test_python_is_found_by_function_with_its_place(tmp_path):
    _write(tmp_path, **{"shop/sales.py": f"import os\n\nRATE = 1.2\n\n{FUNCTION}\nclass Till:\n    open = True\n"})
    [total] = _found(WorkspaceSource(tmp_path), "add up prices of rows")
    assert total == type(total)(
        source="workspace", title="total", text=FUNCTION.rstrip(), origin="shop/sales.py, line 5", code=True
    )
    assert [one.title for one in _found(WorkspaceSource(tmp_path), "RATE")] == ["shop/sales.py"]
    assert [one.title for one in _found(WorkspaceSource(tmp_path), "Till")] == ["Till"]


def test_markdown_is_found_by_section(tmp_path):
    text = "Intro words\n\n# Prices\n\nHow prices are made.\n\n```\n# no heading\n```\n\n## Taxes\n\nWhat taxes are.\n"
    _write(tmp_path, **{"notes.md": text})
    [prices] = _found(WorkspaceSource(tmp_path), "how prices are made")
    assert (prices.title, prices.origin, prices.code) == ("Prices", "notes.md, line 3", False)
    assert "# no heading" in prices.text and "taxes" not in prices.text


def test_a_notebook_gives_code_without_explorations(tmp_path):
    output = {"output_type": "stream", "name": "stdout", "text": "median secretly printed"}
    cells = (
        _cell("# Medians", "markdown"),
        _cell("%%explora pandas\nmedian of the prices"),
        _cell("%%explored 1.1\nmedian(prices, 1)"),
        _cell(["prices = load()\n", "median(prices)"], outputs=[output]),
        _cell("!pip install median prices"),
    )
    _write(tmp_path, **{"mine.ipynb": _notebook(*cells)})
    found = _found(WorkspaceSource(tmp_path), "median prices")
    assert {(one.origin, one.title, one.code) for one in found} == {
        ("mine.ipynb, cell 4", "Medians", True),
        ("mine.ipynb, cell 5", "Medians", False),
    }
    assert not _found(WorkspaceSource(tmp_path), "secretly printed")


def test_a_trace_of_an_exploration_is_left_out(tmp_path):
    _write(tmp_path, **{"trace.ipynb": _notebook(_cell("median(prices)"), exploracoder_jupyter={"schema": 1})})
    _write(tmp_path, **{"explorations/trace.ipynb": _notebook(_cell("median(prices)"))})
    assert not _found(WorkspaceSource(tmp_path), "median prices")


def test_the_notebook_itself_is_searched_once(tmp_path):
    _write(
        tmp_path,
        **{"work/here.ipynb": _notebook(_cell("median(prices)")), "there.ipynb": _notebook(_cell("mode(prices)"))},
    )
    folder = tmp_path / "work"
    inside = _found(WorkspaceSource(folder, folder / "here.ipynb"), "prices")
    assert [one.origin for one in inside] == ["here.ipynb, cell 1"]
    outside = _found(WorkspaceSource(folder, tmp_path / "there.ipynb"), "prices")
    assert sorted(one.origin for one in outside) == ["here.ipynb, cell 1", "there.ipynb, cell 1"]
    assert _found(WorkspaceSource(folder, tmp_path / "unsaved.ipynb"), "prices") == inside


@pytest.mark.parametrize(
    "name",
    [
        ".env.py", ".git/a.py", ".venv/a.py", "venv/lib/a.py", "conda/a.py", "node_modules/a.py", "__pycache__/a.py",
        "explorations/a.py", "secrets.py", "my-credentials.md", "conf/db_password.py", "private_key.md", "a.txt",
        "a.csv", "build/a.py", "out/a.py", "kept/b.py",
    ],
)  # fmt: skip
def test_foreign_and_secret_files_are_not_read(tmp_path, name):
    _write(tmp_path, **{name: "a = 1", "venv/pyvenv.cfg": "", "conda/conda-meta/history": "", "tokens.py": "a = 1"})
    _write(tmp_path, **{".gitignore": "/out/\nb.py\n# tokens.py\n"})
    assert _read(tmp_path) == ["tokens.py"]


def test_a_gitignore_means_what_it_means_to_git(tmp_path):
    _write(tmp_path, **{".gitignore": "*.md\n!keep.md\n/top.py\nonly/\ndocs/**/gen.py\n[xy].py\n"})
    ignored = ["a.md", "sub/b.md", "top.py", "only/a.py", "sub/only/a.py", "docs/gen.py", "docs/a/b/gen.py", "x.py"]
    read = ["keep.md", "sub/keep.md", "sub/top.py", "sub/gen.py", "z.py", "docs/a.py"]
    _write(tmp_path, **dict.fromkeys([*ignored, *read], "a = 1"))
    _write(tmp_path, **{"inner/.gitignore": "c.py\n", "inner/c.py": "a = 1", "inner/d.py": "a = 1", "c.py": "a = 1"})
    assert sorted(_read(tmp_path)) == sorted([*read, "inner/d.py", "c.py"])


def test_no_link_is_followed(tmp_path):
    folder, outside = tmp_path / "work", tmp_path / "outside"
    _write(outside, **{"secret.md": "outside", "more/a.py": "a = 1"})
    _write(folder, **{"b.py": "b = 1"})
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "links").symlink_to(outside / "more", target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    assert _read(folder) == ["b.py"]
    linked = WorkspaceSource(folder, folder / "link.md")
    assert not _found(linked, "outside")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    _write(tmp_path, **{"b.py": "b = 1"})
    assert _read(tmp_path) == ["b.py"]


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        (Limits(files=3), 3),
        (Limits(folders=2), 6),
        (Limits(bytes=1), 1),
        (Limits(file_bytes=3), 0),
        (Limits(seconds=-1), 0),
        (Limits(entries=5), 3),
    ],
)
def test_limits_are_kept_and_upper_folders_come_first(tmp_path, limits, most):
    for folder in ("", "a/", "a/b/", "c/"):
        _write(tmp_path, **{f"{folder}{at}.py": "a = 1" for at in range(3)})
    order = ["0.py", "1.py", "2.py", "a/0.py", "a/1.py", "a/2.py", "c/0.py", "c/1.py", "c/2.py"]
    read = _read(tmp_path, limits)
    assert read == order[:most]
    assert _read(tmp_path) == [*order, "a/b/0.py", "a/b/1.py", "a/b/2.py"]


def test_what_looks_like_a_credential_is_taken_out(tmp_path):
    code = (
        "import db\n\nPASSWORD = 'hunter2pw'\n\ndef connect():\n    return db.connect(PASSWORD, 'hunter2pw', marked)\n"
    )
    _write(tmp_path, **{"a.py": code, "a.ipynb": _notebook(_cell("connect(token='abcdef0123456789')"))})
    source = WorkspaceSource(tmp_path, clean=lambda text: text.replace("marked", "[redacted]"))
    text = "\n".join(one.text for one in (*_found(source, "connect"), *_found(source, "PASSWORD")))
    assert text.count("[redacted]") >= 4
    assert "hunter2pw" not in text and "abcdef0123456789" not in text and "marked" not in text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ipynb", _notebook(_cell("%matplotlib inline\nif words:\n    !ls\n    connect(token='abcdef0123456789')"))),
        ("a.ipynb", _notebook(_cell("%%js\nwords = {token: 'abcdef0123456789'};"))),
        ("a.md", "Some words:\n\n```\nwords['api_key'] = 'abcdef0123456789'\n```\n"),
        ("a.md", 'words\n\n- token: str = "abcdef0123456789"\n'),
        ("a.md", "Some words:\n\nheaders = \"token: 'abcdef0123456789'\"\n"),
        ("a.md", "# token = 'abcdef0123456789'\n\nwords\n"),
    ],
)
def test_a_credential_is_removed_from_text_and_titles(tmp_path, name, text):
    _write(tmp_path, **{name: text})
    [found] = _found(WorkspaceSource(tmp_path), "words")
    assert "[redacted]" in found.title + found.text
    assert "abcdef0123456789" not in found.title + found.text


def test_what_cannot_be_understood_gives_nothing(tmp_path):
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00words here")
    deep = "[" * 100_000
    _write(tmp_path, **{"bad.py": "def words here(:", "deep.py": f"words = {deep}", "deep.ipynb": deep})
    _write(tmp_path, **{"odd.ipynb": '{"cells": [{"words": 1}], "metadata": {}}', "list.ipynb": '["words here"]'})
    _write(tmp_path, **{"good.md": "words here"})
    assert [one.origin for one in _found(WorkspaceSource(tmp_path), "words here")] == ["good.md, line 1"]
