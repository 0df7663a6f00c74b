"""A trace notebook is an ordinary notebook: "Run All" leaves candidates alone and runs the solution."""

import nbformat
from nbclient import NotebookClient

from exploracoder_jupyter.trace import Trace, generated_metadata, render
from tests.patience import patience
from tests.unit.factories import complete_events, finished, proposed, ran, recorded, started, stream


def test_running_a_trace_runs_only_the_solution(tmp_path):
    touch = "import pathlib; pathlib.Path('touched-{}').touch()"
    events = [
        started(),
        proposed("1.1", touch.format("1.1")),
        ran("1.1", stream("recorded\n")),
        proposed("s1", touch.format("s1") + "\nprint(6 * 7)"),
        ran("s1", stream("42, as recorded\n")),
        finished("unchecked", touch.format("s1") + "\nprint(6 * 7)", "s1"),
    ]
    path = tmp_path / "run.ipynb"
    trace = Trace(path)
    for record in recorded(events):
        trace.append(record)
    trace.close()

    notebook = nbformat.read(path, 4)
    NotebookClient(notebook, timeout=round(patience(60)), resources={"metadata": {"path": str(tmp_path)}}).execute()

    assert [found.name for found in tmp_path.glob("touched-*")] == ["touched-s1"]
    outputs = {generated_metadata(cell)["role"]: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}
    assert outputs["candidate"] == [stream("recorded\n")]
    assert outputs["solution"] == [stream("42\n")]


def test_a_complete_trace_runs_from_top_to_bottom():
    notebook = render(recorded(complete_events()))
    recorded_outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    NotebookClient(notebook, timeout=round(patience(60))).execute()
    assert [cell.outputs for cell in notebook.cells if cell.cell_type == "code"] == recorded_outputs
