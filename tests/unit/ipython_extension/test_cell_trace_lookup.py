"""Which recorded run a cell continues, found without the engine."""

import json
import os
from dataclasses import replace

import nbformat
import pytest

from exploracoder_jupyter.core.configuration.sources import resolve
from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.events import dump
from exploracoder_jupyter.core.history import list_traces
from exploracoder_jupyter.core.types import Task, Verdict
from exploracoder_jupyter.ipython_extension.magic_line import parse_magic_line
from exploracoder_jupyter.ipython_extension.running.cell_trace_lookup import find_recorded_run
from exploracoder_jupyter.ipython_extension.running.runs import Runs
from exploracoder_jupyter.trace import Trace, render
from exploracoder_jupyter.trace.edits import without_unselected
from tests.unit.factories import RUN_ID, complete_run, started
from tests.unit.factories import recorded as records_of

TASK = Task("Count the triangles.", ("networkx",), uses=("df",), check="assert n == 45", solution_name="count")
KEY = {"df": "sk-proj-0123456789abcdefghijABCDEFGHIJ"}
SETTINGS = {"exploration": {"candidates": 7}, "sandbox": {"network": True}}


def write(folder, name, task=TASK, *, at, settings=SETTINGS, outcome="unsolved", made=render, **more):
    """A trace or a journal of this task, with the given time."""
    (folder / "explorations").mkdir(exist_ok=True)
    path = folder / "explorations" / name
    *rest, last = complete_run()[1:]
    last = replace(last, event=replace(last.event, verdict=Verdict(outcome, "")))
    records = [*records_of([started(settings=settings, task=task, **more)]), *rest, last]
    if name.endswith(".jsonl"):
        path.write_text("".join(f"{dump(record)}\n" for record in records) + '{"seq": 9')
    else:
        nbformat.write(made(records), path)
    os.utime(path, (at, at))
    return path


def test_the_newest_run_of_the_task_is_found(tmp_path):
    write(tmp_path, "old.ipynb", at=1000)
    assert find_recorded_run("", TASK.text, tmp_path).trace.name == "old.ipynb"
    write(tmp_path, "cut.journal.jsonl", at=2000)
    write(tmp_path, "other.ipynb", Task("Another task.", ("networkx",)), at=3000)
    assert find_recorded_run("", TASK.text, tmp_path).trace.name == "cut.journal.jsonl"
    write(tmp_path, "cut-replayed.ipynb", at=4000)
    assert find_recorded_run("", TASK.text, tmp_path).trace.name == "cut.journal.jsonl"
    torn = write(tmp_path, "torn.journal.jsonl", at=500).with_name("torn.ipynb")
    torn.write_text('{"metadata": {"exp')
    assert find_recorded_run("", TASK.text, tmp_path).trace == torn.resolve()


def test_a_named_pipe_is_not_a_trace(tmp_path):
    """Issue 31, security 3: reading one would never end."""
    write(tmp_path, "old.ipynb", at=1000)
    for name in ("pipe.ipynb", "pipe.journal.jsonl"):
        os.mkfifo(tmp_path / "explorations" / name)
    assert find_recorded_run("", TASK.text, tmp_path).trace.name == "old.ipynb"
    assert [trace.path.name for trace in list_traces(tmp_path)] == ["old.ipynb"]


def test_an_active_run_is_found_on_disk(tmp_path):
    (tmp_path / "explorations").mkdir()
    trace = Trace(tmp_path / "explorations" / "now.ipynb")
    for record in records_of([started(settings=SETTINGS, task=TASK)]):
        trace.append(record)
    assert find_recorded_run("", TASK.text, tmp_path).task.check == "assert n == 45"


def test_a_missing_run_is_reported(tmp_path):
    write(tmp_path, "other.ipynb", Task("Another task.", ("networkx",)), at=3000)
    with pytest.raises(UsageError, match="There is no trace of this task in"):
        find_recorded_run("", TASK.text, tmp_path)
    for name in ("no.ipynb", "~nobody-of-this-name/t.ipynb", "networkx"):
        with pytest.raises(UsageError, match=rf"There is no file '{name}'.* libraries come before --resume"):
            find_recorded_run(name, "", tmp_path)
    (tmp_path / "notes.ipynb").write_text("{}")
    with pytest.raises(UsageError, match=r"notes.ipynb' is not the trace of a run.* libraries come before --resume"):
        find_recorded_run(str(tmp_path / "notes.ipynb"), "", tmp_path)


def test_what_was_made_from_a_trace_is_none(tmp_path):
    write(tmp_path, "old.ipynb", at=1000)
    export = write(tmp_path, "of-it.ipynb", at=2000, made=lambda records: without_unselected(render(records)))
    assert find_recorded_run("", TASK.text, tmp_path).trace.name == "old.ipynb"
    with pytest.raises(UsageError, match="is not the trace of a run"):
        find_recorded_run(str(export), "", tmp_path)


def test_the_cells_resumable_run_is_taken(tmp_path):
    def found(**more):
        return find_recorded_run("", TASK.text, tmp_path, **more).trace.name

    write(tmp_path, "unsolved.ipynb", at=1000)
    write(tmp_path, "solved.ipynb", at=2000, outcome="solved")
    other = replace(TASK, check="assert n == 3")
    write(tmp_path, "other.ipynb", other, at=3000)
    write(tmp_path, "other-solved.ipynb", other, at=4000, outcome="solved")
    assert found(check=TASK.check) == "unsolved.ipynb"
    assert found(check=TASK.check, any_outcome=True) == "solved.ipynb"
    assert (found(check=other.check), found(check="assert n"), found()) == ("other.ipynb",) * 3
    write(tmp_path, "unsolved-resumed.ipynb", at=5000, outcome="solved", resumes=RUN_ID, run_id="0badcafe")
    assert found(check=TASK.check) == "unsolved-resumed.ipynb", "it resumes the others and is solved"


