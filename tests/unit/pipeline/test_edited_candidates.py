"""Candidates that the user edits: run in the state before their subtask beside the run, and chosen like others."""

import anyio
import pytest

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.pipeline import run_task
from exploracoder_jupyter.protocol.messages import Choose, Retry, RunEdited
from exploracoder_jupyter.trace.reading import executions
from tests.unit.factories import recorded
from tests.unit.pipeline.test_steering import drive, ends, steered, texts, warnings
from tests.unit.pipeline.test_task_run import fenced
from tests.unit.world import InlineBranch, happened

MINE = "marks = [*globals().get('marks', []), 'mine']\nprint(marks)"


def edit(candidate, code=MINE):
    return RunEdited(candidate.partition(".")[0], candidate, code)


def proposals(run):
    return {e.candidate.id: e.candidate for e in happened(run, "candidate_proposed")}


@pytest.mark.parametrize("moment", [("propose", "2"), ("propose", "3"), ("solve", "solution")])
async def test_an_edited_candidate_runs_before_its_subtask(moment):
    run, watch, _ = await drive({moment: [edit("1.2")]}, holds=False)
    mine = proposals(run)["1.3"]
    assert (mine.edits, mine.code, mine.subtask, mine.parent) == ("1.2", MINE, "1", "")
    assert texts(run)["1.3"] == "['mine']"
    assert ends(run) == [("1", "done"), ("2", "done"), ("3", "done")]
    assert [e.selection.candidate for e in happened(run, "candidate_selected")] == ["1.1", "2.1", "3.1", "s1"]
    assert not watch.cancelled
    assert warnings(run) == []


async def test_an_edited_candidate_is_carried_when_chosen():
    run, watch = steered({("propose", "3"): [edit("2.2")]}, holds=True)

    async def after_it_ran():
        while "2.3" not in texts(run):
            await anyio.sleep(0.01)
        run.steering.ask(Choose("2.3"))

    async with anyio.create_task_group() as group:
        group.start_soon(after_it_ran)
        await run_task(run)
    assert watch.cancelled == [("propose", "3")]
    assert texts(run)["2.3"] == "['1a', 'mine']"
    assert texts(run)["3.1"] == "['1a', 'mine', '3a']"


def before_mine(monkeypatch, act):
    """Let something happen before the edited code is run."""
    original = InlineBranch.run

    async def run(self, code, *, timeout):
        if code == MINE:
            await act()
        return await original(self, code, timeout=timeout)

    monkeypatch.setattr(InlineBranch, "run", run)


@pytest.mark.parametrize(("given", "words"), [(edit("9.1"), "9.1"), (edit("3.1"), "3.1")])
async def test_an_edit_of_a_future_subtask_is_refused(given, words):
    run, _, _ = await drive({("propose", "2"): [given]}, holds=False)
    assert len(warnings(run)) == 1
    assert words in warnings(run)[0]
    assert not [one for one in proposals(run).values() if one.edits]


async def test_going_back_before_its_subtask_cancels_it(monkeypatch):
    before_mine(monkeypatch, anyio.sleep_forever)
    run, _, _ = await drive({("propose", "3"): [edit("2.1"), Retry("1")]}, holds=True)
    assert "2.3" in proposals(run)
    assert "2.3" not in texts(run)


async def test_an_edit_whose_kernel_fails_ends_nothing(monkeypatch):
    async def fail():
        raise KernelError("The kernel is gone.")

    before_mine(monkeypatch, fail)
    run, _, result = await drive({("propose", "3"): [edit("1.1")]}, holds=False)
    [observed] = [e.observation for e in happened(run, "candidate_observed") if e.candidate == "1.3"]
    assert (observed.status, observed.note) == ("interrupted", "The kernel is gone.")
    assert result.verdict.outcome == "unchecked"


async def test_candidates_with_equal_results_are_recorded():
    same = lambda request: [fenced(f"{name} = 4096.5\nprint({name})") for name in ("total", "amount")]  # noqa: E731
    asked = {("solve", "solution"): [edit("1.1", "print(4096.5 * 1)"), edit("1.1", "print('different', 77.25)")]}
    run, _, _ = await drive(asked, holds=False, plan=("a",), propose=same)
    agreeing = {e.candidate: e.agrees_with for e in happened(run, "candidate_observed")}
    assert [agreeing[id_] for id_ in ("1.1", "1.2", "1.3", "1.4")] == ["", "1.1", "1.1", ""]


async def test_an_edit_ends_after_its_subtask_reran(monkeypatch):
    again = anyio.Event()
    before_mine(monkeypatch, again.wait)
    run, _ = steered({("propose", "3"): [edit("2.1"), Retry("2")]}, holds=True)
    events = run.emit.__self__

    async def wait_for_retry():
        while not any(event.kind == "steered" and event.what == "retry" for event in events):
            await anyio.sleep(0.01)
        again.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait_for_retry)
        await run_task(run)
    found = {one.id: one for one in executions(recorded(events))}
    assert (texts(run)["2.3"], found["2.3"].parent) == ("['1a', 'mine']", "1.1")
