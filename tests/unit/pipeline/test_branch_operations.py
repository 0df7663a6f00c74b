"""What the method asks of branches beside running code: to change their making, to keep files."""

from dataclasses import replace

import anyio
import pytest

from exploracoder_jupyter.core.errors import BranchingChanged
from exploracoder_jupyter.pipeline import run_task
from tests.unit.pipeline.test_task_run import answers, fenced, ran
from tests.unit.world import InlineBranch, a_run, happened

HANGS = "polars hangs in a fork."


def changing(monkeypatch, *moments):
    """Let the executions of these numbers, counted from 1, find that branches are made in another way."""
    original, count = InlineBranch.run, iter(range(1, 1000))

    async def run(self, code, *, timeout):
        if next(count) in moments:
            await anyio.sleep(0.01)  # others start meanwhile, where they may
            raise BranchingChanged(HANGS)
        return await original(self, code, timeout=timeout)

    monkeypatch.setattr(InlineBranch, "run", run)


def observed(run):
    return [(e.candidate, "Run again" in e.observation.note) for e in happened(run, "candidate_observed")]


def warnings(run):
    return [event.text for event in happened(run, "notice") if event.level == "warning"]


THREE = [fenced(f"print({i})") for i in (1, 2, 3)]


async def test_candidates_are_rerun_when_branching_changes(monkeypatch):
    changing(monkeypatch, 2)
    run = replace(a_run(answers(propose=THREE)), parallel=1, unsent="They lack `df`.")
    ending = await run_task(run)
    assert ending.verdict.outcome == "unchecked"
    assert observed(run)[:4] == [("1.1", False), ("1.3", False), ("1.1", True), ("1.2", True)]
    assert warnings(run) == [f"{HANGS} They lack `df`."]
    assert run.meter.total.executions == 3 + 2 + 1


async def test_repeated_hangs_of_branches_are_reported_once(monkeypatch):
    changing(monkeypatch, 1, 2)
    run = replace(a_run(answers(propose=THREE)), parallel=3)
    await run_task(run)
    again = [name for name, repeated in observed(run) if repeated]
    assert sorted(again)[:2] == ["1.1", "1.2"]
    assert warnings(run) == [HANGS]


async def test_a_third_change_within_a_subtask_ends_it(monkeypatch):
    changing(monkeypatch, 1, 2, 3)
    run = replace(a_run(answers()), parallel=1)
    with pytest.raises(BranchingChanged):
        await run_task(run)
    assert warnings(run) == [HANGS, HANGS]
    assert happened(run, "run_finished")[-1].verdict.outcome == "stopped"


@pytest.mark.parametrize(("moments", "ends"), [((2,), "solved"), ((2, 3), "solved"), ((3,), "solved")])
async def test_a_solution_is_rerun_in_another_branch(monkeypatch, moments, ends):
    changing(monkeypatch, *moments)
    run = a_run(answers(), check="assert root == 4")
    assert (await run_task(run)).verdict.outcome == ends
    assert warnings(run) == [HANGS] * len(moments)


WRITES = "written = {'a.csv': '1', 'b.csv': '2'}"


async def test_the_files_of_an_accepted_solution_are_kept(tmp_path):
    run = replace(a_run(answers(solve=WRITES)), files=tmp_path / "trace.files")
    await run_task(run)
    [kept] = happened(run, "files_kept")
    assert (kept.folder, kept.files) == (str(tmp_path / "trace.files"), ("a.csv", "b.csv"))
    assert (tmp_path / "trace.files" / "b.csv").read_text() == "2"


async def test_without_wish_or_solution_no_files_are_kept(tmp_path):
    run, _ = await ran(answers(solve=WRITES))
    assert happened(run, "files_kept") == []
    run = replace(a_run(answers(solve=f"{WRITES}\nraise ValueError"), solution_rounds=1), files=tmp_path / "f")
    await run_task(run)
    assert happened(run, "files_kept") == []
    assert not (tmp_path / "f").exists()


async def test_files_that_cannot_be_kept_cost_nothing(tmp_path):
    (tmp_path / "f").mkdir()
    run = replace(a_run(answers(solve=WRITES)), files=tmp_path / "f")
    assert (await run_task(run)).verdict.outcome == "unchecked"
    assert warnings(run)[0].startswith("The files of the solution could not be saved: ")


async def test_the_selected_candidate_may_be_a_rerun(monkeypatch):
    changing(monkeypatch, 2)
    closed = []
    original = InlineBranch.close

    async def close(self):
        closed.append(tuple(self.codes))
        await original(self)

    monkeypatch.setattr(InlineBranch, "close", close)
    run = replace(a_run(answers(plan=("a", "b"), propose=[fenced("x = 1\nprint(x)"), fenced("x = 2")])), parallel=1)
    assert (await run_task(run)).verdict.outcome == "unchecked"
    [first, _] = happened(run, "subtask_finished")
    assert first.status == "done"
    assert ("x = 1\nprint(x)",) in closed
