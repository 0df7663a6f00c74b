"""An order that resumes the trace of a run, and what it refuses."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from exploracoder_jupyter import runs
from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.configuration.sources import as_json, resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import dump
from exploracoder_jupyter.core.types import RepositoryTask, Task
from exploracoder_jupyter.runs import Order, in_repository, prepare_replay, resume_order
from exploracoder_jupyter.runs import order as trace_lock
from exploracoder_jupyter.runs.recording import EventRecorder
from exploracoder_jupyter.trace import render
from exploracoder_jupyter.trace.edits import without_unselected
from exploracoder_jupyter.trace.paths import journal_path, resumed_path
from tests.unit.factories import RUN_ID, asked, complete_events, recorded, started
from tests.unit.runs.recorders import recorder_at
from tests.unit.trace.views import whole_text

NOTHING = Task("", ())
CUT_OFF = 16
"""Events up to the end of the first subtask."""
SETTINGS = as_json(
    resolve(
        {
            "exploration": {"preset": "thorough", "candidates": 7},
            "endpoint": {"base_url": "http://127.0.0.1:9/v1", "model": "toy"},
            "view": {"out": "old.ipynb", "show": "selected"},
            "sandbox": {"engine_python": "/gone", "processes": 99},
        },
        environ={},
    )
)


ADDRESS = SETTINGS["endpoint"]["base_url"]


@pytest.fixture(autouse=True)
def _own_endpoint(monkeypatch):
    """The user has configured the endpoint that the traces name."""
    monkeypatch.setenv("EXPLORACODER_BASE_URL", ADDRESS)


def trace(folder, events=None, *, name="old.ipynb", **changes):
    """The trace of a run, cut off after its first subtask unless it has these events."""
    path = folder / name
    begun = started(**{"settings": SETTINGS, **changes})
    nbformat.write(render(recorded([begun, *(events or complete_events()[:CUT_OFF])[1:]])), path)
    return path


def again(path, order=None, **more):
    return resume_order(order or Order(NOTHING, workdir=path.parent), path, **more)


def test_task_and_settings_come_from_the_trace(tmp_path):
    order = again(trace(tmp_path))
    assert order.task == Task("Count the triangles of the karate club graph.", ("networkx",))
    settings = resolve(*order.layers)
    assert (settings.exploration.candidates, settings.exploration.debug_rounds) == (7, 3)
    assert (settings.endpoint.model, settings.endpoint.base_url) == ("toy", "http://127.0.0.1:9/v1")
    assert (settings.view.out, settings.view.show) == (None, "selected")
    assert (settings.sandbox.engine_python, settings.sandbox.processes) == (None, 99)
    assert order.given.titles == ("Load the graph", "Count triangles")
    assert [one and one.code for one in order.given.carried] == [
        "import networkx as nx\nG = nx.karate_club_graph()\nG",
        None,
    ]
    assert order.given.introduction.text == "Graphs."
    assert order.earlier.run_id == RUN_ID
    assert [one.id for one in order.earlier.exchanges] == [1]
    assert "1 of 2 subtasks are reused. It had cost 1 call and 120 tokens" in order.earlier.message


def test_what_is_given_now_wins(tmp_path):
    path = trace(tmp_path)
    layer = {"exploration": {"preset": "quick"}, "endpoint": {"model": "new"}}
    order = again(path, Order(Task("", ("polars",), check="assert x"), (layer,), workdir=tmp_path))
    settings = resolve(*order.layers, environ={})
    assert (settings.exploration.candidates, settings.exploration.tests) == (3, False)
    assert settings.endpoint.model == "new"
    assert (order.task.libraries, order.task.check) == (("polars",), "assert x")


def test_an_address_with_secrets_comes_from_now(tmp_path, monkeypatch):
    monkeypatch.setenv("EXPLORACODER_BASE_URL", "http://me:hunter2@127.0.0.1:9/v1")
    order = again(trace(tmp_path))
    assert resolve(*order.layers).endpoint.base_url == "http://me:hunter2@127.0.0.1:9/v1"


NOW = {"EXPLORACODER_BASE_URL": "http://127.0.0.1:11/v1", "EXPLORACODER_MODEL": "now"}


def endpoint_of(order):
    endpoint = resolve(*order.layers).endpoint
    return endpoint.base_url, endpoint.model


def test_the_environments_endpoint_replaces_the_recorded_one(tmp_path, monkeypatch):
    """Issue 14, item 0: what the user says now wins, the recorded settings come after it."""
    path = trace(tmp_path)
    for name, value in NOW.items():
        monkeypatch.setenv(name, value)
    assert endpoint_of(again(path)) == ("http://127.0.0.1:11/v1", "now")
    assert "scripted" in again(path).earlier.message and "now at http://127.0.0.1:11/v1" in again(path).earlier.message
    flags = Order(NOTHING, ({"endpoint": {"model": "flag"}},), workdir=tmp_path)
    assert endpoint_of(again(path, flags)) == ("http://127.0.0.1:11/v1", "flag")
    monkeypatch.delenv("EXPLORACODER_MODEL")
    assert endpoint_of(again(path)) == ("http://127.0.0.1:11/v1", "toy")


def test_an_address_only_in_a_trace_needs_consent(tmp_path, monkeypatch):
    """Issue 14, item 6: an address on this machine, too, gets nothing unless the user has named it or agrees."""
    monkeypatch.delenv("EXPLORACODER_BASE_URL")
    path, asked = trace(tmp_path), []
    for confirm in (None, lambda address: asked.append(address)):
        with pytest.raises(UsageError, match=r"127\.0\.0\.1:9") as caught:
            again(path, confirm=confirm)
        assert f"--base-url {ADDRESS}" in caught.value.remedy
    assert asked == [ADDRESS]
    assert endpoint_of(again(path, confirm=lambda address: address == ADDRESS)) == (ADDRESS, "toy")
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:9"):
        again(path, cell="1.2")


def test_an_address_that_receives_nothing_needs_no_consent(tmp_path, monkeypatch):
    """Issue 14, item 6: without a model and without embeddings there of, the address of a trace does not matter."""
    monkeypatch.delenv("EXPLORACODER_BASE_URL")
    offline = Order(NOTHING, ({"endpoint": {"model": "offline"}},), workdir=tmp_path)
    assert endpoint_of(again(trace(tmp_path), offline)) == (None, "offline")
    embedding = set_to(tmp_path, {"endpoint": {"base_url": ADDRESS, "model": "offline", "embedding_model": "e"}})
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:9"):
        again(embedding)


def test_only_the_user_chooses_the_web_search(tmp_path, monkeypatch):
    """Issue 14, item 6: an address of a trace alone does not get the key for searching the web."""
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("EXPLORACODER_WEB_KEY", "secret-of-the-web")
    hostile = {"web_address": "https://evil.example/?q={query}&k={key}"}
    path = trace(tmp_path, settings={"endpoint": {"base_url": ADDRESS}, "retrieval": hostile})
    (tmp_path / "config.toml").write_text('[retrieval]\nweb = "https://find.example/?q={query}&k={key}"\n')
    settings = resolve(*again(path).layers)
    assert settings.retrieval.web_address == "https://find.example/?q={query}&k={key}"
    (tmp_path / "config.toml").write_text("")
    with pytest.raises(UsageError, match=r"--web 'https://evil\.example"):
        again(path)


@pytest.mark.parametrize("command", [["run", "--resume"], ["run", "--from", "1.2", "--resume"]])
def test_a_server_only_in_a_trace_gets_nothing(tmp_path, monkeypatch, httpserver, capsys, command):
    """Issue 14, item 6: not even one that asks whether it is there."""
    monkeypatch.delenv("EXPLORACODER_BASE_URL")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    monkeypatch.chdir(tmp_path)
    httpserver.expect_request("/v1/models").respond_with_json({"data": [{"id": "toy"}]})
    address = httpserver.url_for("/v1").replace("localhost", "127.0.0.1")
    path = set_to(tmp_path, {"endpoint": {"base_url": address, "model": "toy", "embedding_model": "e", "retries": 0}})
    assert main([*command, str(path), "--json"]) == 2
    assert f"--base-url {address}" in json.loads(capsys.readouterr().out)["remedy"]
    assert httpserver.log == []


@pytest.mark.parametrize("answer", ["\n", "n\n", "yes\n"])
def test_on_a_terminal_the_user_is_asked(tmp_path, monkeypatch, capsys, answer):
    """Issue 14, item 6: no is the default; after a yes the run takes the address of the trace."""
    monkeypatch.delenv("EXPLORACODER_BASE_URL")
    monkeypatch.chdir(tmp_path)
    path = trace(tmp_path)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    orders = []

    async def run(order, listen, *, steering):
        orders.append(order)
        return {"status": "solved"}

    monkeypatch.setattr(runs, "run", run)
    status = main(["run", "--resume", str(path)])
    assert (status, len(orders)) == ((0, 1) if answer == "yes\n" else (2, 0))
    assert ADDRESS in capsys.readouterr().err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_what_is_stricter_now_stays_so(tmp_path, monkeypatch):
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(tmp_path / "config.toml"))
    path = trace(tmp_path)
    settings = resolve(*again(path).layers)
    assert (settings.endpoint.share, settings.sandbox.isolation) == ("values", "best")
    (tmp_path / "config.toml").write_text('[endpoint]\nshare = "schema"\n[sandbox]\nisolation = "require"\n')
    settings = resolve(*again(path).layers)
    assert (settings.endpoint.share, settings.sandbox.isolation) == ("schema", "require")


BEYOND = {
    "endpoint": {"base_url": "https://models.example/v1", "model": "toy"},
    "sandbox": {
        "network": True,
        "allow_read": ["~/letters"],
        "gateway": "https://kernels.example",
        "python": "./python",
        "kernel": "/bin/sh",
    },
    "retrieval": {
        "web": "url",
        "web_address": "https://find.example/?key={key}&q={query}",
        "embedding_folder": "model",
        "docs": ["ref", "~/notes"],
        "workspace": True,
    },
}


def set_to(folder, layer):
    return trace(folder, settings=as_json(resolve(layer, environ={})))


def test_a_trace_reaches_no_further_than_current_settings(tmp_path, monkeypatch):
    monkeypatch.delenv("EXPLORACODER_BASE_URL")
    path = set_to(tmp_path, BEYOND)
    with pytest.raises(UsageError) as caught:
        again(path)
    assert caught.value.remedy == (
        "To allow them, add: --base-url https://models.example/v1 --gateway https://kernels.example --network"
        " --allow-read '~/letters' --kernel /bin/sh --python ./python --web 'https://find.example/?key={key}&q={query}'"
        " --embedding-folder model --docs ref --docs '~/notes' --workspace"
    )
    order = again(path, Order(NOTHING, (BEYOND,), workdir=tmp_path))
    assert resolve(*order.layers, environ={}).sandbox.network


def test_a_replay_reaches_nothing_unasked(tmp_path):
    path = set_to(tmp_path, BEYOND)
    with pytest.raises(UsageError, match=r"another interpreter.* --kernel /bin/sh$"):
        prepare_replay(path, tmp_path / "new.ipynb")
    settings = resolve(*prepare_replay(path, tmp_path / "new.ipynb", kernel="mine").order.layers, environ={})
    assert (settings.sandbox.network, settings.sandbox.gateway) == (False, None)
    assert settings.sandbox.allow_read == ()
    assert (settings.sandbox.kernel, settings.sandbox.python) == ("mine", None)
    assert settings.retrieval.embedding_folder is None


@pytest.mark.parametrize(
    ("layer", "section", "kept"),
    [
        ({"endpoint": {"base_url": "https://others.example/v1"}}, "endpoint", "https://others.example/v1"),
        ({"retrieval": {"web": "ddgs"}}, "retrieval", "ddgs"),
        ({"sandbox": {"python": "/usr/bin/python3"}}, "sandbox", "/usr/bin/python3"),
    ],
)
def test_current_options_replace_what_was_reached(tmp_path, layer, section, kept):
    wanted = {"base_url", "web", "web_address", "python"} & BEYOND[section].keys()
    reached = {name: BEYOND[section][name] for name in wanted}
    path = set_to(tmp_path, {section: reached})
    order = again(path, Order(NOTHING, (layer,), workdir=tmp_path))
    assert kept in as_json(resolve(*order.layers, environ={}))[section].values()


def test_the_interpreter_is_recognized_despite_redaction(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setattr(sys, "executable", "/home/me/venv/bin/python")
    path = set_to(tmp_path, {"sandbox": {"python": sys.executable}})
    assert "/home/me" not in whole_text(path)
    assert resolve(*again(path).layers, environ={}).sandbox.python is None


def test_no_limit_of_a_trace_exceeds_todays(tmp_path):
    path = set_to(tmp_path, {"sandbox": {"memory_mb": 10**6, "cpu_seconds": 5, "branching": "fork", "state": "live"}})
    sandbox = resolve(*again(path).layers, environ={}).sandbox
    assert (sandbox.memory_mb, sandbox.cpu_seconds) == (4096, 5)
    assert (sandbox.branching, sandbox.state) == ("auto", "auto")


def test_the_message_says_where_files_are_sought(tmp_path):
    environment = replace(started().environment, folder="/data/project")
    path = trace(tmp_path, environment=environment)
    order = again(path, Order(NOTHING, workdir=tmp_path))
    assert order.earlier.message.endswith(f" Its files were in /data/project; they are looked for in {tmp_path}.")
    there = trace(tmp_path, environment=replace(environment, folder=str(tmp_path)))
    assert "files" not in again(there, Order(NOTHING, workdir=tmp_path)).earlier.message


def test_a_replay_is_written_beside_its_trace(tmp_path, monkeypatch):
    (tmp_path / "explorations").mkdir()
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path / "data")
    path, out = trace(tmp_path / "explorations", complete_events()), tmp_path / "new.ipynb"
    assert (prepare_replay(path).out, prepare_replay(path, out).out) == (path.with_name("old-replayed.ipynb"), out)
    assert prepare_replay(path, out).order.workdir == tmp_path
    assert prepare_replay(path, out, workdir=Path()).order.workdir == tmp_path / "data"
    with pytest.raises(UsageError, match=r"There is no folder 'nowhere'\. Name one with --workdir\."):
        prepare_replay(path, out, workdir=Path("nowhere"))


def test_a_repository_is_replayed_in_the_given_folder(tmp_path):
    repository, moved = RepositoryTask("a.py::A"), tmp_path / "moved"
    moved.mkdir()
    task = replace(started().task, repository=repository)
    path = trace(tmp_path, task=task)
    assert prepare_replay(path, tmp_path / "new.ipynb", workdir=moved).order.workdir == moved
    order = in_repository(Order(NOTHING, workdir=tmp_path), moved, repository)
    assert resume_order(order, Path(path.name)).earlier.trace == path


def test_an_active_run_is_not_resumed(tmp_path, monkeypatch):
    monkeypatch.setattr(trace_lock, "PATIENCE", 0.0)
    path = tmp_path / "old.ipynb"
    recorder = recorder_at(path, tmp_path)
    for event in [started(settings=SETTINGS), *complete_events()[1:CUT_OFF]]:
        recorder(event)
    for named in (path, journal_path(path)):
        with pytest.raises(UsageError, match=r"The run of old\..* is still active.*Wait until it ends, or stop it\."):
            again(named)
    recorder.close()
    assert again(path).earlier.run_id == RUN_ID


@pytest.mark.parametrize("form", ["journal", "torn journal", "torn notebook"])
def test_journals_and_torn_files_do(tmp_path, form):
    records = recorded([started(settings=SETTINGS), *complete_events()[1:CUT_OFF]])
    lines = "".join(f"{dump(record)}\n" for record in records)
    path = tmp_path / "old.ipynb"
    journal_path(path).write_text(lines if form != "torn journal" else f'{lines}{{"seq": 99, "at": 1')
    if form == "torn notebook":
        path.write_text('{"cells": [')
    order = again(path if form == "torn notebook" else journal_path(path))
    assert [one is not None for one in order.given.carried] == [True, False]
    assert resumed_path(order.earlier.trace) == tmp_path / "old-resumed.ipynb"


def test_an_unsolved_run_asks_anew(tmp_path):
    events = complete_events()
    unsolved = [
        *events[:-1],
        replace(events[-1], verdict=replace(events[-1].verdict, outcome="unsolved"), solution=None),
    ]
    order = again(trace(tmp_path, unsolved))
    assert all(order.given.carried)
    assert order.earlier.exchanges == ()


def test_a_solved_run_can_only_be_branched_off(tmp_path):
    path = trace(tmp_path, complete_events())
    with pytest.raises(UsageError) as caught:
        again(path)
    assert str(caught.value).startswith(
        "There is nothing to resume: the run of old.ipynb ended solved. Use --from CELL "
    )
    order = again(path, cell="2", hint="look")
    assert order.given.hint == "look"
    assert order.earlier.message.startswith("This continues from 2 in the run of ")


def test_missing_variables_of_a_notebook_are_reported(tmp_path):
    path = trace(tmp_path, task=Task("x", ("networkx",), uses=("df",)))
    with pytest.raises(UsageError, match=r"variables of a notebook \(df\)"):
        again(path)
    with pytest.raises(UsageError, match=r"variables of a notebook \(df\)"):
        prepare_replay(path, tmp_path / "new.ipynb")
    assert again(path, Order(NOTHING, workdir=tmp_path, variables=tmp_path)).task.uses == ("df",)


def test_redacted_home_paths_are_this_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    events = complete_events()[:CUT_OFF]
    code = "import networkx as nx\nG = nx.read_gml('/home/me/g.gml')"
    changed = [replace(one, candidate=replace(one.candidate, code=code)) if _is(one, "1.2") else one for one in events]
    path = trace(tmp_path, [*changed, asked(7, f"```python\n{code}\n```")])
    assert "/home/me" not in whole_text(path)
    order = again(path)
    assert order.given.carried[0].code == code
    assert order.earlier.exchanges[-1].replies == (f"```python\n{code}\n```",)


def _is(event, candidate):
    return event.kind == "candidate_proposed" and event.candidate.id == candidate


def test_a_file_that_is_no_trace_is_reported(tmp_path):
    (tmp_path / "other.ipynb").write_text("{}")
    made = trace(tmp_path, complete_events(), name="t.ipynb")
    (tmp_path / "torn.ipynb").write_bytes(made.read_bytes()[:-2000])
    nbformat.write(without_unselected(nbformat.read(made, 4)), tmp_path / "made.ipynb")
    call = nbformat.v4.new_code_cell("%%explora networkx --out t.ipynb\nCount the triangles.")
    nbformat.write(nbformat.v4.new_notebook(cells=[call]), tmp_path / "mine.ipynb")
    sentences = {
        "other.ipynb": "other.ipynb' is not the trace of a run",
        "torn.ipynb": r"torn\.ipynb' is damaged, and there is no journal beside it",
        "missing.ipynb": r"There is no file '.*missing\.ipynb'",
        "made.ipynb": r"made\.ipynb' was exported from a trace",
        "mine.ipynb": r"mine\.ipynb' is not a trace, but contains .* with the trace .*/t\.ipynb\. Name the trace",
    }
    for name, sentence in sentences.items():
        with pytest.raises(UsageError, match=sentence):
            again(tmp_path / name)
        with pytest.raises(UsageError, match=sentence):
            prepare_replay(tmp_path / name, tmp_path / "new.ipynb")


def test_the_new_trace_lies_beside_the_old(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    order = replace(again(trace(folder)), workdir=tmp_path)
    settings = resolve(*order.layers, environ={})
    recorders = [EventRecorder(order, settings, print, on_trace_created=print) for _ in range(2)]
    assert [recorder.path.name for recorder in recorders] == ["old-resumed.ipynb", "old-resumed-2.ipynb"]
    assert recorders[0].path.parent == folder
    assert resumed_path(recorders[1].path).name == "old-resumed-3.ipynb"
    same = replace(settings, view=replace(settings.view, out="there/old.ipynb"))
    with pytest.raises(UsageError, match="--out names the trace that is resumed"):
        EventRecorder(order, same, print, on_trace_created=print)
    of_journal = replace(order, earlier=replace(order.earlier, trace=journal_path(folder / "old.ipynb")))
    with pytest.raises(UsageError, match="--out names the trace that is resumed"):
        EventRecorder(of_journal, same, print, on_trace_created=print)
    for named in (folder / "old.ipynb", journal_path(folder / "old.ipynb")):
        with pytest.raises(UsageError, match="--out names the trace that is replayed"):
            prepare_replay(named, folder / "old.ipynb")


def test_unknown_settings_are_left_out(tmp_path):
    later = {**SETTINGS, "exploration": {"of_later": 1}, "unheard": {"x": 1}}
    assert resolve(*again(trace(tmp_path, settings=later)).layers, environ={}).exploration.candidates == 5


def test_the_config_files_endpoint_replaces_the_recorded_one(tmp_path, monkeypatch):
    """Issue 14, item 0: the same where a file says it; a trace without an address does not undo it."""
    monkeypatch.delenv("EXPLORACODER_BASE_URL")
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text('[endpoint]\nbase_url = "http://127.0.0.1:12/v1"\n')
    assert endpoint_of(again(trace(tmp_path))) == ("http://127.0.0.1:12/v1", "toy")
    path = set_to(tmp_path, {"endpoint": {"model": "toy"}})
    assert endpoint_of(again(path)) == ("http://127.0.0.1:12/v1", "toy")
