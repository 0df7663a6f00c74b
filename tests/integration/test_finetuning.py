"""`jupyter explora annotate` and `finetune`, with a library of four functions."""

import json

import pytest

from tests.integration.command_line import explora

LIBRARY = '''"""Tables."""

def read(path):
    """Load a table from a file of text."""

def join(one, other):
    """Combine two tables on the column that they share."""

def rank(table, column):
    """Order the rows by the values of one column.

    >>> import tables
    >>> rows = tables.read("x.txt")
    >>> tables.rank(rows, "a")
    """
'''
CODE = '''import tables as tb

def merge(first, second):
    """Put the contents of two files together."""
    one, other = tb.read(first), tb.read(second)
    return tb.join(one, other)

def excluded(path):
    """Rank what a file contains by its second and then by its third column."""
    return tb.rank(tb.rank(tb.read(path), "second"), "third"), tb.rank(tb.read(path), "fourth")
'''
PROBLEM = 'x = tb.rank(tb.rank(tb.read(path), "second"), "third"), tb.rank(tb.read(path), "fourth")'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tables.py").write_text(LIBRARY)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "LICENSE").write_text("MIT License\n")
    (corpus / "a.py").write_text(CODE)
    (corpus / "b.py").write_text(CODE.replace("import tables as tb", "import tables as tb\n"))
    (corpus / "broken.py").write_text("def f(:")
    cell = {"cell_type": "code", "source": "import tables\n# show what is in the file\nprint(tables.read('a'))"}
    (corpus / "n.ipynb").write_text(json.dumps({"metadata": {}, "cells": [cell]}))
    (tmp_path / "problems.jsonl").write_text(json.dumps({"solution": PROBLEM}) + "\n")
    return tmp_path


def _annotate(folder, *options):
    arguments = ["annotate", "corpus", "--library", "tables", "--out", "data.jsonl", "--json", *options]
    done = explora(*arguments, "--exclude", "problems.jsonl", folder=folder)
    return done, json.loads(done.stdout)


def _rows(folder):
    return [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines()]


def test_a_corpus_is_annotated_and_what_is_left_out_is_counted(folder):
    done, counts = _annotate(folder)
    assert done.returncode == 0, done.stderr
    assert (counts["sources"], counts["samples"], counts["invalid"], counts["rows"]) == (4, 5, 1, 2)
    assert counts["left_out"] == {"duplicate": 2, "benchmark problem": 1}
    merge, cell = _rows(folder)
    assert merge["path"] == "corpus/a.py" and merge["licence"] == "MIT License"
    assert [call["api"] for call in merge["calls"]] == ["tables.read", "tables.join"]
    assert "tables.join(one, other): Combine two tables on the column that they share." in merge["code"]
    assert cell["calls"][0]["origin"] == "comment" and cell["place"] == "cell 1"


def test_an_interrupted_annotation_is_continued_behind_the_last_file(folder):
    _annotate(folder)
    whole, state = _rows(folder), json.loads((folder / "data.jsonl.state.json").read_text())
    first = (folder / "data.jsonl").read_bytes().splitlines(keepends=True)[0]
    state |= {"sources": 1, "rows": 1, "samples": 2, "invalid": 0, "size": len(first), "left_out": {}}
    (folder / "data.jsonl.state.json").write_text(json.dumps(state))
    with (folder / "data.jsonl").open("wb") as file:
        file.write(first + b'{"half of')
    _, counts = _annotate(folder, "--resume")
    assert _rows(folder) == whole and counts["rows"] == 2


def test_what_exists_is_not_written_over_and_another_corpus_is_not_mixed_in(folder):
    _annotate(folder)
    done, error = _annotate(folder)
    assert done.returncode == 2 and "--resume" in error["remedy"]
    done, error = _annotate(folder, "--snippets", "--resume")
    assert done.returncode == 2 and "another corpus" in error["error"]


def test_a_corpus_without_code_is_an_error(folder):
    (folder / "empty").mkdir()
    done = explora("annotate", "empty", "--library", "tables", "--out", "data.jsonl", folder=folder)
    assert done.returncode == 2 and "no Python file" in done.stderr
    done = explora("annotate", "nowhere", "--library", "tables", "--out", "data.jsonl", folder=folder)
    assert done.returncode == 2 and "installed package 'nowhere'" in done.stderr
