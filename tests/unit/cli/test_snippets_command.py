"""`jupyter explora snippets`: to see what is kept of code that ran, and to remove it."""

import sqlite3

import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.configuration.sources import snippets_path
from exploracoder_jupyter.core.types import Snippet
from exploracoder_jupyter.knowledge.sources import SnippetStore
from tests.json_output import json_result


@pytest.fixture
def store():
    """Two snippets of scikit-learn, one of networkx."""
    store = SnippetStore(snippets_path())
    for library, title in [("sklearn", "Fit a line"), ("sklearn", "Scale the\ncolumns"), ("networkx", "Make a graph")]:
        code = f"print({title!r})\nprint(2)"
        store.add([Snippet(library, "1.2", title, code, (f"{library}.f",), "2", "3.11")], "values")
    return store


def test_all_are_listed_with_their_place(store, capsys):
    assert main(["snippets"]) == 0
    captured = capsys.readouterr()
    assert [line.split("  ", 1)[1].split(" ")[0] for line in captured.out.splitlines()] == [
        "networkx",
        "sklearn",
        "sklearn",
    ]
    assert "Scale the columns" in captured.out and "print" not in captured.out
    assert captured.err == f"3 snippets in {store.path}.\n"


def test_a_library_lists_its_snippets_by_either_name(store, capsys):
    assert main(["snippets", "scikit-learn"]) == 0
    output = capsys.readouterr().out
    assert "networkx" not in output
    assert output.count("    print(2)\n") == 2
    assert main(["snippets", "sklearn"]) == 0
    assert capsys.readouterr().out == output


def test_json_has_everything(store, capsys):
    assert main(["snippets", "networkx", "--json"]) == 0
    found = json_result("snippets", capsys.readouterr().out)
    [row] = found["snippets"]
    assert found["path"] == str(store.path)
    assert (row["title"], row["observed"], row["apis"], row["uses"]) == ("Make a graph", "2", ["networkx.f"], 0)


def test_the_status_reports_an_empty_store(capsys):
    assert main(["snippets"]) == 1
    assert capsys.readouterr().out == ""
    assert main(["snippets", "--clear"]) == 0
    assert capsys.readouterr().out.startswith("Removed 0 snippets from ")
    assert not snippets_path().exists()


def test_they_are_removed_by_library_or_all(store, capsys):
    assert main(["snippets", "scikit-learn", "--clear"]) == 0
    assert capsys.readouterr().out == f"Removed 2 snippets from {store.path}.\n"
    assert [one.snippet.library for one in store.all()] == ["networkx"]
    assert main(["snippets", "--clear", "--json"]) == 0
    assert json_result("snippets", capsys.readouterr().out) == {"path": str(store.path), "removed": 1}
    assert store.all() == []


def test_a_failure_to_remove_is_reported(store, capsys, monkeypatch):
    with sqlite3.connect(store.path, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr("exploracoder_jupyter.knowledge.sources.snippets.LOCK_TIMEOUT", 0.01)
        monkeypatch.setattr("exploracoder_jupyter.knowledge.sources.snippets.SHORT_LOCK_TIMEOUT", 0.01)
        assert main(["snippets", "--clear"]) == 2
        other.execute("ROLLBACK")
    other.close()
    assert f"{store.path} cannot be changed: database is locked." in capsys.readouterr().err
    assert len(store.all()) == 3
