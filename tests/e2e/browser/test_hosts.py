"""Notebook 7, and JupyterLab without the extension."""

import pytest

from tests.e2e.browser.lab import Notebook, candidates, metadata, of_role, ours, source, text
from tests.e2e.browser.stories import SECOND, cell, start_run, two_scenes


@pytest.fixture
def without_extension(server):
    server.page_config({"disabledExtensions": {"exploracoder-jupyter": True}})
    yield
    server.page_config(None)


def test_notebook_7_shows_the_run_live_and_steers_it(tabs, server, play):
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    name = server.write("classic.ipynb", cell(script))
    tab = tabs(f"/notebooks/{name}")
    notebook = Notebook(tab, name).ready()
    notebook.run_and_wait(0)
    notebook.run(1)
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})), "live cells")
    tab.shot("notebook-7")
    tab.sidebar.open().stop()
    cells = notebook.until_ended(10)
    assert metadata(of_role(cells, "plan")[0])["status"] == "stopped" and not tab.complaints


def test_without_the_extension_there_are_panel_trace_and_solution(without_extension, tabs, server, play):
    tab = tabs()
    script = play(*two_scenes(), solution="print('the solution')")
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script, name="plain.ipynb")
    gate.reached()
    notebook.until(lambda cells: "Subtask 2 of 2" in text(cells[1]), "the panel")
    tab.page.get_by_role("button", name="Stop").wait_for()
    gate.open()
    notebook.until(lambda cells: "Trace: " in text(cells[1]), "the panel's end")
    assert not ours(notebook.cells()) and list(server.root.glob("explorations/*.ipynb"))

    notebook.edit(1, cell(script, "--wait"))
    notebook.run_and_wait(1)
    assert "print('the solution')" in source(notebook.cells()[2]) and not ours(notebook.cells())
