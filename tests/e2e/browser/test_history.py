"""What was explored in other notebooks, as the sidebar and `%explora history` show it: opened where the page can."""

import time

import nbformat
import pytest
from nbformat.v4 import new_notebook

from exploracoder_jupyter.core.history import HistoryStore, PastRun
from exploracoder_jupyter.core.process_id import ProcessId
from exploracoder_jupyter.core.types import LibraryInfo
from tests.e2e.browser.accessibility import SIDEBAR, serious_violations

LIBRARIES = (LibraryInfo("networkx", "networkx", "3.4"),)
OPEN = "() => [...jupyterapp.shell.widgets('main')].map(widget => widget.context?.path)"


@pytest.fixture
def explored(server):
    """A run whose trace is below the server's root, and one that was cut off and whose trace is elsewhere."""
    store = HistoryStore(server.home / ".local" / "state" / "exploracoder_jupyter" / "history.sqlite")
    store.clear()  # of what other tests explored at this server
    elsewhere = server.root.parent / "elsewhere"
    dead = ProcessId(2**22 + 1, 1.0, ProcessId.own().machine)
    for at, (id, folder, known) in enumerate(
        [("aaaaaaaa", server.root / "theirs", {"outcome": "solved"}), ("bbbbbbbb", elsewhere, {"process": dead})]
    ):
        (folder / "explorations").mkdir(parents=True, exist_ok=True)
        trace = folder / "explorations" / f"{id}.ipynb"
        nbformat.write(new_notebook(), trace)
        began = time.time() - 60 * at
        fields = {"process": ProcessId.own(), "task": f"Task of {id}", "libraries": LIBRARIES, "trace": str(trace)}
        store.write(PastRun(id, began, began, **(fields | known)))
    (server.root / "mine").mkdir(exist_ok=True)
    yield elsewhere
    store.clear()


def test_runs_of_other_notebooks_are_listed_and_opened(tab, server, explored):
    notebook = tab.open(server.write("mine/a.ipynb", "%explora history"))
    notebook.run_and_wait(0)
    notebook.run_and_wait(1)
    [shown] = notebook.cells()[1]["outputs"]
    html = "".join(shown["data"]["text/html"])
    assert 'href="../theirs/explorations/aaaaaaaa.ipynb"' in html and html.count("<a ") == 1

    sidebar = tab.sidebar.open()
    listed = sidebar.root.get_by_role("list", name="Earlier explorations").get_by_role("listitem")
    tab.until(lambda: listed.count() == 2, "both runs")
    first, second = listed.all_inner_texts()
    assert "Solved" in first and "Task of aaaaaaaa" in first and "networkx 3.4" in first
    assert "Cut off" in second and f"{explored}/explorations/bbbbbbbb.ipynb" in second and "--resume" in second
    assert not serious_violations(tab.page, SIDEBAR)
    tab.shot("explored-before")

    listed.first.get_by_role("button").focus()
    tab.page.keyboard.press("Enter")
    trace = "theirs/explorations/aaaaaaaa.ipynb"
    tab.until(lambda: trace in tab.page.evaluate(OPEN), "the trace")

    tab.page.evaluate("id => jupyterapp.shell.currentWidget.dispose()")
    tab.until(lambda: trace not in tab.page.evaluate(OPEN), "the trace to be closed")
    notebook.select(1)
    tab.page.locator(".jp-Explora-past a").click()
    tab.until(lambda: trace in tab.page.evaluate(OPEN), "the trace, from the table")
