"""Candidates side by side: with the keyboard alone, for people who see it in any theme or hear it, and when there are
many."""

import pytest

from tests.e2e.browser.accessibility import BOARD, violations_by_theme
from tests.e2e.browser.board import Board
from tests.e2e.browser.lab import candidates, ended, metadata, source, text
from tests.e2e.browser.play import Scene
from tests.e2e.browser.stories import SECOND

FIRST = "Show the numbers with their median."
TABLE = """import statistics
from IPython.display import HTML
middle = statistics.median([3, 1, 2])
HTML(f"<table><tr><th>median</th></tr><tr><td>{middle}</td></tr></table>")"""
SAME = "numbers = [3, 1, 2]\nmiddle = {how}\nprint('the median is', middle, 'of', [1.5, 2.5, 3.5])"
SNIPPETS = [
    SAME.format(how="sorted(numbers)[1]"),
    TABLE,
    SAME.format(how="sorted(numbers)[len(numbers) // 2]"),
    "import statistics\nnumbers = [3, 1, 2]\nmiddle = statistics.median(number)",
]


def scenes(snippets=SNIPPETS):
    return Scene(FIRST, snippets), Scene(SECOND, ["print('spread around', middle)"])


def start_run(tab, server, play, *options, count=4):
    words = ["%%explora statistics --candidates", str(count), "--model", play.name, "--base-url", play.url, *options]
    name = f"{play.name}.ipynb"  # the play has the name of the test, so no notebook is that of another one
    notebook = tab.open(server.write(name, " ".join(words) + "\nThe median of 3, 1, 2, and their spread."))
    notebook.run_and_wait(0)
    notebook.run(1)
    return notebook


def opened(tab):
    """Open the board of the first subtask from the sidebar with the keyboard."""
    tab.sidebar.open()
    tab.sidebar.subtask(FIRST).focus()
    tab.page.keyboard.press("Home")
    for _ in range(12):
        tab.page.keyboard.press("Tab")
        if tab.page.evaluate("document.activeElement.textContent") == "Compare":
            break
    tab.page.keyboard.press("Enter")
    board = Board(tab)
    board.root.wait_for()
    return board


def test_a_candidate_is_found_edited_run_and_used_with_the_keyboard_alone(tab, server, play):
    script = play(*scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script)
    gate.reached()
    notebook.until(lambda cells: any(metadata(one).get("selected") for one in candidates(cells).values()))
    [selected] = [id for id, one in candidates(notebook.cells()).items() if metadata(one).get("selected")]
    board = opened(tab)
    board.until_focused(selected)
    board.root.get_by_text("Same result: 2 candidates").wait_for()
    assert board.order()[:2] == ["1.1", "1.3"]

    board.press("Home")
    board.until_focused("1.1")
    board.press("ArrowRight", "ArrowRight")
    board.until_focused("1.2")
    board.press("e")
    tab.page.keyboard.press("Control+a")
    tab.page.keyboard.insert_text("middle = 50\nprint('mine', middle)")
    board.press("Shift+Enter")
    board.until_focused("1.5")
    tab.until(lambda: "mine 50" in board.text("1.5"), "the output of the edited candidate")
    assert "your edit of 1.2" in board.text("1.5")
    assert source(candidates(notebook.cells())["1.2"]) == f"%%explored 1.2\n{TABLE}"

    board.column("1.5").get_by_role("button", name="Use this one").wait_for()  # it can be used after it has ended
    board.press("u")
    notebook.until(lambda cells: metadata(candidates(cells)["1.5"]).get("selected"), "the edited candidate")
    tab.until(lambda: "carried forward" in board.text("1.5"), "the board to say so")
    board.until_focused("1.5")
    gate.open()
    ended = notebook.until_ended()
    assert any("spread around 50" in text(one) for one in candidates(ended).values())


@pytest.mark.full
def test_a_board_is_accessible_in_each_theme_and_follows_an_edit_after_the_end(tab, server, play):
    script = play(*scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script)
    gate.reached()
    notebook.until(lambda cells: any(metadata(one).get("selected") for one in candidates(cells).values()))
    board = opened(tab)
    board.column("1.2").locator("table").wait_for()
    found = violations_by_theme(tab, BOARD, "board")
    board.column("1.2").get_by_role("button", name="Edit and run…").click()
    found |= violations_by_theme(tab, BOARD, "board-editing", ("light", "dark"))
    assert not found
    gate.open()
    (run,) = {metadata(one)["run_id"] for one in candidates(notebook.until_ended()).values()}
    tab.until(lambda: "The run has ended" in board.root.inner_text(), "the board to say that the run has ended")
    tab.shot("board-ended")

    board.column("1.1").get_by_role("button", name="Edit and run…").click()
    tab.page.keyboard.press("Control+a")
    tab.page.keyboard.insert_text("middle = 70\nprint('after the end', middle)")
    board.column("1.1").get_by_role("button", name="Run and explore again").click()
    cells = notebook.until(
        lambda cells: ended(cells) and run not in {metadata(one).get("run_id") for one in cells},
        "a run that goes on from the edit",
    )
    assert any("spread around 70" in text(one) for one in candidates(cells).values())
    tab.until(lambda: "after the end 70" in board.root.inner_text(), "the board to follow")


@pytest.mark.full
def test_the_keys_reach_each_of_twenty_candidates(tab, server, play):
    snippets = [f"rows = [{n}] * 3\nprint('candidate', {n}, rows)" for n in range(20)]
    script = play(*scenes(snippets))
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script, count=20)
    gate.reached()
    notebook.until(lambda cells: any(metadata(one).get("selected") for one in candidates(cells).values()))
    board = opened(tab)
    board.press("Home")
    board.until_focused("1.1")
    for _ in range(19):
        board.press("ArrowRight")
    board.until_focused(board.order()[-1])
    tab.until(lambda: "candidate 19" in board.text("1.20"), "the last output")
    tab.shot("board-twenty")
    gate.open()
    notebook.until_ended()
