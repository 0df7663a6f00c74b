"""In version control a trace shows what differs: the same records give the same bytes, whoever writes them."""

import json
from dataclasses import replace

import nbformat
import pytest

from exploracoder_jupyter.core.events import CandidateObserved, Record, RunFinished
from exploracoder_jupyter.core.types import Observation
from exploracoder_jupyter.trace import load, render
from exploracoder_jupyter.trace.file import serialize_notebook
from tests.unit.factories import complete_run, recorded, shown
from tests.unit.trace.test_correctness_cells import run as a_tested_run
from tests.unit.trace.views import traced


def with_odd_texts():
    """A run that showed what is written in several ways."""
    odd = 'é 漢 \x00 \x1b \x7f \u2028 \\ " / \t 🎲 \r\n \x85'
    numbers = [1e-7, 1e16, 1.0, -0.0, 123456789012345678]
    output = shown(text_plain=odd, application_json={"f": numbers, "k": None, odd: ""})
    return [*complete_run()[:9], Record(40, 1.5e9, CandidateObserved("1.2", Observation("ok", (output,), text=odd)))]


RUNS = {
    "complete": complete_run(),
    "tested": recorded(a_tested_run()),
    "cut off": complete_run()[:17],
    "odd texts": with_odd_texts(),
}


def written(path, records):
    trace = traced(path, records)
    trace.close()
    return path.read_bytes()


@pytest.mark.parametrize("name", RUNS)
def test_the_same_records_give_the_same_bytes(tmp_path, name):
    first = written(tmp_path / "first.ipynb", RUNS[name])
    assert written(tmp_path / "second.ipynb", load(tmp_path / "first.ipynb")) == first
    assert serialize_notebook(render(load(tmp_path / "second.ipynb"))) == first


@pytest.mark.parametrize("name", RUNS)
def test_saving_it_with_jupyter_changes_nothing(tmp_path, name):
    path = tmp_path / "run.ipynb"
    first = written(path, RUNS[name])
    nbformat.write(nbformat.read(path, nbformat.NO_CONVERT), path, version=nbformat.NO_CONVERT)
    assert path.read_bytes() == first


def later(record):
    """What is recorded when the same is done once more: at another time, taking longer."""
    event = record.event
    if isinstance(event, CandidateObserved):
        event = replace(event, observation=replace(event.observation, seconds=9.9, memory=77))
    if isinstance(event, RunFinished):
        event = replace(event, usage=replace(event.usage, seconds=8.8))
    return Record(record.seq, record.at + 100_000.5, event)


def paths_of(value, at=()):
    if isinstance(value, dict):
        return {path for key, item in value.items() for path in paths_of(item, (*at, key))}
    if isinstance(value, list):
        return {path for number, item in enumerate(value) for path in paths_of(item, (*at, number))}
    return {(*at, value)}


def test_a_repeated_run_differs_only_in_times():
    first, second = (
        json.loads(serialize_notebook(render(run))) for run in (complete_run(), list(map(later, complete_run())))
    )
    differ = {path[:-1] for path in paths_of(first) ^ paths_of(second)}
    own = ("metadata", "exploracoder_jupyter")
    places = {path[2] for path in differ if path[:2] == own}
    assert places == {"records", "started", "usage"}
    in_cells = [path for path in differ if path[0] == "cells"]
    assert {path[-1] for path in in_cells if path[2] == "metadata"} <= {"seconds", "source_hash"}
    roles = {
        first["cells"][path[1]]["metadata"]["exploracoder_jupyter"]["role"] for path in in_cells if "source" in path
    }
    assert roles == {"task", "plan", "summary"}


def test_numbers_are_written_as_browsers_do(tmp_path):
    """JavaScript knows no `60.0`, and JupyterLab writes `collapsed` wherever outputs are hidden."""
    event = replace(complete_run()[0].event, settings={"view": {"show": "all"}, "budget": {"seconds": 60.0, "x": 0.5}})
    records = [replace(complete_run()[0], event=event), *complete_run()[1:]]
    text = written(tmp_path / "run.ipynb", records).decode()
    assert '"seconds": 60,' in text
    assert '"x": 0.5' in text
    assert load(tmp_path / "run.ipynb") == records
    cells = json.loads(text)["cells"]
    hidden = [cell["metadata"].get("jupyter", {}).get("outputs_hidden", False) for cell in cells]
    assert [cell["metadata"].get("collapsed", False) for cell in cells] == hidden
    assert any(hidden)
