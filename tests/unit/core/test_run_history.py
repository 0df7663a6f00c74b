"""The history: a line for each run, how it is written, what becomes of it, and how it is asked for."""

import json
import os
import sqlite3
import stat
import subprocess
import time
from contextlib import closing
from dataclasses import replace

import psutil
import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.configuration.sections import History
from exploracoder_jupyter.core.configuration.settings import Settings
from exploracoder_jupyter.core.configuration.sources import history_path
from exploracoder_jupyter.core.events import Record, RunFinished, RunStarted
from exploracoder_jupyter.core.files import SqliteStore
from exploracoder_jupyter.core.history import _MIGRATIONS, CUT_OFF, DAY, RUNNING, HistoryStore, PastRun
from exploracoder_jupyter.core.process_id import ProcessId
from exploracoder_jupyter.core.types import LibraryInfo, Task, Usage, Verdict
from exploracoder_jupyter.runs import Order
from exploracoder_jupyter.runs.recording import HistoryWriter
from tests.json_output import json_result
from tests.unit.factories import complete_run, started, states

NOW = float(int(time.time()))
DEAD = ProcessId(2**22 + 1, 1.0, ProcessId.own().machine)
NX = (LibraryInfo("networkx", "networkx", "3.4"),)
LEARN = (LibraryInfo("sklearn", "scikit-learn", "1.9"),)


def past(id, *, ago=0.0, process=None, **known):
    at = NOW - ago
    return PastRun(id, at, at, process or ProcessId.own(), **{"task": f"Task {id}", "libraries": NX, **known})


@pytest.fixture
def store():
    return HistoryStore(history_path())


@pytest.fixture
def remember(store):
    """Pass a run's records through its historian; return its line, if there is one, and what the listener received."""

    def call(records, *, settings=None, recording=None, trace=None):
        received = []
        order = Order(Task("t", ("networkx",)), recording=recording)
        historian = HistoryWriter(
            order, settings or Settings(), lambda record, _: received.append(record), received.append
        )
        for record, state in zip(records, states(records), strict=True):
            historian.listen(record, state)
            if trace and isinstance(record.event, RunStarted):
                historian.trace_created(trace)
        return next(iter(store.all()), None), received

    return call


def lately(records):
    """The records as if they were of now."""
    first = records[0].at
    return [replace(record, at=NOW + record.at - first) for record in records]


def test_a_run_leaves_a_line_with_its_cost(remember, tmp_path):
    records = lately(complete_run())
    line, received = remember(records, trace=tmp_path / "nx.ipynb")
    finished = records[-1].event
    assert [record for record in received if record != tmp_path / "nx.ipynb"] == records
    assert (line.id, line.started, line.ended) == ("0123abcd", NOW, records[-1].at)
    assert (line.task, line.model) == ("Count the triangles of the karate club graph.", records[0].event.model)
    assert (line.outcome, line.reason) == (finished.verdict.outcome, finished.verdict.reason)
    assert (line.calls, line.tokens) == (finished.usage.calls, finished.usage.tokens)
    assert (line.seconds, line.executions) == (finished.usage.seconds, finished.usage.executions)
    assert line.named == "networkx 3.6.1"
    assert line.trace == str(tmp_path / "nx.ipynb") and line.gone


def test_the_history_shows_money_of_priced_models(remember, store, capsys):
    records = lately(complete_run())
    usage = replace(records[-1].event.usage, cost=0.0423, currency="EUR")
    remember([*records[:-1], replace(records[-1], event=replace(records[-1].event, usage=usage))])
    assert main(["history"]) == 0
    assert "0.0423 EUR" in capsys.readouterr().out
    assert "0.0423 EUR" in store.all()[0].totals
    store.write(past("free", ago=60))
    assert main(["history", "-n", "5"]) == 0
    assert capsys.readouterr().out.count("EUR") == 1


def test_an_active_run_has_a_line(remember):
    line, _ = remember(lately(complete_run())[:1])
    assert (line.status, line.ended, line.named, line.trace) == (RUNNING, None, "networkx", "")


