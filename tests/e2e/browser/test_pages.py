"""Reloads, closed tabs and second tabs: the notebook shows the run once and whole."""

import pytest

from tests.e2e.browser.lab import candidates, ended, metadata, of_role, ours, source
from tests.e2e.browser.stories import SECOND, cell, start_run, two_scenes


def whole(cells):
    """The candidates of the story, each once, in their order."""
    shown = [metadata(c)["candidate"] for c in of_role(cells, "candidate")]
    return shown[:4] == ["1.1", "1.2", "2.1", "2.2"] and len({c["id"] for c in cells}) == len(cells)


def test_a_reload_in_mid_run_goes_on_where_it_was_though_the_kernel_is_busy(tab, server, play):
    errors = []
    tab.page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script, "--wait", name="reload.ipynb")
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})))
    tab.reload()
    notebook = tab.open("reload.ipynb")
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})), "what the page had missed")
    tab.until(tab.sidebar.open().running, "the run in the sidebar")
    gate.open()
    assert whole(notebook.until_ended())
    # Issue 14, item 22: the kernel closed a comm that the new page never had.
    assert not [error for error in errors if "Comm not found" in error]


def test_a_tab_that_is_closed_in_mid_run_finds_the_run_when_it_is_opened_again(tab, server, play):
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script, name="closed.ipynb")
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})))
    notebook.save()
    notebook.close()
    gate.open()
    tab.until(lambda: "solve" in script.asked, "the run to go on without the page")
    tab.open("closed.ipynb").until(lambda cells: ended(cells) and whole(cells), "the cells that the page had missed")


@pytest.mark.full
def test_of_two_tabs_one_inserts_and_the_other_says_so_and_takes_over_when_the_first_is_closed(tabs, server, play):
    first, second = tabs(), tabs()
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    name = server.write("shared.ipynb", cell(script))
    here = first.open(name)
    here.run_and_wait(0)
    here.save()
    there = second.open(name)
    here.run(1)
    gate.reached()
    second.until(lambda: "another tab" in second.sidebar.open().text().lower(), "the other tab to say so")
    gate.open()
    assert whole(here.until_ended())
    assert not ours(there.cells()) and not there.dirty()
    here.save()
    second.until(lambda: "another tab" not in second.sidebar.text().lower() or ours(there.cells()), "the end there")
    there.do("() => panel.context.revert()")
    assert whole(there.cells())
    there.save()
    assert not first.dialogs() and not second.dialogs()

    again = play(*two_scenes())
    gate = again.hold("propose", SECOND)
    here.edit(1, cell(again))
    here.run(1)
    gate.reached()
    first.page.goto("about:blank")
    gate.open()
    there.until(lambda cells: ended(cells) and whole(cells), "the second run in the other tab")


@pytest.mark.full
def test_a_run_whose_cell_was_not_saved_before_a_reload_is_steered_nevertheless(tab, server, play):
    script = play(*two_scenes())
    notebook = tab.open(server.write("unsaved.ipynb", "mine = 1"))
    notebook.run_and_wait(0)
    notebook.command("notebook:insert-cell-below")
    notebook.until(lambda cells: len(cells) == 3)
    notebook.edit(1, cell(script, "--review"))
    notebook.run(1)
    tab.until(tab.sidebar.open().button("Begin").is_visible, "the plan to wait")
    tab.reload()
    notebook = tab.open("unsaved.ipynb")
    assert [source(c) for c in notebook.cells()][1:] == ["mine = 1"]
    tab.until(tab.sidebar.open().button("Begin").is_visible, "the plan, after the reload")
    assert "not in this notebook" in tab.sidebar.text()
    tab.sidebar.button("Begin").click()
    tab.until(tab.sidebar.button("Insert solution").is_visible, "the solution")
    tab.sidebar.button("Insert solution").click()
    notebook.until(lambda cells: len(cells) == 3, "the solution in a cell")
    assert not ours(notebook.cells())
