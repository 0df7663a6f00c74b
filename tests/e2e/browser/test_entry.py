"""Beginning an exploration: from the sidebar's form, by the keyboard, from a failed cell, a selection, a follow-up."""

import pytest

from tests.e2e.browser.lab import Notebook, metadata, of_role, source
from tests.e2e.browser.test_sidebar import THEMES, complaints, light

__all__ = ["light"]

LOAD = "%load_ext exploracoder_jupyter"
TASK = "Compute the median of [7, 1, 3] and store it in `middle`"


def empty(tab, server, name):
    """A notebook with one empty cell, whose kernel has not loaded the extension."""
    notebook = tab.open(server.write(name))
    notebook.edit(0, "")
    return notebook


def test_by_keyboard_alone_from_an_empty_notebook_to_a_finished_exploration(tab, server):
    notebook = empty(tab, server, "keyboard.ipynb")
    keys = tab.page.keyboard
    keys.press("Control+Shift+C")
    tab.page.locator(".lm-CommandPalette-input:visible").fill("New Exploration")
    keys.press("Enter")
    library = tab.sidebar.root.get_by_role("combobox", name="Library")
    tab.until(lambda: library.evaluate("element => element === document.activeElement"), "the focus")
    keys.type("stati")
    tab.sidebar.root.get_by_role("option", name="statistics").wait_for()
    tab.shot("entry-form")
    keys.press("ArrowDown")
    keys.press("Enter")
    assert library.input_value() == "statistics"
    keys.press("Tab")
    keys.type(TASK)
    keys.press("Tab")
    keys.type("assert middle == 3")
    keys.press("Enter")
    keys.type("assert 'a' != \"\\n\"")
    keys.press("Control+Enter")
    cells = notebook.until_ended()
    assert metadata(of_role(cells, "summary")[0])["status"] == "solved"
    assert source(cells[0]) == LOAD
    assert notebook.do("() => notebook.activeCell.model.sharedModel.getSource()") == source(cells[1])
    tab.sidebar.button("New exploration").wait_for()


@pytest.mark.usefixtures("light")
def test_nothing_serious_is_found_by_axe_in_the_form(tab, server):
    empty(tab, server, "axe.ipynb")
    root = tab.sidebar.open().root
    root.get_by_role("button", name="Explore", exact=True).click()
    root.get_by_text("Describe the task in words.").wait_for()
    found = {}
    for name in ("light", "dark"):
        tab.theme(THEMES[name])
        root.get_by_role("combobox", name="Library").fill("stat")
        root.get_by_role("option").first.wait_for()
        tab.shot(f"entry-{name}")
        found[name] = complaints(tab)
    assert not any(found.values()), found


def test_notebook_7_begins_from_the_form(tabs, server):
    name = server.write("entry-classic.ipynb")
    tab = tabs(f"/notebooks/{name}")
    notebook = Notebook(tab, name).ready()
    root = tab.sidebar.open().root
    root.get_by_role("combobox", name="Library").fill("statistics")
    root.get_by_label("Task", exact=True).fill(TASK)
    root.get_by_role("button", name="Explore", exact=True).click()
    cells = notebook.until_ended()
    assert [source(cell) for cell in cells[:2]] == [LOAD, f"%%explora statistics\n{TASK}"]
    assert not tab.complaints
