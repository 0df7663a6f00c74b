"""The magics in a shell of their own: loading, errors, completion. Runs are in the integration ring."""

import subprocess

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.error import UsageError
from traitlets import TraitError

import exploracoder_jupyter
from exploracoder_jupyter.core.configuration.options import OPTIONS
from exploracoder_jupyter.ipython_extension.magics import ExploraMagics
from exploracoder_jupyter.ipython_extension.running.engine import change_repository


def magics(shell):
    return [known for known in shell.configurables if isinstance(known, ExploraMagics)]


def test_loading_twice_registers_once_and_unloading_removes_all(shell):
    transformers = list(shell.input_transformers_cleanup)
    first = magics(shell)
    matchers = len(shell.Completer.custom_matchers)
    exploracoder_jupyter.load_ipython_extension(shell)
    assert magics(shell) == first
    assert len(shell.Completer.custom_matchers) == matchers
    exploracoder_jupyter.unload_ipython_extension(shell)
    exploracoder_jupyter.unload_ipython_extension(shell)
    assert magics(shell) == []
    assert shell.find_cell_magic("explora") is None
    assert shell.find_line_magic("explora") is None
    assert shell.find_cell_magic("explored") is None
    assert len(shell.Completer.custom_matchers) == matchers - 1
    assert [one for one in transformers if "exploracoder" not in one.__module__] == shell.input_transformers_cleanup


def test_a_recorded_candidate_is_not_run(shell, capsys):
    assert shell.run_cell("%%explored 2.3r1\nran = True").success
    assert "ran" not in shell.user_ns
    assert capsys.readouterr().out == "Candidate 2.3r1, recorded, not run here.\n"


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("%%explora networkx\n \n", "There is no task. Write it in words below the %%explora line."),
        ("%%explora networkx", "There is no task. Write it in words below the %%explora line."),
        ("%%explora", "There is no task. Write it in words below the %%explora line."),
        ("%%explora --kernel julia\ntask", "No library is named, and the packages behind --kernel"),
        ("%%explora --resume", "There is no task. Write it in words below the %%explora line."),
        ("%%explora --resume no.ipynb", "There is no file 'no.ipynb'."),
        ("%%explora --resume\nnever run", "There is no trace of this task in "),
        ("%%explora networkx --web\ntask", "--web needs a value."),
        ("%%explora networkx --candidates 99\ntask", "The setting 'exploration.candidates' (--candidates) must be"),
        ("%%explora networkx --use missing\ntask", "--use: There is no variable 'missing'."),
        ("%%explora networkx --state fresh --use handle\ntask", "Experiments start in a new kernel (as requested)."),
        ("%explora dance", "There is no command 'dance'."),
        ("%explora solution", "There is no solution yet."),
        ("%explora export", "There is no trace yet."),
        ("%explora files", "No files were kept. Explore with --keep-files."),
        ("%explora files --move", "%explora files takes no arguments other than `--copy`."),
        ("%explora search", "The query is empty. Describe what you are looking for."),
        ("%explora search traitlets", "There is no query: what are you looking for in traitlets?"),
        ('%explora search "validate a value"', "No library is named, and none was searched before."),
        ("%explora search -k 0 traitlets validate", "-k takes a number from 1 to 1000, not 0."),
        ("%explora serach x", "There is no command 'serach'. Did you mean search?"),
        ("%explora search --kernle x traitlets validate", "There is no option --kernle. Did you mean --kernel?"),
        ('%explora search traitlets "validate', "The %explora search line cannot be read. Close every double quote."),
        ("%explora doctor", "%explora doctor is a command for a terminal. Use `jupyter explora doctor`."),
        ("%explora setup --modle x", "There is no option --modle. Did you mean --model?"),
        ("%explora setup --model 'x", "The %explora setup line cannot be read. Close every quote."),
        ("%explora config everything", "%explora config takes no arguments other than `key`."),
    ],
)
def test_errors_are_one_sentence_without_a_traceback(shell, capsys, cell, sentence):
    shell.user_ns["handle"] = (item for item in "a generator")
    result = shell.run_cell(cell)
    assert isinstance(result.error_in_exec, UsageError)
    captured = capsys.readouterr()
    assert captured.err.startswith(f"UsageError: {sentence}")
    assert len(captured.err.splitlines()) == 1
    assert captured.out == ""


def test_a_terminal_waits_for_the_task(shell):
    assert shell.check_complete("%%explora networkx\n")[0] == "incomplete"


