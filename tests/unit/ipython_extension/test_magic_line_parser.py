"""The option table, the magic's line and the layer it makes."""

from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.options import OPTIONS, OptionParser, add_options, settings_layer
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.ipython_extension.magic_line import parse_magic_line


def test_a_line_becomes_a_call():
    call = parse_magic_line(
        "networkx scikit-learn networkx --candidates 3 --timeout 2 --network --use a b --use c --name f --wait"
    )
    assert call.libraries == ("networkx", "scikit-learn")
    assert call.uses == ("a", "b", "c")
    assert (call.solution_name, call.wait, call.check) == ("f", True, None)
    assert call.layer == {"exploration": {"candidates": 3, "timeout": 2.0}, "sandbox": {"network": True}}


@pytest.mark.parametrize(
    ("line", "libraries", "resume"),
    [
        ("--resume", (), ""),
        ("networkx --resume", ("networkx",), ""),
        ("networkx --resume --candidates 2", ("networkx",), ""),
        ("networkx --resume old.ipynb", ("networkx",), "old.ipynb"),
        ("networkx", ("networkx",), None),
    ],
)
def test_a_run_is_resumed_by_cell_or_name(line, libraries, resume):
    call = parse_magic_line(line)
    assert (call.libraries, call.resume, call.start, call.hint) == (libraries, resume, "", "")


def test_a_cell_to_continue_from_has_a_hint():
    call = parse_magic_line("--resume old.ipynb --from 2 --hint 'use scipy'")
    assert (call.start, call.hint) == ("2", "use scipy")


def test_a_replay_needs_only_its_trace():
    call = parse_magic_line("--replay old.ipynb --delay recorded --out new.ipynb")
    assert (call.replay, call.delay, call.layer) == ("old.ipynb", "recorded", {"view": {"out": "new.ipynb"}})
    assert (parse_magic_line("--replay old.ipynb").delay, parse_magic_line("x").replay) == ("none", "")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("x --candidates many", "--candidates takes a whole number, not 'many'."),
        ("x --budget-seconds soon", "--budget-seconds takes a number, not 'soon'."),
        ("x --share rows", "--share takes values, schema, none, not 'rows'."),
        ("x --state warm", "--state takes auto, live, fresh, not 'warm'."),
        ("x --isolation none", "--isolation takes best, require, not 'none'."),
        ("x --web", "--web needs a value."),
        ("x --preset slow", "--preset takes quick, standard, thorough, not 'slow'."),
        ("x --test", "There is no option --test. Did you mean --tests? See `%%explora?`"),
        ("x --bogus", "There is no option --bogus. See `%%explora?` for the options."),
        ("x --cand 3", "There is no option --cand"),
        ("x --candidate 3", "There is no option --candidate. Did you mean --candidates? See `%%explora?`"),
        ("x --budget-token=3", "There is no option --budget-token. Did you mean --budget-tokens?"),
        ("x --candidates", "--candidates needs a value."),
        ("x --check 'assert", "The %%explora line cannot be read: No closing quotation."),
        ("x --from 2.3", "--from requires --resume. Add --resume, with the trace to resume."),
        ("x --hint more --candidates 2", "--hint requires --resume."),
        ("x --resume t.ipynb --from", "--from needs a value."),
        ("x --delay recorded", "--delay requires --replay."),
        ("x --replay old.ipynb", "x cannot be used with --replay, which repeats a run as it was."),
        ("--replay old.ipynb --candidates 2", "--candidates cannot be used with --replay"),
        ("--replay ''", "--replay names no trace."),
        ("x --check nowhere.py", "The check file 'nowhere.py' cannot be read: No such file"),
    ],
)
def test_what_is_wrong_is_one_sentence(line, sentence):
    with pytest.raises(UsageError) as caught:
        parse_magic_line(line)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_check_or_setup_is_file_or_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "check.py").write_text("assert f(1) == 2\n")
    assert parse_magic_line("x --check check.py").check == "assert f(1) == 2\n"
    assert parse_magic_line('x --check "assert f(1) == 2"').check == "assert f(1) == 2"
    (tmp_path / "data.py").write_text("ages = [20, 30]\n")
    assert parse_magic_line("x --setup data.py").setup == "ages = [20, 30]\n"
    assert parse_magic_line('x --setup "ages = [20]"').setup == "ages = [20]"
    assert parse_magic_line("x").setup == ""


