"""A notebook with `%%explora`, executed headless with the real engine: it waits, explores, and is complete."""

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert.exporters import HTMLExporter, MarkdownExporter
from nbformat.v4 import new_code_cell, new_notebook

from tests.patience import patience


def execute(folder, *sources):
    """The notebook after its execution, and the kernel's complaint if there was one."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    client = NotebookClient(
        notebook, timeout=round(patience(240)), kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return notebook, error
    return notebook, None


@pytest.fixture(scope="module")
def explored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    notebook, problem = execute(
        folder,
        "%load_ext exploracoder_jupyter\nprices = [3, 1, 2]",
        "%%explora statistics --candidates 2 --use prices\nCompute the median of prices.",
        "%explora status",
        "prices",
        "%explora export chosen.ipynb",
        "hits = %explora search spread of data?\nhits",
    )
    assert problem is None
    return folder, notebook


def text(cell, kind="text/plain"):
    return "".join(
        output["text"] if output["output_type"] == "stream" else output["data"][kind] for output in cell.outputs
    )


def test_the_panel_is_one_output_with_the_ending(explored):
    _, notebook = explored
    (panel,) = notebook.cells[1].outputs
    assert panel["output_type"] == "display_data"
    shown = text(notebook.cells[1])
    assert shown.startswith(("Unchecked. ", "Solved. ")) and "Exploring" not in shown
    assert "Trace: " in shown
    assert "To stop" not in shown
    assert "executions" in text(notebook.cells[1], "text/html")
    nbformat.validate(notebook)


def test_the_card_has_solution_and_output_after_conversion(explored):
    _, notebook = explored
    shown = text(notebook.cells[1])
    assert "statistics" in shown and "prices" in shown
    page, _ = HTMLExporter().from_notebook_node(notebook)
    markdown, _ = MarkdownExporter().from_notebook_node(notebook)
    assert "jp-Explora-panel" in page and "tries" in page and "Trace: " in markdown


def test_the_trace_is_beside_an_untouched_kernel(explored):
    folder, notebook = explored
    (path,) = folder.glob("explorations/*.ipynb")
    assert str(path) in text(notebook.cells[2])
    trace = nbformat.read(path, as_version=4)
    nbformat.validate(trace)
    assert any(cell.source.startswith("%%explored") for cell in trace.cells)
    assert text(notebook.cells[3]) == "[3, 1, 2]"


def test_the_export_has_no_losers(explored):
    folder, notebook = explored
    assert text(notebook.cells[4]) == "Written: chosen.ipynb\n"
    (path,) = folder.glob("explorations/*.ipynb")
    kept = nbformat.read(folder / "chosen.ipynb", as_version=4)
    assert 0 < len(kept.cells) < len(nbformat.read(path, as_version=4).cells)


def test_the_library_that_was_explored_is_searched_next(explored):
    _, notebook = explored
    (output,) = [output for output in notebook.cells[5].outputs if output["output_type"] == "execute_result"]
    assert output["data"]["text/plain"].startswith("statistics ")
    assert "<details open>" in output["data"]["text/html"]


def test_an_unknown_library_stops_with_one_sentence(tmp_path):
    _, problem = execute(tmp_path, "%load_ext exploracoder_jupyter", "%%explora no_such_library_at_all\nA task.")
    assert problem.ename == "UsageError"
    assert "no_such_library_at_all" in problem.evalue
    assert not (tmp_path / "explorations").exists()
