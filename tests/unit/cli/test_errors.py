"""Wrong use: one sentence, the documented exit status, an object with --json. No run is started here."""

import pwd

import nbformat
import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.trace import render, without_unselected
from tests.json_output import json_result
from tests.unit.factories import complete_run

WRONG = {
    "unknown command": ["explode"],
    "unknown option": ["run", "-t", "x", "--library", "statistics", "--frobnicate"],
    "no library": ["run", "-t", "x", "--kernel", "python3"],
    "empty task": ["run", "-t", "", "--library", "statistics"],
    "task of 100 kB": ["run", "-t", "x" * 100_000, "--library", "statistics"],
    "bad number": ["run", "-t", "x", "--library", "statistics", "--candidates", "many"],
    "bad choice": ["run", "-t", "x", "--library", "statistics", "--show", "some"],
    "not in this version": ["run", "-t", "x", "--library", "statistics", "--web"],
    "k out of range": ["search", "statistics", "mean", "-k", "0"],
    "empty query": ["search", "statistics", " "],
    "no library to search": ["search", ",", "mean"],
    "unreadable trace": ["export", "no-such.ipynb", "--out", "x.ipynb"],
    "export form": ["export", "a.ipynb", "--to", "pdf", "--out", "x"],
    "replay without a trace": ["replay"],
    "replay of no trace": ["replay", "no-such.ipynb", "--out", "b.ipynb"],
    "resume of no trace": ["run", "--resume", "no-such.ipynb"],
    "resume with a task": ["run", "-t", "x", "--resume", "a.ipynb"],
    "a cell without a trace": ["run", "-t", "x", "--library", "statistics", "--from", "2"],
}


@pytest.mark.parametrize("argv", WRONG.values(), ids=WRONG)
def test_wrong_use_is_one_sentence_with_status_2(argv, capsys):
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("jupyter explora: ")
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    assert main([*argv, "--json"]) == 2
    captured = capsys.readouterr()
    answer = json_result("error", captured.out)
    assert set(answer) == {"error", "remedy"}
    assert answer["error"] in captured.err


def test_a_user_without_home_is_asked_for_one(monkeypatch, capsys):
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def unknown(uid):
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)  # as in a container that runs with an arbitrary user id
    assert main(["history"]) == 2
    assert "HOME" in capsys.readouterr().err


def test_debug_shows_the_traceback(capsys):
    assert main(["search", "statistics", " ", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_file_that_is_no_trace_is_refused(tmp_path, capsys):
    plain, text = tmp_path / "plain.ipynb", tmp_path / "text.ipynb"
    nbformat.write(nbformat.v4.new_notebook(), plain)
    text.write_text("no JSON")
    for source in (plain, text):
        assert main(["export", str(source), "--out", str(tmp_path / "out.ipynb")]) == 2
        assert "is not the trace of a run" in capsys.readouterr().err
    assert not (tmp_path / "out.ipynb").exists()


def test_export_makes_lost_outputs_anew(tmp_path):
    path, out = tmp_path / "trace.ipynb", tmp_path / "out.ipynb"
    notebook = render(complete_run())
    outputs = [cell.get("outputs") for cell in without_unselected(notebook).cells]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbformat.write(notebook, path)
    assert main(["export", str(path), "--out", str(out)]) == 0
    assert [cell.get("outputs") for cell in nbformat.read(out, as_version=4).cells] == outputs
    assert main(["export", str(path), "--out", str(out)]) == 0, "an export is ours and may be written again"


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["run", "--help"]])
def test_help_and_version_end_with_status_0(argv, capsys):
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert not ended.value.code
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--budget-tokens", "-5", "--budget-tokens) must be at least 1, not -5"),
        ("--name", "not a name", "--name takes the name of a function"),
        ("--out", "", "is a folder"),
        ("--out", ".", "is a folder"),
    ],
)
def test_a_senseless_value_is_refused_by_its_option(option, value, words, capsys):
    """Issue 14, item 18: the sentence is in the words of the command line."""
    assert main(["run", "-t", "x", "--library", "statistics", option, value]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["search", "statistics", "mean"], ["run", "-t", "x", "--library", "statistics"]])
def test_a_deleted_folder_is_named_in_a_sentence(argv, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    assert main(argv) == 2
    assert "The current folder has been deleted." in capsys.readouterr().err
