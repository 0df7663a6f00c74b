"""The real engine, steered over its pipe while real kernels run what an endpoint wrote."""

import json
import os

import nbformat
import psutil
import pytest

from exploracoder_jupyter.protocol.messages import (
    Choose,
    Continuation,
    Replan,
    Retry,
    RunEdited,
    Skip,
    Start,
    Stop,
    decode_from_engine,
    encode,
)
from exploracoder_jupyter.trace import CellView, load
from tests.integration.engine.test_engine import cache, engine  # noqa: F401  fixtures
from tests.patience import patience, wait_until
from tests.toy_model import offer_toy, reply
from tests.unit.factories import states

TITLES = ["Make the first mark", "Wait for long", "Make the last mark"]
SLEEPER = f"31.{os.getpid():08}"
WAITING = f"import subprocess, time\nsubprocess.Popen(['sleep', '{SLEEPER}'])\ntime.sleep(600)"
MARK = "marks = [*globals().get('marks', []), {mark!r}]\nprint(marks)"


class Author:
    """Writes code that waits for subtask 2, for subtask 3 without the hint to be quick, and for the first solution."""

    def __init__(self):
        self.solutions = 0

    def __call__(self, request):
        return reply(request, self.content)

    def content(self, prompt, index):
        if '"subtasks"' in prompt:
            return json.dumps({"subtasks": TITLES})
        if '"apis"' in prompt or '"planners"' in prompt:
            return json.dumps({"apis": ["statistics.median"], "planners": []})
        return f"```python\n{self.code(prompt, index)}\n```"

    def code(self, prompt, index):
        if "complete Python program" in prompt:
            self.solutions += 1
            return WAITING if self.solutions == 1 else "print('solved')"
        if f"nothing after it:\n{TITLES[0]}" in prompt:
            return MARK.format(mark=f"first {index}")
        quick = "be quick" in prompt and f"nothing after it:\n{TITLES[2]}" in prompt
        return MARK.format(mark="last") if quick else WAITING


