"""`jupyter explora`: results and refusals in this process, signals, pipes and terminals in one of its own. Offline,
with real kernels."""

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import contextmanager
from functools import partial

import nbformat
import psutil
import pytest

from exploracoder_jupyter.ipython_extension.model_setup import set_up_model
from tests.integration import command_line, denied
from tests.json_output import json_result
from tests.patience import is_over, patience, wait_until

COMMAND = [sys.executable, "-m", "exploracoder_jupyter.cli"]
TASK = (
    "Given the edges ('a', 'b', 4), ('b', 'c', 1) and ('a', 'c', 7), build a weighted graph and compute the "
    "shortest path length from 'a' to 'c'; store it in `length`"
)
RUN = ["run", "-t", TASK, "--library", "networkx", "--model", "offline"]
SMALL = "Compute the median of [3, 1, 2] and store it in `middle`"
SMALL_RUN = ["run", "-t", SMALL, "--library", "statistics", "--model", "offline"]
"""A third of the processor time."""


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory):
    """One cache for the module: the library is read once."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield os.environ["XDG_CACHE_HOME"]
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture
def explora(tmp_path, _cache, monkeypatch):
    """Runs the command in a folder of its own, with the module's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", _cache)
    return partial(command_line.explora, folder=tmp_path)


def _refused(done, *, status=2):
    """Asserts that the command printed one sentence and ended with this status; returns the sentence."""
    sentences = [line for line in done.stderr.splitlines() if line.startswith("jupyter explora: ")]
    assert done.returncode == status, done.stderr
    assert len(sentences) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return sentences[0]


