"""The result card below the calling cell: while the run goes on, when it has ended, by keyboard, in all themes."""

import re

import pytest

from tests.e2e.browser.accessibility import CARD, violations_by_theme
from tests.e2e.browser.board import Board
from tests.e2e.browser.lab import WIDE, candidates, metadata, of_role, ours, source, text
from tests.e2e.browser.play import Scene
from tests.e2e.browser.stories import SECOND, cell, start_run, two_scenes

SOLUTION = "import statistics\n\nmiddle = statistics.median([3, 1, 2])\nprint('the middle is', middle)"
FAILING = Scene("Fail.", ["import math\nmath.sqrt('four')", "raise KeyError('x')"], mended="raise KeyError('y')")


class Card:
    """The card of a notebook's calling cell, and its buttons."""

    def __init__(self, notebook):
        self._page = notebook.page
        self.root = notebook.page.locator(".jp-Explora-panel")
        self.bar = notebook.page.get_by_role("group", name="Actions for this result")

    def button(self, name):
        return self.bar.get_by_role("button", name=name, exact=True)

    def choose(self, name):
        """Choose an action of the menu by keyboard."""
        self.button("More").focus()
        self._page.keyboard.press("Enter")
        self._page.get_by_role("menuitem", name=name, exact=True).wait_for()
        self._page.keyboard.press(name[0])
        self._page.keyboard.press("Enter")
        self._page.get_by_role("menuitem", name=name, exact=True).wait_for(state="detached")

    def buttons(self):
        return self.bar.get_by_role("button").all_inner_texts()

    def is_in_view(self):
        box, height = self.root.bounding_box(), self._page.viewport_size["height"]
        return box is not None and 0 <= box["y"] < height


def hidden(notebook):
    """The ids of the cells that are below a collapsed heading."""
    return set(notebook.do("() => notebook.widgets.filter(w => w.isHidden).map(w => w.model.id)"))


def tried(cells):
    """The ids of the cells below the heading of what was tried."""
    roles = ("tries", "outcome", "solution")
    return {cell["id"] for cell in ours(cells) if metadata(cell)["role"] not in roles}


def test_axe_finds_nothing_serious_in_any_card(tab, server, play):
    script = play(*two_scenes(), solution=SOLUTION)
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script)
    card = Card(notebook)
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})))
    # Both candidates run at once: which one ends last, and is shown, is chance.
    tab.until(lambda: re.search(r"Subtask 2.*1\.[12] ran", card.root.inner_text(), re.DOTALL), "the latest output")
    assert card.buttons() == ["Stop"]
    found = violations_by_theme(tab, CARD, "card-running")
    gate.open()
    notebook.until_ended()
    tab.until(card.button("Run here").is_visible, "the buttons of the result")
    found |= violations_by_theme(tab, CARD, "card-ended")
    notebook.expand_all()
    found |= violations_by_theme(tab, CARD, "card-expanded")
    assert not found


def test_the_view_ends_at_card_heading_and_solution(tab, server, play):
    script = play(FAILING, *two_scenes(), solution=SOLUTION)
    notebook = start_run(tab, server, script, more=("mine = 1",))
    cells = notebook.until_ended()
    card = Card(notebook)
    tab.until(card.button("Run here").is_visible, "the buttons of the result")
    assert [name.strip(" ▾") for name in card.buttons()] == ["Run here", "Follow up…", "More"]

    (tries,), (solution,) = of_role(cells, "tries"), of_role(cells, "solution")
    below = cells[cells.index(tries) + 1 : cells.index(of_role(cells, "outcome")[0])]
    tab.until(lambda: hidden(notebook) == {c["id"] for c in below}, "the collapse of what was tried")
    failed = [c for c in below if metadata(c).get("status") == "error"]
    assert failed and f"{len(failed)} failed" in source(tries)
    tab.until(card.is_in_view, "the card")
    shown = card.root.inner_text()
    assert "Unchecked" in shown and "the middle is 2" in shown and "print(" not in shown
    tab.shot("card-solved")
    assert "Exploring" not in shown and "tokens" in shown

    # The notebook remembers what the user opens.
    assert not tab.page.get_by_role("button", name=f"{len(below)} cells hidden").is_visible()
    tab.page.get_by_role("button", name=source(tries).strip("# ")).click()
    tab.until(lambda: not hidden(notebook), "the cells")
    folded = tab.page.get_by_role("group", name="Candidate 2.2").get_by_role("button", expanded=False)
    tab.until(lambda: "middle = 20" in folded.locator("..").inner_text(), "the first line of a folded cell")
    folded.click()
    tab.page.get_by_role("group", name="Candidate 2.2").get_by_role("button", expanded=True).wait_for()
    notebook.save()
    tab.reload()
    notebook = tab.open(notebook.path)
    tab.page.get_by_role("group", name="Candidate 2.2").get_by_role("button", expanded=True).wait_for()
    assert not hidden(notebook) and len(notebook.cells()) == len(cells)
    assert source(solution) in {source(c) for c in notebook.cells()}