def test_a_cut_off_run_has_its_cost(remember):
    records = [record for record in lately(complete_run()) if not isinstance(record.event, RunFinished)]
    line, _ = remember(records)
    assert line.calls and line.tokens and line.executions
    assert line.seconds == line.updated - line.started > 0


def test_a_broken_off_run_keeps_its_cost(remember, tmp_path):
    records = [record for record in lately(complete_run()) if not isinstance(record.event, RunFinished)]
    records += [Record(999, NOW + 500, RunFinished(Verdict("stopped", "No."), None, Usage()))]
    assert remember(records)[0] is None
    line, _ = remember(records, trace=tmp_path / "nx.ipynb")
    assert (line.outcome, line.reason, line.seconds) == ("stopped", "No.", 500)
    assert (line.calls, line.tokens, line.executions) == (2, 240, 6)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("\n  First line.\nSecond, with data: 42", "First line."),
        ("word " * 100, "word " * 31 + "word…"),
        ("lone \ud800 surrogate", "lone ? surrogate"),
    ],
)
def test_of_the_task_the_first_line_is_kept(remember, text, kept):
    line, _ = remember([Record(1, NOW, started(text))])
    assert line.task == kept


def test_what_is_not_wanted_leaves_nothing(remember):
    off = Settings(history=History(keep=False))
    line, received = remember(lately(complete_run()), settings=off)
    assert line is None and received and not history_path().exists()
    line, received = remember(lately(complete_run()), recording=object())
    assert line is None and received and not history_path().exists()


@pytest.mark.parametrize("obstacle", ["a file is where the folder should be", "the database is locked", "it breaks"])
def test_an_unwritable_history_stops_no_run(remember, store, monkeypatch, obstacle):
    if obstacle == "a file is where the folder should be":
        history_path().parent.parent.mkdir(parents=True)
        history_path().parent.write_text("")
    elif obstacle == "the database is locked":
        store.write(past("a"))
        other = sqlite3.connect(history_path())
        other.execute("BEGIN EXCLUSIVE")
        for name in ("SHORT_LOCK_TIMEOUT", "LOCK_TIMEOUT"):
            monkeypatch.setattr(f"exploracoder_jupyter.core.history.{name}", 0.01)
    else:
        monkeypatch.setattr(HistoryStore, "write", lambda *_: 1 / 0)
    records = lately(complete_run())
    if obstacle == "the database is locked":
        historian = HistoryWriter(Order(Task("t", ("nx",))), Settings(), lambda record, state: None, lambda path: None)
        for record, state in zip(records, states(records), strict=True):
            historian.listen(record, state)
        other.close()
        assert [run.id for run in store.all()] == ["a"]
    else:
        assert remember(records)[1] == records


def test_the_file_is_for_its_owner_alone(remember):
    remember(lately(complete_run()))
    assert stat.S_IMODE(history_path().stat().st_mode) == 0o600


def test_the_limits_hold_from_the_next_run_on(remember, store):
    store.write(past("old", ago=8 * DAY))
    store.write(past("new", ago=DAY))
    remember(lately(complete_run()), settings=Settings(history=History(days=7)))
    assert [run.id for run in store.all()] == ["0123abcd", "new"]
    remember([Record(1, NOW + 9, started(run_id="last"))], settings=Settings(history=History(runs=1)))
    assert [run.id for run in store.all()] == ["last"]


def test_a_damaged_file_is_set_aside(store):
    store.write(past("a"))
    store.path.write_bytes(b"no database" * 999)
    store.write(past("b"))
    assert [run.id for run in store.all()] == ["b"]
    assert len(list(store.path.parent.glob("history.sqlite.unsound-*"))) == 1
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    before = store.path.read_bytes()
    store.write(past("c"))
    assert store.all() == [] and store.path.read_bytes() == before


def test_a_file_in_use_is_not_set_aside(store):
    store.write(past("a"))
    kept = SqliteStore(store.path, _MIGRATIONS)
    with closing(sqlite3.connect(store.path)) as other:

        def read_while_another_writes(db):
            other.execute("BEGIN EXCLUSIVE")
            raise sqlite3.DatabaseError("seen half-way")

        assert kept.attempt(read_while_another_writes, "nothing", wait=0.01) == "nothing"
    assert [run.id for run in store.all()] == ["a"]


