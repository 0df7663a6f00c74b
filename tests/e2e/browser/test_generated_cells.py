"""The exploration happens in the notebook while one watches."""

import pytest

from tests.e2e.browser.lab import candidates, metadata, of_role, ours, source, text
from tests.e2e.browser.stories import FIRST, SECOND, cell, start_run, two_scenes


def test_cells_appear_during_the_run_and_solution_last(tab, server, play):
    script = play(*two_scenes(), solution="print('the solution')")
    late, second, solved = script.hold("propose", FIRST, 1), script.hold("propose", SECOND), script.hold("solve")
    notebook = tab.open(server.write("typed.ipynb", ""))
    notebook.run_and_wait(0)
    tab.page.locator(".jp-Cell .cm-content").nth(1).click()
    tab.page.keyboard.insert_text(cell(script))
    tab.page.keyboard.press("Control+Enter")

    # While the model still writes the second candidate, the first has run already.
    late.reached()
    cells = notebook.until(lambda cells: "middle 2" in text(candidates(cells).get("1.1", {})), "the first output")
    assert of_role(cells, "plan") and set(candidates(cells)) == {"1.1"}
    assert [metadata(c).get("caller") for c in ours(cells)] == [cells[1]["id"]] * len(ours(cells))
    late.open()

    # While the second subtask is being thought about, the first has folded its loser away.
    second.reached()
    cells = notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})), "the choice")
    folded = [c["metadata"].get("jupyter", {}).get("source_hidden", False) for c in candidates(cells).values()]
    assert sorted(folded) == [False, True] and not of_role(cells, "solution")
    second.open()

    solved.reached()
    assert len(notebook.until(lambda cells: len(candidates(cells)) >= 4)) and not of_role(notebook.cells(), "solution")
    solved.open()
    cells = notebook.until_ended()
    (solution,) = of_role(cells, "solution")
    assert source(solution) == "print('the solution')" and not solution["outputs"]
    assert cells.index(solution) > max(cells.index(c) for c in candidates(cells).values())
    assert len({c["id"] for c in cells}) == len(cells)


def test_cells_keep_their_place_whatever_the_user_does(tab, server, play):
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script, more=("mine = 1", "also = 2"))
    gate.reached()
    cells = notebook.until(lambda cells: len(of_role(cells, "subtask")) == 2, "the last cell before the gate")
    call, winner, loser = cells[1]["id"], candidates(cells)["1.1"]["id"], candidates(cells)["1.2"]["id"]

    mine = next(c["id"] for c in cells if source(c) == "mine = 1")
    notebook.do("([from, to]) => model.sharedModel.moveCell(from, to)", [notebook.index(mine), 0])
    notebook.edit(notebook.index(winner), "my_own = 1")
    notebook.select(notebook.index(loser))
    notebook.command("notebook:delete-cell")
    other = tab.open(server.write("other.ipynb", "1 + 1"))
    gate.open()
    cells = notebook.until_ended()

    ids = [c["id"] for c in cells]
    assert ids[0] == mine and loser not in ids and len(set(ids)) == len(ids)
    assert source(cells[ids.index(winner)]) == "my_own = 1"
    assert ids[ids.index(call) + 1] == of_role(cells, "tries")[0]["id"]
    assert source(cells[-1]) == "also = 2"
    assert not ours(other.cells())


@pytest.mark.full
def test_two_notebooks_explore_at_once_without_mixing(tab, server, play):
    plays = play(*two_scenes()), play(*two_scenes())
    gates = [script.hold("propose", SECOND) for script in plays]
    notebooks = [start_run(tab, server, script, name=f"at-once-{n}.ipynb") for n, script in enumerate(plays)]
    for gate in gates:
        gate.reached()
    for gate in gates:
        gate.open()
    runs = [{metadata(c)["run_id"] for c in ours(notebook.until_ended())} for notebook in notebooks]
    assert len(runs[0]) == len(runs[1]) == 1 and runs[0] != runs[1]
    assert all(len(candidates(notebook.cells())) >= 4 for notebook in notebooks)


def test_a_restarted_kernel_leaves_no_dead_state(tab, server, play):
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script)
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})))
    notebook.do("async () => { await kernel.restart() }")
    tab.until(lambda: not tab.sidebar.running(), "a sidebar that says that the run is over")
    gate.open()

    # What was explored stays, and the next call replaces it.
    assert candidates(notebook.cells())
    again = play(*two_scenes())
    notebook.edit(1, cell(again))
    notebook.run_and_wait(0)
    notebook.run(1)
    cells = notebook.until_ended()
    assert len({metadata(c)["run_id"] for c in ours(cells)}) == 1


