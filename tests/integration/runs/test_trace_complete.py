"""A trace of a real run holds everything that is needed to judge and repeat it, and nothing of whose it is."""

import json
import platform
from functools import partial

import anyio
import nbformat

from exploracoder_jupyter.runs.trace_check import CheckRequest, check_trace
from exploracoder_jupyter.trace import find_problems, load
from exploracoder_jupyter.trace.reading import executions
from exploracoder_jupyter.trace.storage import SizeBudget, count_omitted
from tests.integration.pipeline.test_whole_run import KEY, TASK, _order, _run, endpoint  # noqa: F401  a fixture
from tests.integration.traces import explore
from tests.unit.trace.views import whole_text


def traced(order):
    _run(order)
    [path] = (order.workdir / "explorations").glob("*.ipynb")
    return path


def facts(path):
    return json.loads(path.read_text())["metadata"]["exploracoder_jupyter"]


def test_a_trace_repeats_without_home_or_key(endpoint, tmp_path):  # noqa: F811
    check = "import os\nassert m == 2, open('/home/mariachen/thesis/data.csv')"
    path = traced(_order(tmp_path, endpoint, check=check))
    assert find_problems(nbformat.read(path, 4)) == []
    found, records = facts(path), load(path)
    assert found["task"]["text"] == TASK
    assert set(found["settings"]) >= {"exploration", "retrieval", "budget", "endpoint", "sandbox", "view"}
    statistics = {"name": "statistics", "distribution": "python", "version": platform.python_version()}
    assert found["libraries"] == [statistics]
    environment = found["environment"]
    assert environment["python"] == platform.python_version()
    assert any(line.startswith("ipykernel==") for line in environment["packages"])
    assert environment["isolation"]
    assert environment["hash_seed"]
    assert environment["time_zone"]
    kinds = [record.event.kind for record in records]
    assert {"plan_made", "subtask_started", "model_called", "candidate_selected", "run_finished"} <= set(kinds)
    exchanges = [record.event.exchange for record in records if record.event.kind == "model_called"]
    assert all(exchange.messages and exchange.replies and exchange.usage.tokens for exchange in exchanges)
    proposing = next(exchange for exchange in exchanges if exchange.step == "propose")
    assert (proposing.sampling.temperature, proposing.sampling.top_p, proposing.sampling.n) == (0.8, 0.95, 2)
    retrieved = next(record.event.apis for record in records if record.event.kind == "subtask_started")
    assert retrieved[0].api.path.startswith("statistics.")
    assert executions(records)[0].observation.seconds > 0
    written = whole_text(path)
    assert "~/thesis/data.csv" in written
    assert "mariachen" not in written
    assert KEY not in written


def test_a_check_reports_what_a_trace_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("exploracoder_jupyter.trace.file.SizeBudget", partial(SizeBudget, most=0, most_of_solutions=0))
    figure = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()"
    many = "print('\\n'.join(map(str, range(2_000))))\nnumbers = list(range(900))\nnumbers"
    named = ["place = '/home/mariachen/thesis/data.csv'\nlen(place)", "len('/api/home/a')"]
    subtasks = {"Draw": [figure], "Count": [many], "Name": named}
    path = explore(tmp_path, subtasks, "print('end')", monkeypatch=monkeypatch)
    assert count_omitted(load(path))[0] == 3
    report = anyio.run(check_trace, CheckRequest(path, workdir=tmp_path), lambda what, done, of: None)
    results = {row.id: (row.result, row.why) for row in report.rows}
    assert results["1.1"] == ("same", "not compared: image/png, too large for the trace")
    assert results["2.1"] == ("same", "not compared: text, text/plain, too large for the trace")
    assert results["3.1"][0] == "changed"
    assert results["3.1"][1].endswith("; its code contained a home folder or key, which traces redact")
    assert results["3.2"] == ("same", "")
