"""After the run: nothing of the user's is lost, what was explored can go and come back, and nothing runs again."""

import nbformat
import pytest

from tests.e2e.browser.lab import candidates, ended, metadata, of_role, ours, outline, source, text
from tests.e2e.browser.play import Scene
from tests.e2e.browser.stories import start_run, two_scenes

COUNTED = Scene("Count.", ["from pathlib import Path\nPath('ran').touch()\nprint('counted once')", "print('two')"])
USERS_OWN = """from IPython.display import HTML
HTML("<p id='users-own'>mine</p><script>window.usersOwn = (window.usersOwn || 0) + 1</script>")"""


def pictured(cells):
    """What must stay: ids, sources, and the outputs of the cells that explorations made."""
    return [(c["id"], source(c), c.get("outputs") if metadata(c) else None) for c in cells]


def test_undo_takes_back_the_users_steps_alone_and_a_removal_in_one_step_with_outputs(tab, server, play):
    notebook = start_run(tab, server, play(*two_scenes()), more=("mine = 1",))
    before = notebook.until_ended()
    notebook.select(len(before) - 1)
    notebook.command("notebook:insert-cell-below")
    notebook.until(lambda cells: len(cells) == len(before) + 1)
    notebook.command("notebook:undo-cell-action")
    assert pictured(notebook.until(lambda cells: len(cells) == len(before))) == pictured(before)
    notebook.command("notebook:undo-cell-action")
    assert pictured(notebook.cells()) == pictured(before)

    notebook.command("exploracoder:remove", keepSolution=False)
    after = notebook.until(lambda cells: not ours(cells))
    assert [source(c) for c in after][-1] == "mine = 1" and len(after) == 3
    notebook.command("notebook:undo-cell-action")
    assert pictured(notebook.until(lambda cells: len(cells) == len(before))) == pictured(before)
    notebook.command("notebook:redo-cell-action")
    notebook.until(lambda cells: not ours(cells))


def test_cells_run_by_hand_or_edited_survive_removal_and_a_second_run_which_replaces_the_rest(tab, server, play):
    script = play(*two_scenes())
    notebook = start_run(tab, server, script)
    cells = notebook.until_ended()
    first = {metadata(c)["run_id"] for c in ours(cells)}
    by_hand = candidates(cells)["1.1"]["id"]
    notebook.run_and_wait(notebook.index(by_hand))
    assert text(notebook.cells()[notebook.index(by_hand)]) == text(candidates(cells)["1.1"])
    tab.page.get_by_role("button", name="Make it mine").click()
    mine = notebook.until(lambda cells: not metadata(cells[notebook.index(by_hand)]))[notebook.index(by_hand)]
    assert source(mine).startswith("import statistics") and not mine["metadata"].get("tags")
    notebook.run_and_wait(notebook.index(by_hand))
    assert text(notebook.cells()[notebook.index(by_hand)]) == "middle 2\n"
    kept = candidates(cells)["1.2"]["id"]
    notebook.edit(notebook.index(kept), "my_own = 'work'")

    notebook.run(1)
    cells = notebook.until(
        lambda cells: ended(cells) and not first & {metadata(c)["run_id"] for c in ours(cells)},
        "the second run alone",
    )
    assert len(of_role(cells, "plan")) == 1 and set(candidates(cells)) >= {"1.1", "1.2", "2.1", "2.2"}
    (edited,) = [c for c in cells if c["id"] == kept]
    assert source(edited) == "my_own = 'work'" and not metadata(edited) and not edited["metadata"].get("tags")

    edited = candidates(cells)["2.2"]["id"]
    notebook.edit(notebook.index(edited), "also = 'mine'")
    notebook.command("exploracoder:remove", keepSolution=False)
    cells = notebook.until(lambda cells: not ours(cells))
    assert {source(mine), "my_own = 'work'", "also = 'mine'"} <= {source(c) for c in cells}


@pytest.mark.full
def test_a_notebook_that_was_explored_and_saved_is_trusted_when_it_is_opened_again(tab, server, play):
    table = "from IPython.display import HTML, display\ndisplay(HTML('<table><tr><td>a cell</td></tr></table>'))"
    script = play(Scene("Show.", [table, "print('none')"]), solution="print('solved')")
    notebook = start_run(tab, server, script, name="trust.ipynb", more=(USERS_OWN,))
    cells = notebook.until_ended()
    notebook.run_and_wait(len(cells) - 1)
    assert tab.page.evaluate("window.usersOwn") == 1
    notebook.save()
    notebook.close()
    saved = server.read("trust.ipynb")
    nbformat.validate(saved)
    assert not any("trusted" in c.metadata for c in saved.cells)

    tab.reload()
    notebook = tab.open("trust.ipynb")
    trusted = notebook.do("() => [...model.cells].filter(c => c.type === 'code').map(c => c.trusted)")
    assert all(trusted)
    tab.page.wait_for_function("window.usersOwn === 1")
    assert len(ours(notebook.cells())) == len(ours(cells))


def test_running_all_cells_runs_nothing_again_and_loses_nothing_with_and_without_the_extension(tab, server, play):
    script = play(COUNTED, solution="print('solved')")
    notebook = start_run(tab, server, script, more=("import time\nprint('to the end', time.time_ns())",))
    before = notebook.until_ended()
    asked, shown = len(script.asked), {""}
    for loaded in (True, False):
        if not loaded:
            notebook.edit(0, "1")
            notebook.do("async () => { await kernel.restart() }")
        notebook.run_all()
        cells = notebook.cells()
        assert text(cells[-1]).startswith("to the end") and text(cells[-1]) not in shown, outline(cells)
        shown.add(text(cells[-1]))
        assert [c["outputs"] for c in candidates(cells).values()] == [c["outputs"] for c in candidates(before).values()]
        assert len(script.asked) == asked and not list(server.root.rglob("ran"))
        assert {metadata(c)["run_id"] for c in ours(cells)} == {metadata(c)["run_id"] for c in ours(before)}