def _valid(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def _solution(notebook):
    (cell,) = [cell for cell in notebook.cells if "explora-solution" in cell.metadata.get("tags", [])]
    return cell.source


def test_a_solution_needs_nothing_of_this_package(tmp_path, _cache):
    options = ["--check", "assert length == 5", "--out", "traces/first.ipynb", "--json"]
    done = subprocess.run(
        [*COMMAND, *RUN, *options],
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": _cache},
        capture_output=True,
        text=True,
        timeout=patience(240),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    summary = json_result("run", done.stdout)
    assert summary["status"] == "solved"
    notebook = _valid(tmp_path / "traces" / "first.ipynb")
    assert "exploracoder" not in _solution(notebook)
    assert _solution(notebook).strip() == summary["solution"].strip()
    program = f"{summary['solution']}\nassert length == 5"
    subprocess.run([sys.executable, "-I", "-c", program], check=True, cwd=tmp_path)


def test_a_library_that_cannot_be_imported_is_named(explora, tmp_path, monkeypatch):
    site = tmp_path / "site"
    (site / "brokenlib").mkdir(parents=True)
    (site / "brokenlib" / "__init__.py").write_text("import no_such_module_here\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    sentence = _refused(explora("run", "-t", "x", "--library", "brokenlib", "--model", "offline"))
    assert "brokenlib" in sentence
    assert "no_such_module_here" in sentence


def test_an_impossible_output_path_is_refused_first(explora, tmp_path):
    (tmp_path / "file").write_text("")
    done = explora(*RUN, "--out", "file/trace.ipynb")
    assert "file" in _refused(done)
    assert "Model:" not in done.stderr


def test_an_endpoint_that_is_not_there_is_named(explora):
    done = explora(*RUN[:5], "--model", "m", "--base-url", "http://127.0.0.1:9/v1")
    assert "127.0.0.1:9" in _refused(done)


def test_a_refused_key_is_named_and_never_shown(explora, httpserver, monkeypatch):
    httpserver.expect_request("/v1/chat/completions").respond_with_json({"error": {"message": "bad key"}}, status=401)
    httpserver.expect_request("/v1/models").respond_with_json({"error": {"message": "bad key"}}, status=401)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-geheim")
    done = explora(*RUN[:5], "--model", "m", "--base-url", httpserver.url_for("/v1"))
    assert "key" in _refused(done)
    assert "sk-geheim" not in done.stderr + done.stdout


def test_a_notebook_lists_and_tries_models(httpserver, tmp_path, monkeypatch):
    answer = {"choices": [{"index": 0, "message": {"content": "ready"}, "finish_reason": "stop"}]}
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": "small"}, {"id": "large"}]})
    httpserver.expect_request("/v1/chat/completions").respond_with_json(answer)
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setattr("builtins.input", lambda prompt: "2")
    shown = []
    done = set_up_model(f"--base-url {httpserver.url_for('/v1')}", {}, write=shown.append)
    assert "small" in shown[0] and "large" in shown[0]
    assert done.startswith("large answered in ")
    assert tomllib.loads((tmp_path / "config.toml").read_text())["endpoint"]["model"] == "large"
    assert httpserver.log[-1][0].get_json()["model"] == "large"


def test_options_are_parsed_before_heavy_imports():
    code = "import sys; from exploracoder_jupyter.cli.argument_parser import build_parser; build_parser()"
    heavy = "print({'pydantic', 'numpy', 'openai', 'nbformat', 'IPython', 'anyio'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"{code}; {heavy}"], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("jupyter explora se", {"search", "setup"}),
        ("jupyter explora run --preset ", {"quick", "standard", "thorough"}),
        ("jupyter explora run --library nbforma", {"nbformat "}),
        ("jupyter explora bench --strategy rag", {"rag", "rag-repair"}),
        ("jupyter explora check some", {"some.ipynb "}),
    ],
)
def test_a_shell_completes_what_can_be_typed(tmp_path, line, offered):
    (tmp_path / "some.ipynb").write_text("")
    answer = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "answer")}
    environ = {**os.environ, **answer, "_ARGCOMPLETE": "2", "_ARGCOMPLETE_IFS": "\n"}
    assert subprocess.run(COMMAND, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False).stderr == ""
    assert set((tmp_path / "answer").read_text().splitlines()) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_is_accepted_by_its_shell(explora, shell):
    done = explora("completion", shell)
    assert done.returncode == 0 and "jupyter-explora" in done.stdout
    if found := shutil.which(shell):
        assert subprocess.run([found, "-n"], input=done.stdout, text=True, capture_output=True).stderr == ""


def test_index_and_search_answer(explora):
    done = explora("index", "networkx", "statistics", "--json")
    assert done.returncode == 0, done.stderr
    rows = json_result("index", done.stdout)["libraries"]
    assert {row["name"] for row in rows} == {"networkx", "statistics"}
    assert all(row["apis"] > 10 for row in rows)
    done = explora("search", "statistics", "arithmetic mean of data", "-k", "5", "--json")
    found = [row["path"] for row in json_result("search", done.stdout)["results"]]
    assert "statistics.mean" in found
    assert len(found) == 5


DENIED = {
    "nothing": ({}, ("fork", "namespaces: "), None),
    "namespaces": ({"namespaces": True}, ("fork", "landlock: "), "Whoever starts this container"),
    "both": ({"namespaces": True, "landlock": True}, ("rerun", "limits "), "Whoever starts this container"),
}


@pytest.mark.skipif(not denied.supported(), reason="nothing can be denied on this system")
@pytest.mark.parametrize(("given", "expected", "remedy"), DENIED.values(), ids=DENIED)
def test_the_safest_level_is_taken_and_explained(tmp_path, given, expected, remedy):
    """Issue 36, item 1: the table of `docs/trust.md`."""
    before = denied.prefix(**{"namespaces": False, "landlock": False, **given})
    done = subprocess.run([*before, *COMMAND, "doctor", "--json"], cwd=tmp_path, capture_output=True, text=True)
    found = json_result("doctor", done.stdout)
    assert (found["branching"], found["isolation"][: len(expected[1])]) == expected
    remedies = [problem["remedy"] for problem in found["problems"] if "isolated" in problem["what"]]
    assert len(remedies) == (remedy is not None) and all(one.startswith(remedy) for one in remedies)