def test_a_trace_of_another_task_is_refused(tmp_path):
    path = str(write(tmp_path, "old.ipynb", at=1000))
    assert find_recorded_run(path, f" {TASK.text}", tmp_path).task == TASK
    with pytest.raises(
        UsageError, match=r"^The task below differs from the task of the run in old\.ipynb\. Leave it out"
    ):
        find_recorded_run(path, "Another task altogether.", tmp_path)


def test_a_trace_elsewhere_is_found_by_path(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "here").mkdir()
    out = write(tmp_path / "there", "mine.ipynb", at=1000)
    write(tmp_path / "here", "older.ipynb", at=500)
    assert find_recorded_run("", TASK.text, tmp_path / "here", other_traces=[out]).trace == out.resolve()
    later = write(tmp_path / "there", "mine-resumed-2.ipynb", at=2000)
    assert find_recorded_run("", TASK.text, tmp_path / "here", other_traces=[out]).trace == later.resolve()
    other = write(tmp_path / "there", "mine2.ipynb", at=3000)
    found = find_recorded_run("", TASK.text, tmp_path / "here", other_traces=[out])
    assert found.trace != other.resolve()
    assert (
        found.has_trace(str(later))
        and not found.has_trace(str(out))
        and not found.has_trace("~nobody-of-this-name/t.ipynb")
    )


def test_what_the_line_omits_comes_from_the_run(tmp_path):
    found = find_recorded_run(str(write(tmp_path, "old.ipynb", at=1000)), "", tmp_path)
    call = found.complete(parse_magic_line("--resume --use extra"), {"df": 1})
    assert (call.libraries, call.uses) == (("networkx",), ("df", "extra"))
    assert (call.check, call.solution_name) == ("assert n == 45", "count")
    assert found.complete(parse_magic_line("polars --resume --name f"), {"df": 1}).libraries == ("polars",)
    with pytest.raises(
        UsageError, match=r"^That run used variables that are not defined here: df\. Define them first\.$"
    ):
        found.complete(parse_magic_line("--resume"), {})
    with pytest.raises(UsageError, match=r"look like credentials here: df\. Add --use df\."):
        found.complete(parse_magic_line("--resume"), {"df": "sk-proj-0123456789abcdefghijABCDEFGHIJ"})
    assert found.complete(
        parse_magic_line("--resume --use df"), {"df": "sk-proj-0123456789abcdefghijABCDEFGHIJ"}
    ).uses == ("df",)
    for namespace in ({}, KEY):  # a replay says itself what it lacks
        assert found.complete(parse_magic_line("--replay old.ipynb"), namespace).uses == ()
    assert found.settings_layer() == {"exploration": {"candidates": 7}, "sandbox": {"network": True}}


@pytest.mark.parametrize("changed", [{"uses": None}, {"libraries": 7}, {"text": ["x"]}, {"check": {}}])
def test_an_edited_unreadable_trace_is_ignored(tmp_path, changed):
    path = write(tmp_path, "t.journal.jsonl", at=1000)
    head, *rest = path.read_text().splitlines()
    record = json.loads(head)
    record["event"]["task"] |= changed
    path.write_text("\n".join([json.dumps(record), *rest]))
    with pytest.raises(UsageError, match="is not the trace of a run"):
        find_recorded_run(str(path), "", tmp_path)


# ---- what a cell orders


@pytest.fixture
def ordered(shell, tmp_path, monkeypatch):
    """The order that a cell makes, in a folder of its own; no engine is started."""
    monkeypatch.chdir(tmp_path)
    shell.user_ns["df"] = [1, 2]
    taken = []

    def start(self, order, *, resources, **_):
        resources.close()
        taken.append(order)
        raise UsageError("It was taken.")

    monkeypatch.setattr(Runs, "start", start)

    def order(cell):
        assert "It was taken." in str(shell.run_cell(cell).error_in_exec)
        return taken[-1]

    return order


def test_a_cell_with_out_resumes_the_existing_trace(tmp_path, ordered):
    trace = write(tmp_path, "mine.ipynb", at=1000)
    order = ordered(f"%%explora networkx --out explorations/mine.ipynb --resume\n{TASK.text}")
    assert order.resume.trace == str(trace.resolve())
    assert resolve(*order.layers, environ={}).view.out is None
    named = ordered("%%explora --out explorations/mine.ipynb --resume explorations/mine.ipynb")
    assert resolve(*named.layers, environ={}).view.out == "explorations/mine.ipynb"


def test_a_resumed_run_skips_an_unreadable_review(tmp_path, ordered):
    write(tmp_path, "mine.ipynb", at=1000, settings={"exploration": {"review": True}})
    order = ordered("%%explora --resume explorations/mine.ipynb")
    assert not resolve(*order.layers, environ={}).exploration.review


def test_a_trace_is_shown_again_beside_itself(tmp_path, ordered):
    trace = write(tmp_path, "mine.ipynb", at=1000)
    order = ordered("%%explora --replay explorations/mine.ipynb --delay recorded")
    assert (order.replay.trace, order.replay.delay) == (str(trace.resolve()), "recorded")
    assert order.replay.out == str(trace.resolve().with_name("mine-replayed.ipynb"))
    assert (order.resume, order.task, order.uses) == (None, TASK.text, ["df"])
    order = ordered("%%explora --replay explorations/mine.ipynb --out new.ipynb --kernel python3")
    assert (order.replay.out, order.replay.kernel) == (str(tmp_path / "new.ipynb"), "python3")