@pytest.fixture
def endpoint(httpserver, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    return offer_toy(httpserver, Author())


class Page:
    """The calling notebook, changed as the engine says."""

    def __init__(self):
        self.cells = [{"id": "calling"}, {"id": "below"}]

    def apply(self, changes):
        for change in changes:
            ids = [cell["id"] for cell in self.cells]
            if change.action == "remove":
                self.cells.pop(ids.index(change.id))
            elif change.id in ids:
                self.cells[ids.index(change.id)] = change.cell
            else:
                self.cells.insert(ids.index(change.after) + 1, change.cell)


class Driven:
    """An engine, its messages, and the page that follows it."""

    def __init__(self, driven, base_url, **start):
        self.engine, self.page, self.records, self.summary = driven, Page(), [], None
        layer = {
            "endpoint": {"base_url": base_url, "retries": 0},
            "exploration": {"candidates": 2, **start.pop("exploration", {})},
        }
        order = {"task": "Make marks.", "libraries": ["statistics"], "workdir": str(driven.folder)}
        driven.write(encode(Start(**order, layers=[layer], cell="calling", cells=True, **start)))

    def ask(self, control):
        self.engine.write(encode(control))

    def until(self, kind, **wanted):
        """The next event of this kind with these fields."""
        while self.summary is None:
            event = self.listen()
            if event and event.kind == kind and all(getattr(event, name) == value for name, value in wanted.items()):
                return event
        raise AssertionError(f"no {kind} came")

    def listen(self):
        line = self.engine.process.stdout.readline()
        assert line, (self.engine.folder / "stderr").read_text()
        message = decode_from_engine(line)
        if message.type == "cells":
            self.page.apply(message.changes)
        elif message.type == "finished":
            self.summary = message.summary
        elif message.type == "record":
            self.records.append(message.record)
            return message.record.event
        return None


def sleepers():
    """The processes that waiting candidates have started, once there are any."""

    def found():
        return [process for process in psutil.process_iter(["cmdline"]) if SLEEPER in (process.info["cmdline"] or [])]

    return wait_until(found, 60, "a candidate that waits")


def gone(processes):
    _, alive = psutil.wait_procs(processes, timeout=patience(5))
    return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


def test_a_run_is_steered_while_its_candidates_run(engine, endpoint):  # noqa: F811
    run = Driven(engine, endpoint)
    waiting = sleepers()
    run.ask(Skip(subtask="2"))
    assert run.until("subtask_finished", subtask="2").status == "skipped"
    assert gone(waiting)

    waiting = sleepers()
    run.ask(Retry(subtask="3", hint="be quick"))
    assert run.until("steered").what == "retry"
    assert run.until("subtask_finished", subtask="3").status == "done"
    assert gone(waiting)

    waiting = sleepers()  # the solution
    run.ask(Choose(candidate="1.2"))
    run.ask(Replan(()))
    run.until("steered", what="choose")
    assert gone(waiting)
    observed = run.until("candidate_observed", candidate="1.2").observation
    assert observed.text == "['first 1']"
    assert run.until("candidate_selected").selection.reasons == ("chosen by the user",)
    run.until("run_finished")
    while run.summary is None:
        run.listen()

    assert run.summary["status"] == "unchecked"
    [trace] = engine.traces()
    nbformat.validate(trace)
    assert [record.event for record in load(run.summary["trace"])] == [
        record.event for record in run.records if record.event.kind != "progress"
    ]
    view = CellView(anchor="calling")
    for state in states(run.records):
        view.update(state)
    assert [cell["id"] for cell in run.page.cells] == ["calling", *(cell["id"] for cell in view.cells), "below"]
    assert run.page.cells[1:-1] == view.cells
    assert engine.process.wait(patience(5)) == 0
    assert engine.siblings() == []


def test_a_run_continues_from_earlier_selections(engine, endpoint):  # noqa: F811
    code = [MARK.format(mark="x"), MARK.format(mark="y")]
    run = Driven(engine, endpoint, given=Continuation(plan=["one", "two", TITLES[2]], code=code, hint="be quick"))
    assert run.until("candidate_observed", candidate="2.1").observation.text == "['x', 'y']"
    assert run.until("candidate_observed").observation.text == "['x', 'y', 'last']"
    steps = {record.event.exchange.step for record in run.records if record.event.kind == "model_called"}
    assert "plan" not in steps


def test_a_plan_is_reviewed_before_anything_is_tried(engine, endpoint):  # noqa: F811
    run = Driven(engine, endpoint, exploration={"review": True})
    run.until("review_asked")
    run.ask(Replan(tuple(TITLES[:1])))
    run.until("subtask_started")
    events = [record.event for record in run.records]
    plan = [event.plan for event in events if event.kind == "plan_made"][-1]
    assert [subtask.title for subtask in plan.subtasks] == TITLES[:1]
    kinds = [event.kind for event in events]
    assert kinds.index("review_asked") < kinds.index("steered") < kinds.index("subtask_started")


def test_an_edited_candidate_runs_from_the_same_state(engine, endpoint):  # noqa: F811
    run = Driven(engine, endpoint)
    sleepers()
    run.ask(RunEdited(subtask="1", candidate="1.1", code=MARK.format(mark="mine")))
    assert run.until("candidate_observed", candidate="1.3").observation.text == "['mine']"
    run.ask(Choose(candidate="1.3"))
    assert run.until("candidate_selected").selection.candidate == "1.3"
    run.ask(Skip(subtask="2"))
    run.ask(Stop())
    while run.summary is None:
        run.listen()
    [mine] = [cell for cell in run.page.cells if "%%explored 1.3" in cell.get("source", "")]
    assert "['mine']" in str(mine["outputs"])
    assert mine["metadata"]["exploracoder_jupyter"]["selected"]
    assert engine.process.wait(patience(5)) == 0
    assert engine.siblings() == []