def test_typing_below_changing_cells_loses_no_key(tab, server, play):
    script = play(*two_scenes())
    gates = [script.hold("propose", FIRST), script.hold("propose", SECOND), script.hold("solve")]
    notebook = start_run(tab, server, script, more=("mine = ''",))
    gates[0].reached()
    _type_in_mine(notebook)
    keys = "x" * 5
    for gate in gates:
        gate.reached()
        tab.page.keyboard.type(keys)
        gate.open()
    notebook.until_ended()
    tab.page.keyboard.type(keys)
    assert source(_mine(notebook)).count("x") == 20
    assert notebook.do("() => [notebook.mode, notebook.activeCell.model.id]") == ["edit", _mine(notebook)["id"]]

    # The next run takes the place of this one; one undo brings this one back in its place.
    before = {c["id"] for c in ours(notebook.cells())}
    notebook.run(1)
    _type_in_mine(notebook)
    tab.page.keyboard.type(keys)
    notebook.until(lambda cells: not before & {c["id"] for c in ours(cells)} and ours(cells), "the next run")
    tab.page.keyboard.type(keys)
    notebook.until_ended()
    assert source(_mine(notebook)).count("x") == 30
    notebook.command("notebook:undo-cell-action")
    notebook.until(lambda now: {c["id"] for c in ours(now)} == before, "the cells of the run before, alone")
    tried = candidates(notebook.cells())["1.1"]["id"]
    try:
        tab.until(lambda: _hidden(notebook, tried), "what was tried to be hidden again")
    except AssertionError as error:
        raise AssertionError(f"{error}: {_headings(notebook)}") from None


@pytest.mark.full
def test_cells_below_a_collapsed_heading_are_not_lost(tab, server, play):
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script, more=("mine = ''",))
    gate.reached()
    cells = notebook.until(lambda cells: len(of_role(cells, "subtask")) == 2, "the last cell before the gate")
    subtask = of_role(cells, "subtask")[-1]["id"]
    _collapse(notebook, of_role(cells, "tries")[0])
    tab.until(lambda: _hidden(notebook, subtask), "what was tried to be hidden")
    assert not _hidden(notebook, _mine(notebook)["id"])
    gate.open()
    cells = notebook.until_ended()
    assert not _hidden(notebook, _mine(notebook)["id"]) and not _hidden(notebook, of_role(cells, "solution")[0]["id"])

    _collapse(notebook, of_role(cells, "outcome")[0])
    tab.until(lambda: _hidden(notebook, _mine(notebook)["id"]), "the user's cell to be hidden")
    notebook.command("exploracoder:remove", keepSolution=False)
    notebook.until(lambda cells: not ours(cells))
    assert not _hidden(notebook, _mine(notebook)["id"])
    tab.page.keyboard.press("z")
    notebook.until(ours, "the cells to be back")


def _mine(notebook):
    """The user's own cell."""
    return next(c for c in notebook.cells() if "mine" in source(c))


def _type_in_mine(notebook):
    notebook.do("""() => {
      notebook.activeCellIndex = notebook.widgets.findIndex(w => w.model.sharedModel.getSource().includes('mine'));
      notebook.mode = 'edit';
    }""")
    notebook.tab.until(lambda: notebook.do("() => notebook.activeCell.editor.hasFocus()"), "the focus")


def _collapse(notebook, heading):
    """Fold a heading, as the arrow beside it does."""
    notebook.select(notebook.index(heading["id"]))
    notebook.tab.until(lambda: notebook.do("() => notebook.activeCell.headingInfo.level > 0"), "the heading")
    notebook.do("() => { notebook.activeCell.headingCollapsed = true }")


def _headings(notebook):
    """The level of each heading, and whether it is collapsed: as the file has it, and as the view shows it."""
    return notebook.do("""() => notebook.widgets.filter(w => w.model.type === 'markdown').map(w =>
      [w.model.id, w.headingInfo.level, w.model.getMetadata('jp-MarkdownHeadingCollapsed'), w.headingCollapsed])""")


def _hidden(notebook, id):
    return notebook.do("id => notebook.widgets.find(w => w.model.id === id).isHidden", id)
