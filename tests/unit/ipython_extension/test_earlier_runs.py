"""Earlier runs, as a notebook and its page list them: history and traces of the folder in one list."""

import json
import os
import time
from types import SimpleNamespace

import pytest

from exploracoder_jupyter.core.configuration.sources import history_path
from exploracoder_jupyter.core.history import HistoryStore, PastRun
from exploracoder_jupyter.core.process_id import ProcessId
from exploracoder_jupyter.core.run_state import RunState
from exploracoder_jupyter.core.types import LibraryInfo
from exploracoder_jupyter.ipython_extension.browser.browser_controls import Controls
from exploracoder_jupyter.ipython_extension.browser.browser_run import LiveRun, RunContext
from exploracoder_jupyter.ipython_extension.browser.page_requests import as_html, as_text, list_runs, trace_views
from exploracoder_jupyter.ipython_extension.jupyter_server import Reach, server_root
from exploracoder_jupyter.protocol import browser_messages
from tests.unit.factories import started

NOW = float(int(time.time()))
DEAD = ProcessId(2**22 + 1, 1.0, ProcessId.own().machine)


@pytest.fixture
def root(tmp_path):
    """A server's root with two notebook folders in it, and a folder beside it."""
    for name in ("root/mine/explorations", "root/theirs/explorations", "beside"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def explored(root):
    """Runs of this folder, of another below the root, and of one beside it, the newest first."""
    store = HistoryStore(history_path())

    def add(id, trace, ago, *, written=True, **known):
        if written:
            trace.write_text("{}")
        libraries = (LibraryInfo("networkx", "networkx", "3.4"),)
        fields = {"task": f"Task <{id}>", "libraries": libraries, "trace": str(trace), "outcome": "solved", **known}
        store.write(PastRun(id, NOW - ago, NOW - ago, fields.pop("process", ProcessId.own()), **fields))

    add("here", root / "mine" / "explorations" / "a b.ipynb", 1, calls=2, tokens=1234, executions=3, seconds=65.0)
    add("there", root / "theirs" / "explorations" / "b.ipynb", 2, outcome="", process=DEAD)
    add("beside", root.parent / "beside" / "c.ipynb", 3)
    add("gone", root / "mine" / "d.ipynb", 4, written=False)
    return root


def past(folder, root, **known):
    return trace_views(list_runs(folder, **known), Reach(folder, root))


def test_history_and_folder_are_one_list_without_doubles(explored):
    unknown = explored / "mine" / "explorations" / "before.ipynb"
    unknown.write_text("{}")
    os.utime(unknown, (NOW - 1.5, NOW - 1.5))
    listed = past(explored / "mine", explored)
    assert [one.link for one in listed] == [
        "explorations/a b.ipynb",
        "explorations/before.ipynb",
        "../theirs/explorations/b.ipynb",
        "",
        "",
    ]
    assert [one.outcome for one in listed] == ["solved", "", "cut off", "solved", "solved"]
    assert [one.gone for one in listed] == [False] * 4 + [True]
    assert listed[2].resume == f"--resume {explored}/theirs/explorations/b.ipynb"
    assert listed[3].path == str(explored.parent / "beside" / "c.ipynb")


def test_a_trace_is_known_by_any_path(explored):
    (explored.parent / "way").symlink_to(explored / "mine")
    listed = past(explored.parent / "way", None)
    assert [one.task for one in listed] == ["Task <here>", "Task <there>", "Task <beside>", "Task <gone>"]
    assert [one.link for one in listed] == ["explorations/a b.ipynb", "", "", ""]


def test_a_trace_moved_here_is_opened_here(explored):
    facts = {"run_id": "gone", "verdict": {"outcome": "solved"}}
    moved = explored / "mine" / "explorations" / "moved.ipynb"
    moved.write_text(json.dumps({"cells": [], "metadata": {"exploracoder_jupyter": facts}}))
    listed = {one.task: one for one in past(explored / "mine", explored)}
    assert len(listed) == 4
    assert (listed["Task <gone>"].link, listed["Task <gone>"].gone) == ("explorations/moved.ipynb", False)


def test_exports_of_a_trace_are_not_runs(explored):
    facts = {"run_id": "here", "verdict": {"outcome": "solved"}}
    for name in ("a b-selected.ipynb", "a copy.ipynb"):
        exported = explored / "mine" / "explorations" / name
        exported.write_text(json.dumps({"cells": [], "metadata": {"exploracoder_jupyter": facts}}))
    assert [one.task for one in past(explored / "mine", explored)] == [
        "Task <here>",
        "Task <there>",
        "Task <beside>",
        "Task <gone>",
    ]


def test_a_run_that_left_no_trace_says_so(explored):
    HistoryStore(history_path()).write(PastRun("bare", NOW, NOW, DEAD, "Task <bare>", ()))
    assert as_text(past(explored / "mine", explored)).splitlines()[0].endswith("(no trace to resume)")


@pytest.mark.parametrize(
    "facts",
    [
        '"started": "0001-01-01T00:00:00+00:00", "task": {"text": "odd"}',
        '"started": "9999-12-31T23:59:59-12:00", "task": {"text": "odd"}',
        f'"verdict": {"[" * 9000}, "task": {{"text": "odd"}}',
        '"run_id": [1], "verdict": {"outcome": {}}, "task": {"text": "o\\u001b[2Jdd"}',
    ],
)
def test_what_a_stranger_has_put_here_breaks_nothing(explored, facts):
    odd = explored / "mine" / "explorations" / "odd.ipynb"
    odd.write_text(f'{{"cells": [], "metadata": {{"exploracoder_jupyter": {{{facts}}}}}}}')
    listed = past(explored / "mine", explored)
    assert len(listed) == 5 and "\x1b" not in as_text(listed)
    assert [one.task[-2:] for one in listed if one.link.endswith("odd.ipynb")] == ["dd"]


def test_what_is_shown_elsewhere_is_left_out(explored):
    trace = str(explored / "mine" / "explorations" / "a b.ipynb")
    assert "Task <here>" not in [one.task for one in past(explored / "mine", explored, excluded_traces=[trace])]
    assert "Task <there>" not in [one.task for one in past(explored / "mine", explored, excluded_runs=["there"])]


def test_as_text_each_is_a_line(explored):
    lines = as_text(past(explored / "mine", explored), more="1 more").splitlines()
    assert (
        lines[0]
        .partition("  ")[2]
        .startswith("solved  Task <here>  networkx 3.4  2 calls, 1,234 tokens, 3 executions, 1:05  ")
    )
    assert lines[1].endswith(f"(to resume: %%explora --resume {explored}/theirs/explorations/b.ipynb)")
    assert lines[3].endswith("(its trace is gone)")
    assert lines[4:] == ["1 more"]


def test_html_lists_link_and_escape(explored):
    html = as_html(past(explored / "mine", explored))
    assert '<a href="explorations/a%20b.ipynb">explorations/a b.ipynb</a>' in html
    assert '<a href="../theirs/explorations/b.ipynb">' in html
    assert html.count("<a ") == 2
    assert html.count(f"{explored}/theirs/explorations/b.ipynb") == 1, "where the command names the trace"
    assert f"<code>{explored.parent}/beside/c.ipynb</code>" in html
    assert "Task &lt;here&gt;" in html and "<here>" not in html
    assert html.count('scope="col"') == 6 and "<caption" in html


@pytest.fixture
def server(monkeypatch, explored):
    """The server that shows the root, as it has noted itself."""
    folder = explored.parent / "runtime"
    folder.mkdir()
    (folder / "jpserver-77.json").write_text(json.dumps({"root_dir": str(explored), "pid": 77}))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("JPY_PARENT_PID", "77")
    return folder / "jpserver-77.json"


def test_the_root_is_what_the_server_has_noted(server, explored, monkeypatch):
    assert server_root() == explored
    for odd in ("", "[]", '{"root_dir": 1}', "{}"):
        server.write_text(odd)
        assert server_root() is None
    monkeypatch.setenv("JPY_PARENT_PID", "78")
    assert server_root() is None


def test_a_link_stays_within_the_page(root):
    mine, theirs = root / "mine", root / "theirs" / "x.ipynb"
    assert Reach(mine, root).link(str(theirs)) == "../theirs/x.ipynb"
    assert Reach(mine, None).link(str(theirs)) == ""
    assert Reach(mine, None).link(str(mine / "y.ipynb")) == "y.ipynb"
    assert Reach(mine, root).link(str(root.parent / "z.ipynb")) == ""
    assert Reach(root.parent / "beside", root).link(str(theirs)) == "", "the notebook is not what that server shows"
    assert Reach(None, root).link(str(theirs)) == ""


HELLO = {"type": "hello", "request": 3, "version": browser_messages.VERSION, "page": "tab", "session": "s"}


def listed_traces(desk):
    answers = []
    desk.handle(HELLO, answers.append)
    return answers[0]["traces"]


def test_a_page_lists_its_runs_once(server, explored):
    desk = Controls(None, folder=lambda: explored / "mine")
    for run, cell in (("there", "cell"), ("here", None)):
        state = RunState(started=started(run_id=run))
        live = LiveRun(desk, RunContext(run, cell, explored / "mine"), state, session="")
        desk.runs.all.append(SimpleNamespace(live=live, state=state))
    assert [trace["task"] for trace in listed_traces(desk)] == ["Task <here>", "Task <beside>", "Task <gone>"]


@pytest.fixture
def shell(shell, explored, monkeypatch):
    monkeypatch.chdir(explored / "mine")
    return shell


def test_the_magic_shows_a_table_of_the_newest(shell, monkeypatch):
    published = []
    monkeypatch.setattr(shell.display_pub, "publish", lambda data, **_: published.append(data))
    shell.run_line_magic("explora", "history -n 3")
    [data] = published
    assert data["text/html"].count("<tr>") == 4
    assert data["text/plain"].splitlines()[-1] == "1 more: %explora history -n 4"


def test_the_magic_says_that_the_history_was_damaged(shell, capsys):
    history_path().write_bytes(b"no database" * 999)
    shell.run_line_magic("explora", "history")
    *_, message = capsys.readouterr().out.splitlines()
    assert message.startswith("The history file was damaged and has been moved to ")


def test_the_magic_takes_a_number_and_nothing_else(shell, capsys):
    shell.run_line_magic("explora", "history")
    assert len(capsys.readouterr().out.splitlines()) == 4
    for wrong in ("-n 0", "-n", "all"):
        assert not shell.run_cell(f"%explora history {wrong}").success
        assert "%explora history takes no arguments other than `-n N`" in capsys.readouterr().err