def test_an_unreadable_line_is_skipped(store):
    store.write(past("a"))
    store.write(past("b"))
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE runs SET body = '{' WHERE id = 'a'")
    db.close()
    assert [run.id for run in store.all()] == ["b"]


def test_a_run_without_process_is_cut_off():
    own = ProcessId.own()
    assert past("a").status == RUNNING
    assert past("a", outcome="solved", process=DEAD).status == "solved"
    assert past("a", process=DEAD).status == CUT_OFF
    assert past("a", process=replace(own, born=own.born - 60)).status == CUT_OFF, "the number has another owner now"


def test_a_zombie_process_counts_as_gone():
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        born = psutil.Process(child.pid).create_time()
        process = ProcessId(child.pid, born, ProcessId.own().machine)
        assert process.alive
        child.stdin.close()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not process.alive


def test_on_another_machine_a_day_without_news_decides():
    elsewhere = replace(DEAD, machine="elsewhere")
    assert past("a", process=elsewhere).status == RUNNING
    assert past("a", process=elsewhere, ago=2 * DAY).status == CUT_OFF


def trace_with(path, **facts):
    path.write_text(json.dumps({"cells": [], "metadata": {"exploracoder_jupyter": facts}, "nbformat": 4}))
    return str(path)


def test_a_missing_end_is_read_from_the_trace(tmp_path):
    ended = {"run_id": "a", "verdict": {"outcome": "unchecked", "reason": ""}}
    trace = trace_with(tmp_path / "a.ipynb", **ended)
    elsewhere = replace(DEAD, machine="elsewhere")
    assert past("a", process=DEAD, trace=trace).status == "unchecked"
    assert past("a", process=elsewhere, trace=trace).status == "unchecked"
    assert past("a", process=DEAD, trace=trace).resumable == ""
    assert past("another", process=DEAD, trace=trace).status == CUT_OFF
    for odd in ({"run_id": "a"}, ended | {"verdict": "solved"}, ended | {"verdict": {"outcome": ["<b>"]}}):
        assert past("a", process=DEAD, trace=trace_with(tmp_path / "odd.ipynb", **odd)).status == CUT_OFF


