"""Every trace is what the shipped schema says, and the schema says what the events are."""

import importlib.util
import json
from pathlib import Path

import nbformat
import pytest

from exploracoder_jupyter.trace import find_problems, render
from exploracoder_jupyter.trace.metadata import SCHEMA_VERSION
from tests.unit.factories import complete_run
from tests.unit.sampling import sampled
from tests.unit.trace.views import facts, pack, unpack

ROOT = Path(__file__).parents[3]
RECORDED = [*sorted((ROOT / "examples").glob("*recorded.ipynb")), ROOT / "examples" / "explorations" / "first.ipynb"]


def test_the_schema_is_current():
    place = ROOT / "scripts" / "trace_schema.py"
    spec = importlib.util.spec_from_file_location("trace_schema", place)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = script.SCHEMA.read_text(encoding="utf-8")
    assert script.schema(text) == text, "Run scripts/trace_schema.py."
    assert json.loads(text)["$defs"]["notebook"]["properties"]["schema_version"] == {"const": SCHEMA_VERSION}


def test_every_beginning_of_a_run_is_valid():
    nbformat.validate(render([]))
    for length in sampled(range(1, len(complete_run()) + 1)):
        assert find_problems(render(complete_run()[:length])) == []


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_examples_are_valid(path):
    assert find_problems(nbformat.read(path, 4)) == []


def test_problems_are_reported_with_their_place():
    notebook = render(complete_run())
    facts(notebook).pop("task")
    facts(notebook)["shiny"] = 1
    raw = unpack(facts(notebook)["records"])
    raw[3]["event"]["apis"] = "many"
    facts(notebook)["records"] = pack(map(json.dumps, raw))
    notebook.cells[2].metadata.exploracoder_jupyter["role"] = "hero"
    notebook.cells[3].cell_type = "poem"
    found = "\n".join(find_problems(notebook))
    assert "Not a valid notebook" in found
    assert "'task' is a required property" in found
    assert "'shiny' was unexpected" in found
    assert "record 3, event.apis: 'many' is not of type 'integer'." in found
    assert f"cell {notebook.cells[2].id}, role: 'hero' is not one of" in found


def test_a_foreign_or_too_new_notebook_is_reported():
    assert find_problems(nbformat.v4.new_notebook()) == ["It is not a trace: its metadata contains no run."]
    notebook = render(complete_run())
    facts(notebook)["schema_version"] = SCHEMA_VERSION + 1
    assert f"trace format {SCHEMA_VERSION + 1}" in find_problems(notebook)[0]


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": []},
        {"cells": 1},
        {"cells": ["x"]},
        {"cells": {"a": 1}},
        {"nbformat": "four"},
        {"nbformat_minor": []},
        {"metadata": {"exploracoder_jupyter": [[]]}},
        {"metadata": {"exploracoder_jupyter": {"schema_version": 1, "records": ["x"]}}},
    ],
)
def test_a_file_without_notebook_is_reported(change):
    notebook = nbformat.from_dict({**json.loads(json.dumps(render(complete_run()))), **change})
    assert find_problems(notebook)
    assert all(found.endswith(".") for found in find_problems(notebook))
