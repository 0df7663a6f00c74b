"""Runs that are killed in every way, their traces, and what becomes of them when they are resumed or replayed."""

import contextlib
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys

import nbformat
import psutil
import pytest
from jupyter_client.manager import start_new_kernel

from exploracoder_jupyter.core.configuration.sources import snippets_path
from exploracoder_jupyter.trace import load
from tests.integration import command_line
from tests.json_output import json_result
from tests.patience import patience, wait_until
from tests.toy_model import offer_toy, reply

COMMAND = [sys.executable, "-m", "exploracoder_jupyter.cli"]
TASK = "Make three lists of numbers, compute the median of each, and store their sum in `total`."
TITLES = ["Make the first list", "Make the second list", "Make the third list"]
CODE = "from statistics import median\nimport time\ntime.sleep(0.1)\nlist_{n} = [4, 5, 6]\nprint(median(list_{n}), {i})"
SOLUTION = "from statistics import median\ntotal = sum(median([4, 5, 6]) for _ in range(3))\nprint(total)"
OPTIONS = ["--candidates", "2", "--check", "assert total == 15", "--model", "toy", "--base-url"]


class Author:
    """Answers like a model; what was asked and answered is in `answered`, each request as a digest."""

    def __init__(self):
        self.answered = []

    def __call__(self, request):
        self.answered.append(digest([message["content"] for message in json.loads(request.data)["messages"]]))
        return reply(request, self.content)

    def content(self, prompt, index):
        if '"subtasks"' in prompt:
            return json.dumps({"subtasks": TITLES})
        if '"apis"' in prompt or '"planners"' in prompt:
            return json.dumps({"apis": ["statistics.median"], "planners": []})
        if "complete Python program" in prompt:
            return f"```python\n{SOLUTION}\n```"
        place = next((n for n, title in enumerate(TITLES) if f"nothing after it:\n{title}" in prompt), 0)
        return f"```python\n{CODE.format(n=place, i=index)}\n```"


def digest(contents):
    return hashlib.sha256("\0".join(contents).encode()).hexdigest()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def author(httpserver, monkeypatch, cache):
    """A model at an endpoint; `author.options` are those that name it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    author = Author()
    address = offer_toy(httpserver, author)
    monkeypatch.setenv("EXPLORACODER_BASE_URL", address)  # a trace alone would not be believed
    author.options = [*OPTIONS, address]
    return author


def run_of(author, out="t.ipynb"):
    return [*COMMAND, "run", "-t", TASK, "--library", "statistics", "--out", out, *author.options]


def start_run(author, folder, *, until):
    """The running command, once its output contains `until`."""
    output = folder / "output.txt"
    with output.open("w") as err:
        process = subprocess.Popen(run_of(author), cwd=folder, stdout=err, stderr=err)
    wait_for_output(process, output, until)
    return process


def wait_for_output(process, output, until):
    """Wait until the output contains `until` or the process has ended."""
    wait_until(lambda: until in output.read_text() or process.poll() is not None, 120, until)


def explora(folder, *arguments, status=0):
    done = command_line.explora(*arguments, "--json", folder=folder)
    assert done.returncode == status, done.stderr
    return json_result(arguments[0], done.stdout)


def kept(path):
    """The requests that a trace has the answers of. The notebook, if it is there, is valid."""
    if path.exists():
        nbformat.validate(nbformat.read(path, as_version=4))
    exchanges = [record.event.exchange for record in load(path) if record.event.kind == "model_called"]
    whole = [one for one in exchanges if one.problem != "interrupted"]
    return {digest([message.content for message in one.messages]) for one in whole}


def resumed(author, folder, *, status="solved"):
    """Resume `t.ipynb`; what of its answers was asked for again is an error."""
    before = kept(folder / "t.ipynb")
    author.answered.clear()
    summary = explora(folder, "run", "--resume", "t.ipynb")
    assert summary["status"] == status
    assert [one for one in author.answered if one in before] == []
    assert summary["trace"] == str(folder / "t-resumed.ipynb")
    return load(folder / "t-resumed.ipynb")


def statuses(records):
    return [record.event.status for record in records if record.event.kind == "subtask_finished"]


def test_a_killed_command_continues(author, tmp_path):
    process = start_run(author, tmp_path, until="Read statistics")
    process.send_signal(signal.SIGKILL)
    process.wait(patience(10))
    first = load(tmp_path / "t.ipynb")
    again = resumed(author, tmp_path)
    assert statuses(again) == ["done"] * 3
    assert again[0].event.resumes == first[0].event.run_id
    [notice] = [one.event.text for one in again if one.event.kind == "notice" and "continues from" in one.event.text]
    assert "(t.ipynb, " in notice and "was cut off" in notice
    assert not any("no longer runs" in str(one.event) for one in again)


def siblings(folder):
    """Processes in this folder: a branch is nobody's child."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(str(folder) in place for place in (process.cwd() or "", *process.cmdline())):
                found.append(process)
    return found