def test_the_doctor_starts_a_sibling_and_reports(explora):
    done = explora("doctor", "--json")
    found = json_result("doctor", done.stdout)
    assert found["state"].startswith("fresh")
    assert done.returncode == (1 if found["problems"] else 0)
    assert found["branching"] in ("fork", "rerun")


def test_a_missing_extra_is_not_a_problem(tmp_path):
    program = "import sys; sys.modules['tree_sitter_java'] = None; from exploracoder_jupyter.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "doctor"], cwd=tmp_path, capture_output=True, text=True)
    assert "strategies:" in done.stdout and "tree_sitter_java" not in done.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["search", "statistics", "mean"]])
def test_a_reader_that_goes_away_is_no_fault(arguments, tmp_path):
    command = f"{' '.join(COMMAND)} {' '.join(arguments)} | true"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.count("Traceback") == 0
    assert "BrokenPipe" not in done.stderr


UNSOLVABLE = [*SMALL_RUN, "--check", "assert middle == 123456", "--out", "t.ipynb", "--json"]


@contextmanager
def _running(folder, *, until):
    """The running command once its progress contains `until`, and its child processes at that moment."""
    progress = folder / "progress.txt"
    with progress.open("w") as err:
        process = subprocess.Popen([*COMMAND, *UNSOLVABLE], cwd=folder, stdout=subprocess.PIPE, stderr=err, text=True)
    with process:
        wait_until(lambda: until in progress.read_text() or process.poll() is not None, 120, until)
        assert process.poll() is None, progress.read_text()
        yield process, psutil.Process(process.pid).children(recursive=True)


def _alive(processes):
    _, left = psutil.wait_procs(processes, timeout=patience(10))
    return [one for one in left if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize(
    ("until", "number"),
    [
        ("Model:", signal.SIGINT),
        ("Candidate 1.", signal.SIGTERM),
    ],
)
def test_a_signal_leaves_a_valid_trace(tmp_path, until, number):
    with _running(tmp_path, until=until) as (process, children):
        process.send_signal(number)
        out, _ = process.communicate(timeout=patience(60))
    assert process.returncode == 1
    assert "Traceback" not in (tmp_path / "progress.txt").read_text()
    answer = json.loads(out)
    assert answer["status"] == "stopped"
    if until != "Model:":
        assert str(answer["trace"]).endswith("t.ipynb")
    if answer["trace"]:
        _valid(answer["trace"])
    assert _alive(children) == []


def test_a_second_interrupt_ends_everything_at_once(tmp_path):
    with _running(tmp_path, until="Candidate 1.") as (process, children):
        os.kill(process.pid, signal.SIGSTOP)  # both are delivered before the first can be answered in full
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        os.kill(process.pid, signal.SIGCONT)
        process.communicate(timeout=patience(30))
    assert process.returncode in (128 + signal.SIGINT, 128 + signal.SIGTERM)
    assert _alive(children) == []
    if (tmp_path / "t.ipynb").exists():
        _valid(tmp_path / "t.ipynb")


def test_a_terminal_sees_the_live_plan(tmp_path):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *SMALL_RUN, "--out", "t.ipynb"],
        cwd=tmp_path,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"},
    )
    os.close(theirs)
    shown = _read_all(ours, seconds=240)
    assert process.wait(timeout=patience(10)) == 0
    assert "carried forward" in shown
    assert "Trace: " in shown
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")


def _read_all(descriptor, *, seconds):
    """What a terminal shows until its last writer has gone."""
    parts, began = [], time.monotonic()
    while not is_over(began, seconds) and select.select([descriptor], [], [], 1) is not None:
        try:
            part = os.read(descriptor, 65536)
        except OSError:
            break
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode(errors="replace")