def test_a_trace_in_an_inaccessible_folder_is_gone(tmp_path, monkeypatch):
    def closed(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pathlib.Path.exists", closed)
    assert past("a", trace=str(tmp_path / "a.ipynb"), outcome="solved").gone
    assert HistoryStore(tmp_path / "history.sqlite").all() == []


def test_a_trace_or_journal_resumes_a_run(tmp_path):
    run = past("a", process=DEAD, trace=str(tmp_path / "my run.ipynb"))
    assert run.gone and run.resumable == ""
    (tmp_path / "my run.journal.jsonl").write_text("")
    assert not run.gone and run.resumable == f"--resume '{tmp_path}/my run.ipynb'"
    assert replace(run, outcome="solved").resumable == ""
    assert replace(run, trace="").resumable == "" and not replace(run, trace="").gone


def test_a_run_is_resumed_from_its_latest_resumption(store, tmp_path, capsys):
    places = {id: tmp_path / f"{id}.ipynb" for id in ("first", "second", "third")}
    store.write(past("first", ago=90, process=DEAD, trace=str(places["first"])))
    store.write(past("died", ago=80, process=DEAD, resumes="first"))
    store.write(past("second", ago=60, outcome="stopped", resumes="first", trace=str(places["second"])))
    store.write(past("third", ago=30, outcome="unsolved", resumes="first", trace=str(places["third"])))
    for path in places.values():
        path.write_text("{}")
    third, second, died, first = store.all()
    assert [run.resumed_by for run in (third, second, died, first)] == ["", "", "", "third"]
    assert first.resumable == "" and third.resumable and second.resumable
    assert main(["history"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines.count("resumed as third") == 1 and f"to resume: jupyter explora run {third.resumable}" in lines
    assert lines.count("it left no trace to resume") == 1, "what died"
    places["third"].unlink()
    assert store.all()[-1].resumed_by == "second"


def test_a_moved_trace_is_found_where_one_asks(store, tmp_path, capsys, monkeypatch):
    (tmp_path / "explorations").mkdir()
    moved = trace_with(tmp_path / "explorations" / "moved.ipynb", run_id="aaaaaaaa")
    trace_with(tmp_path / "explorations" / "moved-selected.ipynb", run_id="aaaaaaaa")
    store.write(past("aaaaaaaa", process=DEAD, trace=str(tmp_path / "was.ipynb")))
    assert main(["history", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["trace_exists"] is False
    monkeypatch.chdir(tmp_path)
    assert main(["history", "--json"]) == 0
    [run] = json_result("history", capsys.readouterr().out)["runs"]
    assert (run["trace"], run["trace_exists"], run["resume_with"]) == (moved, True, f"--resume {moved}")
    assert main(["history", "--prune", "--json"]) == 0
    assert json_result("history", capsys.readouterr().out)["removed"] == 0


def test_a_trace_belongs_to_its_last_writer(store, tmp_path):
    trace = tmp_path / "same.ipynb"
    trace.write_text("{}")
    store.write(past("first", ago=60, process=DEAD, trace=str(trace)))
    store.write(past("second", process=DEAD, trace=str(trace)))
    second, first = store.all()
    assert (second.trace, first.trace) == (str(trace), "")
    assert second.resumable and not first.resumable


# ---- the command


@pytest.fixture
def explored(store, tmp_path):
    """Three runs: solved, cut off, and one whose trace is gone."""
    (tmp_path / "a.ipynb").write_text("{}")
    (tmp_path / "b.ipynb").write_text("{}")
    solved = {"outcome": "solved", "calls": 12, "tokens": 34_567, "executions": 18, "seconds": 754.0, "ended": NOW}
    store.write(past("aaaaaaaa", ago=60, trace=str(tmp_path / "a.ipynb"), resumes="dddddddd", **solved))
    store.write(past("bbbbbbbb", ago=3600, process=DEAD, trace=str(tmp_path / "b.ipynb"), libraries=LEARN))
    store.write(past("cccccccc", ago=7200, outcome="stopped", trace=str(tmp_path / "c.ipynb")))
    return tmp_path


def test_runs_are_listed_newest_first(explored, capsys):
    assert main(["history"]) == 0
    captured = capsys.readouterr()
    lines = [line.strip() for line in captured.out.splitlines()]
    assert lines[0].split() == ["run", "started", "status", "calls", "tokens", "executions", "time", "libraries"]
    assert [line.split()[0] for line in lines if line[:8] in ("aaaaaaaa", "bbbbbbbb", "cccccccc")] == [
        "aaaaaaaa",
        "bbbbbbbb",
        "cccccccc",
    ]
    row = next(line for line in lines if line.startswith("aaaaaaaa"))
    assert row.split()[1] in ("today", "yesterday")
    assert row.split()[3:] == ["solved", "12", "34,567", "18", "12:34", "networkx", "3.4"]
    assert "resumes dddddddd" in lines
    assert f"to resume: jupyter explora run --resume {explored}/b.ipynb" in lines
    assert f"{explored}/c.ipynb (deleted)" in lines
    assert captured.err == f"3 of 3 runs in {history_path()}.\n"


def test_in_a_terminal_a_task_takes_one_line(store, capsys, monkeypatch):
    store.write(past("aaaaaaaa", task="word " * 30, outcome="solved", seconds=7331.0))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["history"]) == 0
    _, row, task = capsys.readouterr().out.splitlines()
    assert " 2:02:11 " in row
    assert task.strip().startswith("word word") and task.endswith("…") and len(task) <= 60


def test_a_library_filters_runs_by_either_name(explored, capsys):
    assert main(["history", "-n", "1"]) == 0
    assert "bbbbbbbb  " not in (captured := capsys.readouterr()).out and captured.err.startswith("1 of 3 ")
    for name in ("sklearn", "scikit_learn"):
        assert main(["history", "--library", name, "--json"]) == 0
        assert [run["id"] for run in json.loads(capsys.readouterr().out)["runs"]] == ["bbbbbbbb"]
    assert main(["history", "--library", "polars"]) == 1
    assert capsys.readouterr().err == f"No runs of polars in {history_path()}.\n"


def test_json_has_everything_but_the_process(explored, capsys):
    assert main(["history", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["path"] == str(history_path())
    newest, cut, gone = found["runs"]
    assert (newest["status"], newest["libraries"], newest["resumes"]) == ("solved", {"networkx": "3.4"}, "dddddddd")
    assert (newest["calls"], newest["tokens"], newest["seconds"], newest["executions"]) == (12, 34_567, 754.0, 18)
    assert newest["ended"].endswith("+00:00") and newest["trace_exists"] and "process" not in newest
    assert (cut["status"], cut["ended"], cut["resume_with"]) == (CUT_OFF, None, f"--resume {explored}/b.ipynb")
    assert (gone["status"], gone["trace_exists"], gone["resume_with"]) == ("stopped", False, None)


def test_a_damaged_history_says_where_it_went(explored, capsys):
    history_path().write_bytes(b"no database" * 999)
    assert main(["history"]) == 1
    [aside] = history_path().parent.glob("history.sqlite.unsound-*")
    message = f"The history file was damaged and has been moved to {aside}."
    assert capsys.readouterr().err == f"No runs in {history_path()}.\n{message} `--forget all` removes that file too.\n"
    assert main(["history", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["lost"] == message
    assert main(["history", "--forget", "all"]) == 0
    assert not aside.exists()


def test_the_status_reports_an_empty_history(capsys):
    assert main(["history"]) == 1
    assert capsys.readouterr().out == ""
    assert main(["history", "--prune"]) == main(["history", "--forget", "all"]) == 0
    assert not history_path().exists()


def test_forgetting_a_line_keeps_its_trace(explored, store, capsys):
    assert main(["history", "--forget", "aaaaaaaa"]) == 0
    assert capsys.readouterr().out == f"Removed 1 run from {history_path()}. The traces were not changed.\n"
    assert [run.id for run in store.all()] == ["bbbbbbbb", "cccccccc"]
    assert b"Task aaaaaaaa" not in history_path().read_bytes()
    assert (explored / "a.ipynb").exists()
    assert main(["history", "--forget", "aaaaaaaa"]) == 2
    assert "There is no run 'aaaaaaaa' in the history. See `jupyter explora history`." in capsys.readouterr().err
    assert main(["history", "--forget", "all"]) == 0
    assert store.all() == []


def test_pruning_applies_the_limits(explored, store, capsys, monkeypatch):
    assert main(["history", "--prune", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == 1
    assert [run.id for run in store.all()] == ["aaaaaaaa", "bbbbbbbb"]
    (explored / "config.toml").write_text("[history]\nruns = 1\n")
    monkeypatch.setenv("EXPLORACODER_CONFIG", str(explored / "config.toml"))
    assert main(["history", "--prune"]) == 0
    assert [run.id for run in store.all()] == ["aaaaaaaa"]


@pytest.mark.parametrize("wrong", [["-n", "0"], ["-n", "many"], ["--prune", "--forget", "a"]])
def test_wrong_use_is_one_sentence(wrong, capsys):
    assert main(["history", *wrong]) == 2
    assert capsys.readouterr().err.startswith("jupyter explora: ")


@pytest.mark.parametrize("obstacle", ["it is locked", "it is of a newer release"])
def test_an_unreadable_history_is_not_reported_as_empty(explored, capsys, obstacle):
    with closing(sqlite3.connect(history_path())) as other:
        other.execute("BEGIN EXCLUSIVE" if obstacle == "it is locked" else "PRAGMA user_version = 99")
        assert main(["history"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_a_file_that_cannot_be_changed_is_reported(explored, capsys):
    history_path().write_bytes(b"no database" * 999)
    assert main(["history", "--forget", "aaaaaaaa"]) == 2
    assert "cannot be changed" in capsys.readouterr().err
