"""The setup of a task: run once before everything, in the run and in whatever executes its trace again."""

import anyio
import nbformat
import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Task
from exploracoder_jupyter.runs import Order, prepare_replay, replay, resume_order, run
from exploracoder_jupyter.runs.trace_check import CheckRequest, check_trace
from tests.integration.traces import explore

SETUP = "from statistics import mean\nages = [20, 30, 40]\nprint('made')"


@pytest.fixture
def trace(tmp_path, monkeypatch):
    cells = {"average": ["average = mean(ages)\nprint(average)"]}
    check, options = "assert result == 30", {"setup": SETUP, "branching": "fork"}
    return explore(tmp_path, cells, "result = mean(ages)", monkeypatch=monkeypatch, check=check, **options)


def events(records, kind):
    return [record.event for record in records if record.event.kind == kind]


def test_the_trace_shows_and_repeats_the_setup(trace, tmp_path):
    notebook = nbformat.read(trace, 4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert sources.index(SETUP) < next(at for at, source in enumerate(sources) if "average = mean" in source)

    async def check():
        return await check_trace(CheckRequest(trace), lambda what, done, total: None)

    report = anyio.run(check)
    assert report.rows and all(row.same for row in report.rows)
    prepared, records = prepare_replay(trace), []
    summary = anyio.run(replay, prepared, records.append)
    assert (summary["status"], summary["replay"]["same_course"]) == ("solved", True)
    resumed, records = resume_order(Order(Task("", ()), workdir=tmp_path), trace, cell="solution"), []
    assert anyio.run(run, resumed, records.append)["status"] == "solved"
    [begun] = events(records, "run_started")
    assert begun.task.setup == SETUP


def test_a_failing_setup_is_one_early_error(tmp_path):
    task = Task("Average `ages`.", ("statistics",), setup="ages = 1 / 0")
    records = []
    with pytest.raises(UsageError, match=r"setup fails: ZeroDivisionError: division by zero\. "):
        anyio.run(run, Order(task, ({"sandbox": {"branching": "fork"}},), workdir=tmp_path), records.append)
    assert not records
    assert [*tmp_path.iterdir()] == []