def test_a_stored_table_scrolls_at_any_width(tab, server, play):
    program = "import pandas as pd\nbest = pd.DataFrame({f'column {n}': ['some long text'] * 3 for n in range(9)})"
    script = play(*two_scenes(), solution=f"{program}\nlength = len(best)")
    task = "Store the best rows in `best`, and how many they are in `length`."
    notebook = tab.open(server.write("stored.ipynb", cell(script, task=task)))
    notebook.run_and_wait(0)
    notebook.run(1)
    notebook.until_ended()
    card = Card(notebook)
    tab.until(card.button("Run here").is_visible, "the buttons of the result")
    assert "length = 3" in card.root.inner_text() and "best: 3 rows x 9 columns" in card.root.inner_text()
    table = card.root.get_by_role("region", name="First rows of best")
    found = violations_by_theme(tab, CARD, "card-stored")
    tab.page.set_viewport_size({"width": 900, "height": 900})
    tab.until(lambda: table.evaluate("node => node.scrollWidth > node.clientWidth"), "the table to scroll")
    tab.shot("card-stored-900")
    tab.page.set_viewport_size(WIDE)
    assert not found


def test_the_buttons_work_with_the_keyboard(tab, server, play):
    script = play(*two_scenes(), solution=SOLUTION)
    notebook = start_run(tab, server, script, "--review")
    card = Card(notebook)
    tab.until(card.button("Begin").is_visible, "the plan to wait")
    tab.shot("card-review")
    card.button("Begin").focus()
    tab.page.keyboard.press("Enter")
    notebook.until_ended()
    here = card.button("Run here")
    here.wait_for()
    here.focus()
    tab.page.keyboard.press("Tab")
    assert card.button("Follow up…").evaluate("element => element === document.activeElement")
    tab.page.keyboard.press("Shift+Tab")
    tab.page.keyboard.press("Enter")
    notebook.until(lambda cells: "the middle is 2" in text(of_role(cells, "solution")[0]), "the solution to be run")

    card.choose("Compare")
    Board(tab).column("2.1").wait_for()

    notebook.select(0)
    card.choose("Remove")
    tab.page.get_by_role("button", name="Remove", exact=True).last.click()
    notebook.until(lambda cells: not ours(cells))
    tab.until(lambda: card.button("Run here").is_visible(), "the buttons of the result that is kept")


def test_a_run_without_a_solution_says_why(tab, server, play):
    script = play(FAILING, solution="raise KeyError('z')")
    notebook = start_run(tab, server, script, "--debug-rounds", "0", more=("mine = 1",))
    cells = notebook.until_ended()
    card = Card(notebook)
    tab.until(lambda: "Unsolved" in card.root.inner_text(), "the end")
    assert "Run here" not in card.buttons() and card.button("More").is_visible()
    tab.until(lambda: hidden(notebook) == tried(cells), "the collapse of what was tried, and of nothing else")
    tab.page.get_by_role("group", name="No solution").wait_for()
    tab.shot("card-unsolved")


@pytest.mark.full
def test_cells_are_collapsed_at_once_or_absent(tab, server, play):
    script = play(*two_scenes(), solution=SOLUTION)
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script, "--cells collapsed", more=("mine = 1",))
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})))
    tab.until(lambda: hidden(notebook) == tried(notebook.cells()), "only the headings")
    tab.shot("card-collapsed")
    gate.open()
    notebook.until_ended()

    script = play(*two_scenes(), solution=SOLUTION)
    notebook = start_run(tab, server, script, "--cells card", name="card.ipynb", more=("mine = 1",))
    card = Card(notebook)
    card.button("Insert solution").wait_for()
    tab.shot("card-alone")
    assert not ours(notebook.cells())
    card.button("Run here").click()
    cells = notebook.until(lambda cells: len(cells) == 4 and "the middle is 2" in text(cells[2]), "the solution")
    assert source(cells[2]) == SOLUTION