@pytest.mark.parametrize("cell", ["%%explora networkx\ntask", "%explora history", "%explora search networkx path"])
def test_a_deleted_folder_is_named_in_a_sentence(shell, capsys, tmp_path, monkeypatch, cell):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    assert isinstance(shell.run_cell(cell).error_in_exec, UsageError)
    assert capsys.readouterr().err.startswith("UsageError: The current folder has been deleted.")


def test_braces_and_dollars_of_the_line_stay(shell, capsys):
    shell.user_ns["name"] = "expanded"
    shell.run_cell("%%explora x --share {name}\ntask")
    assert "{name}" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", "status", "stop", "history", "clean", "config"])
def test_commands_answer_before_there_is_a_run(shell, capsys, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    assert shell.run_cell(f"%explora {command}").success
    assert capsys.readouterr().out


def test_applying_a_patch_imports_nothing_of_the_user(monkeypatch):
    started = []

    def finish(command, **_):
        started.append(command)
        return subprocess.CompletedProcess(command, 0, stdout="Applied.\n", stderr="That run ended unsolved.\n")

    monkeypatch.setattr(subprocess, "run", finish)
    assert change_repository("apply", "t.ipynb", engine_python="/other/python") == "Applied.\nThat run ended unsolved."
    assert started[0][:3] == ["/other/python", "-P", "-m"]


def test_config_sets_what_runs_start_from(shell, capsys):
    assert shell.run_cell("%config ExploraMagics.candidates = 3").success
    shell.run_cell("%config ExploraMagics.engine_python = '/opt/python'")
    capsys.readouterr()
    assert magics(shell)[0].configured() == {
        "exploration": {"candidates": 3},
        "sandbox": {"engine_python": "/opt/python"},
    }
    shell.run_cell("%explora config")
    output = capsys.readouterr().out
    assert "exploration.candidates = 3" in output
    with pytest.raises(TraitError):
        magics(shell)[0].candidates = "many"


def test_config_takes_values_of_every_kind(shell):
    """The kind of a trait follows from the type of its setting."""
    found = magics(shell)[0]
    found.no_snippets, found.docs, found.share, found.timeout = True, ["guide.md"], "Schema", 5
    assert found.configured() == {
        "retrieval": {"snippets": False, "docs": ["guide.md"]},
        "endpoint": {"share": "schema"},
        "exploration": {"timeout": 5.0},
    }
    with pytest.raises(TraitError):
        found.share = "rows"


def test_help_shows_the_options(shell, capsys):
    assert all(
        option.flag in shell.find_cell_magic("explora").__doc__ for option in OPTIONS if "magic" in option.places
    )
    assert "%explora stop" in shell.find_line_magic("explora").__doc__


@pytest.mark.parametrize(
    ("line", "some", "never"),
    [
        ("%%explora trait", {"traitlets"}, set()),
        ("%%explora traitlets pyda", {"pydantic"}, set()),
        ("%%explora scikit-l", {"scikit-learn"}, set()),
        ("%%explora traitlets --bu", {"--budget-tokens", "--budget-seconds"}, {"--web"}),
        ("%%explora traitlets --share ", {"values", "schema", "none"}, {"traitlets"}),
        ("%%explora traitlets --state ", {"auto", "live", "fresh"}, {"traitlets"}),
        ("%explora s", {"search", "status", "stop", "solution"}, {"traitlets"}),
        ("%explora search trait", {"traitlets"}, {"status"}),
        ("hits = %explora search -k 5 trait", {"traitlets"}, {"status"}),
        ("%explora search -", {"-k", "--kernel"}, {"--candidates"}),
        ("%explora search traitlets trait", set(), {"traitlets"}),
        ("%explora fi", {"files"}, {"traitlets"}),
        ("%explora export --", {"--to"}, {"status"}),
        ("%explora export --to ", {"script", "html", "notebook"}, {"status"}),
        ("%explora export sta", set(), {"status"}),
    ],
)
def test_completion(shell, line, some, never):
    found = complete(shell, line)
    assert some <= found
    assert not never & found


def test_completion_stays_out_of_other_lines(shell):
    assert "traitlets" not in complete(shell, "%%explore trait")
    assert "status" not in complete(shell, "x = st")


def complete(shell, line):
    with provisionalcompleter():
        return {found.text for found in shell.Completer.completions(f"{line}\nthe task", len(line))}