def test_the_command_line_lacks_options_of_the_magic():
    parser = OptionParser(prog="jupyter explora run")
    add_options(parser, place="command")
    given = parser.parse_args(["--candidates", "2", "--out", "a.ipynb"])
    assert settings_layer(given) == {"exploration": {"candidates": 2}, "view": {"out": "a.ipynb"}}
    assert not hasattr(given, "wait")
    assert not hasattr(given, "use")
    with pytest.raises(UsageError, match="See `jupyter explora run --help` for the options"):
        parser.parse_args(["--wait"])


def test_a_line_sets_state_and_isolation():
    assert parse_magic_line("x --tests --preset quick").layer == {"exploration": {"tests": True, "preset": "quick"}}
    assert parse_magic_line("x --review").layer == {"exploration": {"review": True}}
    line = "x --state live --isolation require --pickle --gateway http://there:8888 --keep-files"
    assert parse_magic_line(line).layer == {
        "sandbox": {"state": "live", "isolation": "require", "pickle": True, "gateway": "http://there:8888"},
        "view": {"keep_files": True},
    }


def test_the_command_line_has_no_live_kernel():
    parser = OptionParser(prog="jupyter explora run")
    add_options(parser, place="command")
    assert settings_layer(parser.parse_args(["--state", "fresh"])) == {"sandbox": {"state": "fresh"}}
    assert "--state auto|fresh" in parser.format_help()
    sentence = r"^--state live works only in notebooks: there is no live kernel on the command line\."
    with pytest.raises(UsageError, match=sentence):
        parser.parse_args(["--state", "live"])
    with pytest.raises(UsageError, match=r"^--state takes auto, fresh, not 'warm'\."):
        parser.parse_args(["--state", "warm"])
    with pytest.raises(UsageError, match="--pickle"):
        parser.parse_args(["--pickle"])


def test_the_guide_names_every_option():
    guide = (Path(__file__).parents[3] / "docs" / "reference" / "options.md").read_text()
    assert [option.flag for option in OPTIONS if option.places and f"`{option.flag}" not in guide] == []


def test_a_repository_has_target_and_tests(tmp_path):
    call = parse_magic_line(f"--repo {tmp_path} --target a.py::A --tests tests/a.py --tests=tests/b.py --candidates 3")
    assert (call.repo, call.target, call.tests, call.test_command) == (
        str(tmp_path),
        "a.py::A",
        ("tests/a.py", "tests/b.py"),
        "",
    )
    assert call.libraries == () and "tests" not in call.layer["exploration"]
    flag = parse_magic_line(f"--repo {tmp_path} --target a.py::A --tests --wait")
    assert flag.tests == () and flag.layer["exploration"]["tests"] is True
    assert parse_magic_line("--tests networkx").libraries == ("networkx",)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("networkx --target a.py::A", "--target requires --repo"),
        ("networkx --test-command make", "--test-command requires --repo"),
        ("--repo .", "--repo requires --target"),
        ("networkx --repo . --target a.py::A", "cannot be used with --repo"),
        ("--repo . --target a.py::A --check 'assert f()'", "cannot be used with --repo"),
        ("--repo . --target a.py::A --tests a --test-command b", "cannot be used together"),
        ("--repo nowhere-at-all --target a.py::A", "There is no folder"),
    ],
)
def test_unfitting_repository_options_are_refused(line, words):
    with pytest.raises(UsageError, match=words):
        parse_magic_line(line)
