"""What a user does to the notebook and its page while an exploration runs: renames it, loads it again, mistypes."""

import time

import pytest

from tests.e2e.browser.lab import metadata, of_role, text
from tests.e2e.browser.stories import SECOND, start_run, two_scenes
from tests.patience import is_over

OPEN = "() => [...jupyterapp.shell.widgets('main')].map(widget => widget.context?.path)"


@pytest.mark.full
def test_a_notebook_that_is_renamed_and_moved_keeps_the_links_to_its_trace(tab, server, play):
    """Issue 14, item 21: the links were lost until the kernel was restarted."""
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script)
    gate.reached()
    (server.root / "moved").mkdir()
    notebook.do("async () => { await panel.context.rename('moved/renamed.ipynb') }")
    notebook.path = "moved/renamed.ipynb"
    gate.open()
    sidebar = tab.sidebar.open()
    tab.until(lambda: "Unchecked" in sidebar.text(), "the end")
    tab.until(sidebar.button("Open trace").is_visible, "the link")
    sidebar.button("Open trace").click()
    tab.until(lambda: any((path or "").startswith("explorations/") for path in tab.page.evaluate(OPEN)), "the trace")


def test_a_misspelled_library_is_an_error_in_the_same_words_in_cell_and_sidebar(tab, server):
    """Issue 14, item 24: it took 9 s, and was "Stopped" in a neutral box here and "Failed" there."""
    notebook = tab.open(server.write("typo.ipynb", "%%explora netwrkx --model offline\nMake a graph."))
    notebook.run_and_wait(0)
    began = time.monotonic()
    notebook.run(1)
    notebook.until(lambda cells: "not installed" in text(cells[1]), "the error", 6)
    # The line, or the panel where the page has not answered the call in time.
    shown = tab.page.locator(".jp-Explora-panel").and_(tab.page.locator("[role=alert], :has([role=alert])"))
    shown.wait_for()
    assert not is_over(began, 6), "it takes 1 s on an idle machine"
    announced = tab.sidebar.open().root.get_by_role("alert")
    message = announced.inner_text().removeprefix("Failed. ")
    assert message and message in shown.inner_text()
    tab.until(lambda: "Failed" in shown.inner_text() and "Failed" in tab.sidebar.text(), "the state")
    assert not of_role(notebook.cells(), "plan") and not metadata(notebook.cells()[1])
