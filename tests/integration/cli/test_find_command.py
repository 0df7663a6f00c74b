"""`jupyter explora find` and `%explora find` on a made-up environment, and the same from Python."""

import json
import signal
import subprocess
import sys

import psutil
import pytest

import exploracoder_jupyter
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.ipython_extension.searching.find_magic import choose_library, find_packages
from tests.json_output import json_result
from tests.patience import patience, wait_until
from tests.unit.knowledge.test_environment_search import GRAPHS, IMAGES, install

COMMAND = [sys.executable, "-m", "exploracoder_jupyter.cli", "find"]


@pytest.fixture
def python(tmp_path, monkeypatch):
    """An interpreter in whose environment two packages are installed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    site = tmp_path / "site"
    install(site, "paintkit", IMAGES, summary="Work with pictures")
    install(site, "routes", GRAPHS, summary="Paths in graphs")
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\necho '{json.dumps([[str(site)], '/lib'])}'\n")
    path.chmod(0o755)
    return str(path)


def _find(python, *words):
    return subprocess.run([*COMMAND, "--python", python, *words], capture_output=True, text=True, check=False)


def test_results_are_plain_lines_without_terminal(python):
    done = _find(python, "average", "colour", "of", "a", "picture")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "paintkit 1.0: Work with pictures"
    assert lines[1:3] == [
        "    paintkit.Picture.average_colour(*, ignore=None)",
        "        Return the mean colour of all pixels.",
    ]
    assert "2 packages" in done.stderr


def test_json_is_as_documented(python):
    found = json_result("find", _find(python, "shortest path", "--json", "-k", "1", "--apis", "1").stdout)
    assert [one["name"] for one in found["packages"]] == ["routes"]
    assert [api["path"] for api in found["packages"][0]["apis"]] == ["routes.shortest_path"]
    assert (found["installed"], found["read"], found["newly_read"]) == (2, 2, 2)


def test_nothing_found_is_a_negative_result(python):
    done = _find(python, "qwxzv")
    assert (done.returncode, done.stdout) == (1, "Nothing was found.\n")


@pytest.mark.parametrize("words", [["  "], ["x", "-k", "0"], ["x", "--apis", "1000"], []])
def test_wrong_use_is_one_sentence(python, words):
    done = _find(python, *words, "--json")
    assert done.returncode == 2
    assert json_result("find", done.stdout)["error"]


def test_an_interrupt_answers_from_what_was_read(python, tmp_path):
    # files that take a second each, and are not too large to be read: an interrupt comes before all are read
    slow = tmp_path / "slow.py"
    slow.write_text("x = [\n" + "(1, 'text', {'key': [1.5, None]}),\n" * 55_000 + "]\n")
    parts = [f"slow/part{number}.py" for number in range(200)]
    install(tmp_path / "site", "slow", dict.fromkeys(parts, ""), record=True)
    for part in parts:
        (tmp_path / "site" / part).unlink()
        (tmp_path / "site" / part).hardlink_to(slow)
    process = subprocess.Popen(
        [*COMMAND, "--python", python, "average colour", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for line in process.stderr:
            if "1 of 3" in line or "2 of 3" in line or "0 of 3" in line:
                wait_until(psutil.Process(process.pid).children, 10, "the process that reads")
                process.send_signal(signal.SIGINT)
                break
        out, _ = process.communicate(timeout=patience(60))
    finally:
        process.kill()
        process.wait()
    found = json_result("find", out)
    assert found["read"] < 3
    assert any("interrupted" in sentence for sentence in found["notices"])


def test_two_processes_at_once_both_answer(python, tmp_path):
    processes = [
        subprocess.Popen([*COMMAND, "--python", python, "average colour", "--json"], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    found = [json_result("find", process.communicate(timeout=patience(60))[0]) for process in processes]
    assert max(one["read"] for one in found) == 2
    for one in found:
        assert one["read"] == 2 or one["notices"]
    again = json_result("find", _find(python, "average colour", "--json").stdout)
    assert (again["read"], again["newly_read"], again["packages"][0]["name"]) == (2, 0, "paintkit")


def test_the_magic_returns_a_list(python, capsys):
    found = find_packages("-k 2 average colour of a picture", jupyter=False, configured={"sandbox": {"python": python}})
    assert found[0].module == "paintkit"
    assert found[0].apis[0].path == "paintkit.Picture.average_colour"
    assert "paintkit" in repr(found)
    assert "<b>paintkit</b>" in found._repr_html_()


@pytest.mark.parametrize("line", ["", "?", '"', "-k many picture"])
def test_the_magic_refuses_an_empty_or_wrong_line(python, line):
    with pytest.raises(UsageError):
        find_packages(line, jupyter=False, configured={})


def test_the_python_api_finds_packages(python):
    found = exploracoder_jupyter.find("shortest path", k=1, python=python)
    assert [one.name for one in found] == ["routes"]
    assert found[0].apis[0].signature == "(graph, source, target)"


def test_text_of_packages_is_never_markup(python, tmp_path):
    summary = "<script>alert(1)</script>"
    install(
        tmp_path / "site", "evil", {"evil.py": f"def cook():\n    '''Cook a {summary} dinner.'''\n"}, summary=summary
    )
    found = exploracoder_jupyter.find("cook a dinner", python=python)
    assert found[0].name == "evil"
    assert "<script>" not in found._repr_html_()


def test_a_library_is_chosen_for_a_task(python):
    done = _find(python, "--choose", "Compute the average colour of a picture", "--model", "offline", "--json")
    chosen = json_result("find", done.stdout)
    assert (chosen["library"], chosen["version"]) == ("paintkit", "1.0")
    assert "paintkit" in chosen["sentence"]


def test_the_magic_has_a_library_chosen(python):
    layers = [{"sandbox": {"python": python}, "endpoint": {"model": "offline"}}]
    assert choose_library("Find the shortest path between two nodes", layers, jupyter=False).library == "routes"
    with pytest.raises(UsageError):
        choose_library("qwxzv", layers, jupyter=False)
