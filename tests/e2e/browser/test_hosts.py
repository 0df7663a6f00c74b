"""Notebook 7, and JupyterLab without the extension."""

import pytest

from tests.e2e.browser.accessibility import CARD, serious_violations
from tests.e2e.browser.board import Board
from tests.e2e.browser.lab import Notebook, candidates, ended, metadata, of_role, ours, source, text
from tests.e2e.browser.stories import SECOND, cell, start_run, two_scenes
from tests.e2e.browser.test_card import Card
from tests.e2e.browser.test_sidebar import TASK, configured

__all__ = ["configured"]


def test_notebook_7_begins_shows_steers_and_compares_a_run_and_ends_with_its_card(tabs, server, configured):
    second = configured.hold("propose", SECOND)
    name = server.write("classic.ipynb")
    tab = tabs(f"/notebooks/{name}")
    notebook = Notebook(tab, name).ready()
    sidebar = tab.sidebar.open()
    sidebar.root.get_by_role("combobox", name="Library").fill("statistics")
    sidebar.root.get_by_label("Task", exact=True).fill(TASK)
    sidebar.button("Explore").click()
    second.reached()
    cells = notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})), "live cells")
    assert [source(cell) for cell in cells[:2]] == ["%load_ext exploracoder_jupyter", f"%%explora statistics\n{TASK}"]
    tab.shot("notebook-7")
    tab.command("explora:compare", subtask="1")
    Board(tab).column("1.1").wait_for()
    tab.shot("board-notebook-7")
    sidebar.skip(SECOND)
    notebook.until(lambda cells: any(metadata(c).get("status") == "skipped" for c in of_role(cells, "subtask")))
    second.open()
    notebook.until_ended()
    card = Card(notebook)
    card.button("Run here").wait_for()
    tab.until(card.is_in_view, "the card")
    tab.shot("card-notebook-7")
    assert not serious_violations(tab.page, CARD)
    card.button("Run here").click()
    notebook.until(lambda cells: "middle 2" in text(of_role(cells, "solution")[0]), "the solution to be run")

    again = configured.hold("solve")
    notebook.run(1)
    again.reached()
    card.button("Stop").click()
    notebook.until(lambda cells: ended(cells) and metadata(of_role(cells, "plan")[0])["status"] == "stopped")
    tab.until(lambda: "Stopped" in card.root.inner_text() and "Stop" not in card.buttons(), "the end")
    assert not tab.complaints


@pytest.fixture
def without_extension(server):
    server.page_config({"disabledExtensions": {"exploracoder-jupyter": True}})
    yield
    server.page_config(None)


@pytest.mark.full
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
