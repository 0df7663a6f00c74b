"""The sidebar for those who come new, use the keyboard, or hear the page; and what it looks like."""

import pytest

from tests.e2e.browser.accessibility import SIDEBAR, serious_violations, violations_by_theme
from tests.e2e.browser.lab import candidates, metadata, of_role, ours, source
from tests.e2e.browser.stories import FIRST, SECOND, start_run, two_scenes

TASK = "The median of 3, 1, 2 as `middle`, and how far they are spread as `spread`."
CHECK = "assert middle == 2 and spread == 1"
SOLUTION = (
    "import statistics\n\nnumbers = [3, 1, 2]\n"
    "middle, spread = statistics.median(numbers), statistics.stdev(numbers)\nprint('middle', middle, 'spread', spread)"
)


def test_a_newcomer_explores_from_the_empty_state(tab, server):
    notebook = tab.open(server.write("newcomer.ipynb"))
    notebook.do("() => { model.sharedModel.deleteCellRange(0, model.sharedModel.cells.length) }")
    tab.sidebar.open()
    tab.shot("empty")
    assert not serious_violations(tab.page, SIDEBAR)
    tab.sidebar.button("Insert an example").click()
    cells = notebook.until(lambda cells: any("%%explora" in "".join(c["source"]) for c in cells))
    for _ in range(len(cells)):
        tab.page.keyboard.press("Shift+Enter")
    cells = notebook.until_ended()
    assert metadata(of_role(cells, "outcome")[0])["status"] == "solved"
    tab.shot("newcomer")
    tab.sidebar.remove()
    notebook.until(lambda cells: not ours(cells))


@pytest.fixture
def configured(server, play):
    """A play that the user's configuration names, so that a cell looks as a user would write it."""
    script = play(*two_scenes(), solution=SOLUTION, name="qwen3-coder")
    path = server.home / ".config" / "exploracoder_jupyter" / "config.toml"
    before = path.read_text()  # ends in the table [exploration]
    endpoint = f'model = "{script.name}"\nbase_url = "{script.url}"'
    path.write_text(f"{before}candidates = 2\n[endpoint]\n{endpoint}\n")
    yield script
    path.write_text(before)


def test_axe_finds_nothing_serious_in_the_sidebar(tab, server, configured):
    script = configured
    gate, end = script.hold("propose", SECOND), script.hold("solve")
    notebook = tab.open(server.write("pictures.ipynb", f"%%explora statistics --check '{CHECK}'\n{TASK}"))
    notebook.run_and_wait(0)
    notebook.run(1)
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})))
    rendered = tab.page.locator(".jp-MarkdownOutput")
    rendered.filter(has_text="(exploring)").wait_for()
    tab.sidebar.open()
    found = violations_by_theme(tab, SIDEBAR, "running")
    gate.open()
    end.reached()
    end.open()
    (tries,) = of_role(notebook.until_ended(), "tries")
    tab.page.get_by_role("button", name=source(tries).strip("# ")).wait_for()
    found |= violations_by_theme(tab, SIDEBAR, "ended")
    tab.page.set_viewport_size({"width": 760, "height": 900})
    tab.shot("narrow")
    assert not found


def test_a_run_is_stopped_and_walked_by_keyboard(tab, server, play):
    script = play(*two_scenes())
    gate = script.hold("propose", SECOND)
    notebook = start_run(tab, server, script)
    gate.reached()
    notebook.until(lambda cells: "selected" in metadata(candidates(cells).get("1.2", {})))
    tab.open_palette().fill("Show Exploration Sidebar")
    tab.page.keyboard.press("Enter")
    stop = tab.sidebar.button("Stop")
    stop.wait_for()
    tab.until(lambda: _tabbed_to(tab, stop), "the stop button to be reached by Tab")
    tab.page.keyboard.press("Enter")
    cells = notebook.until_ended(10)
    assert metadata(of_role(cells, "plan")[0])["status"] == "stopped"

    tab.sidebar.subtask(FIRST).focus()
    for key in ("ArrowRight", "End", "Home", "Enter"):
        tab.page.keyboard.press(key)
    heading = of_role(cells, "subtask")[0]["id"]
    tab.until(lambda: notebook.do("() => notebook.activeCell.model.id") == heading, "the heading's cell")


def _tabbed_to(tab, button):
    tab.page.keyboard.press("Tab")
    return button.evaluate("element => element === document.activeElement")
