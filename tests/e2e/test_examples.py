"""The example notebooks do, when they are executed again, what their recorded outputs show."""

import importlib.util
import json
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.fixture(scope="module")
def examples():
    spec = importlib.util.spec_from_file_location("examples_script", ROOT / "scripts" / "examples.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_examples():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_committed_example_is_valid_executed_and_names_no_machine(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    assert "/tmp/" not in json.dumps([cell.get("outputs", []) for cell in notebook.cells])


@pytest.mark.filterwarnings("ignore:Kernel is running over TCP")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_example_runs_from_top_to_bottom(path, examples, tmp_path):
    if examples.is_recorded(path):
        pytest.skip("recorded with a real model")
    done = examples.execute(path, folder=str(tmp_path))
    recorded = nbformat.read(path, as_version=4)
    results = [
        [
            output.data["text/plain"]
            for cell in notebook.cells
            for output in cell.get("outputs", [])
            if "execute_result" in output.output_type
        ]
        for notebook in (done, recorded)
    ]
    assert results[0] == results[1]