def test_losing_siblings_ends_or_resumes_a_run(author, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    process = start_run(author, tmp_path, until="Subtask 2:")
    killed = [one for one in siblings(tmp_path) if one.pid != process.pid]
    for one in killed:
        with contextlib.suppress(psutil.Error):
            one.kill()
    process.wait(patience(120))
    assert killed
    if load(tmp_path / "t.ipynb")[-1].event.verdict.outcome != "solved":
        resumed(author, tmp_path)
    kept(tmp_path / "t.ipynb")


@contextlib.contextmanager
def kernel_in(folder):
    """A user's kernel with the extension."""
    manager, client = start_new_kernel(cwd=str(folder))
    try:
        client.execute_interactive("%load_ext exploracoder_jupyter", timeout=patience(60))
        yield manager.provisioner.pid, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("victim", ["kernel", "engine"])
def test_the_same_cell_resumes_a_killed_run(author, tmp_path, victim):
    cell = f"%%explora statistics {shlex.join(author.options)}\n{TASK}"
    with kernel_in(tmp_path) as (kernel, client):
        client.execute(cell)
        journal = waited_for(tmp_path, "subtask_finished")
        engine, *others = psutil.Process(kernel).children()
        assert others == []
        os.kill(kernel if victim == "kernel" else engine.pid, signal.SIGKILL)
        assert psutil.wait_procs([engine], timeout=patience(15))[1] == []
    trace = journal.with_name(journal.name.replace(".journal.jsonl", ".ipynb"))
    before = kept(trace)
    assert journal.exists() == (victim == "engine"), "an engine that is left alone closes its trace"
    author.answered.clear()
    with kernel_in(tmp_path) as (_, client):
        outputs = []
        line = cell.replace("%%explora statistics", "%%explora statistics --resume")
        reply = client.execute_interactive(line, timeout=patience(120), output_hook=outputs.append)
        assert reply["content"]["status"] == "ok", outputs
    again = load(trace.with_name(f"{trace.stem}-resumed.ipynb"))
    assert again[-1].event.verdict.outcome == "solved"
    assert [one for one in author.answered if one in before] == []


def waited_for(folder, kind):
    """The journal, once it contains an event of this kind."""

    def found():
        journals = (folder / "explorations").glob("*.journal.jsonl")
        return next((journal for journal in journals if f'"kind":"{kind}"' in journal.read_text()), None)

    return wait_until(found, 120, kind)


@pytest.mark.parametrize("state", ["small", "state"])
def test_what_a_full_disk_refuses_is_kept_elsewhere(state, author, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / state))
    (tmp_path / "small").mkdir()
    private, mount = ["unshare", "-Urm", "bash", "-c"], "mount -t tmpfs -o size=40k none small"
    if shutil.which("unshare") is None or subprocess.run([*private, mount], cwd=tmp_path, check=False).returncode:
        pytest.skip("mounts are refused here")
    run = shlex.join(run_of(author, "small/t.ipynb"))
    script = f"{mount} && {run}; status=$?; cp small/* .; exit $status"
    done = subprocess.run(
        [*private, script], cwd=tmp_path, capture_output=True, text=True, timeout=patience(240), check=False
    )
    assert done.returncode == 1, done.stderr
    if state == "small":
        assert load(tmp_path / "t.ipynb")[-1].event.kind != "run_finished"
        resumed(author, tmp_path)
    else:
        assert load(tmp_path / "t.ipynb")[-1].event.verdict.outcome == "solved"
        assert str(tmp_path / "state") in done.stderr
        assert "No space left on device" in done.stderr and "Traceback" not in done.stderr
        nbformat.validate(nbformat.read(tmp_path / "t.ipynb", as_version=4))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run that has ended in order, once a test has needed it."""
    return tmp_path_factory.mktemp("finished") / "run"


@pytest.fixture
def done(author, tmp_path, finished):
    """A run that has ended in order, without its endpoint: made once, and copied for each test."""
    if not finished.exists():
        finished.mkdir()
        explora(finished, *run_of(author)[len(COMMAND) :])
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    author.answered.clear()
    return tmp_path


def test_a_solved_run_is_branched_off(author, done):
    answer = explora(done, "run", "--resume", "t.ipynb", status=2)
    assert answer["error"] == "There is nothing to resume: the run of t.ipynb ended solved."
    answer = explora(done, "run", "--resume", "t.ipynb", "--from", "7", status=2)
    assert answer["remedy"].startswith("Use one of: 1, 1.1, 1.2, 2, ")
    summary = explora(done, "run", "--resume", "t.ipynb", "--from", "2.2", "--out", "other.ipynb")
    assert summary["status"] == "solved"
    chosen = [one.event.selection for one in load(done / "other.ipynb") if one.event.kind == "candidate_selected"]
    assert [one.reasons for one in chosen[:2]] == [("carried over from the earlier run",), ("chosen by the user",)]
    assert len(set(author.answered)) == 2, "one request for the third subtask, and one for the solution"


def test_a_replay_needs_no_model_network_or_stores(author, done, monkeypatch, httpserver):
    monkeypatch.delenv("OPENAI_API_KEY")
    httpserver.clear_all_handlers()
    asked, stored = len(httpserver.log), snippets_path().stat().st_mtime_ns
    summary = explora(done, "replay", "t.ipynb")
    assert summary["status"] == "solved"
    assert summary["replay"]["same_course"], summary["replay"]
    assert (len(httpserver.log), snippets_path().stat().st_mtime_ns) == (asked, stored)
    first, again = load(done / "t.ipynb"), load(done / "t-replayed.ipynb")
    assert steps(first) == steps(again)
    assert again[0].event.model == "toy"


def steps(records):
    return [one.event.exchange.step for one in records if one.event.kind == "model_called"]


def test_a_replay_names_where_a_library_differs(author, done, monkeypatch):
    site = done / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import statistics\nstatistics.median = lambda data: 1 / 0\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    shown = command_line.explora("replay", "t.ipynb", "--out", "again.ipynb", folder=done)
    assert shown.returncode == 1, shown.stderr
    assert "It took another course at subtask 1: candidate 1.1 ended with ZeroDivisionError, not ok." in shown.stdout
    assert "Subtask 1:" in shown.stderr and "Expected cost" not in shown.stderr, "nobody pays for what is shown again"


def test_a_notebook_replay_has_its_own_cells(author, done, httpserver):
    httpserver.clear_all_handlers()
    outputs = []
    with kernel_in(done) as (_, client):
        reply = client.execute_interactive(
            "%%explora --replay t.ipynb", timeout=patience(120), output_hook=outputs.append
        )
    assert reply["content"]["status"] == "ok", outputs
    assert "It took the same course as the recorded run." in json.dumps(
        [one["content"] for one in outputs], default=str
    )
    again = load(done / "t-replayed.ipynb")
    assert again[-1].event.verdict.outcome == "solved"
    assert steps(again) == steps(load(done / "t.ipynb"))


def test_a_resumed_run_killed_early_is_resumed(author, tmp_path):
    process = start_run(author, tmp_path, until="Subtask 2 done")
    process.kill()
    process.wait(patience(10))
    before = kept(tmp_path / "t.ipynb")
    output = tmp_path / "again.txt"
    with output.open("w") as err:
        again = subprocess.Popen([*COMMAND, "run", "--resume", "t.ipynb"], cwd=tmp_path, stdout=err, stderr=err)
    wait_for_output(again, output, "Plan:")
    again.kill()
    again.wait(patience(10))
    author.answered.clear()
    summary = explora(tmp_path, "run", "--resume", "t-resumed.ipynb")
    assert summary["status"] == "solved"
    assert [one for one in author.answered if one in before] == []
    assert statuses(load(tmp_path / "t-resumed-2.ipynb")) == ["done"] * 3
