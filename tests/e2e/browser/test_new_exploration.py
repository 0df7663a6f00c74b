"""Beginning an exploration: from the sidebar's form, by the keyboard, from a failed cell, a selection, a follow-up."""

import tomllib

import pytest

from tests.e2e.browser.accessibility import SIDEBAR, serious_violations, violations_by_theme
from tests.e2e.browser.lab import metadata, of_role, source
from tests.e2e.browser.play import Scene
from tests.e2e.browser.stories import start_run, two_scenes
from tests.unit.trace.views import whole_text

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
    tab.open_palette().fill("New Exploration")
    keys.press("Enter")
    library = tab.sidebar.root.get_by_role("combobox", name="Library")
    tab.until(lambda: library.evaluate("element => element === document.activeElement"), "the focus")
    keys.type("stati")
    tab.sidebar.root.get_by_role("option", name="statistics").wait_for()
    tab.shot("entry-form")
    keys.press("ArrowDown")
    keys.press("Enter")
    tab.until(lambda: library.input_value() == "statistics", "the chosen library")
    keys.press("Tab")
    keys.type(TASK)
    keys.press("Tab")
    keys.type("assert middle == 3")
    keys.press("Enter")
    keys.type("assert 'a' != \"\\n\"")
    keys.press("Control+Enter")
    cells = notebook.until_ended()
    assert statuses(cells) == ["solved"]
    assert source(cells[0]) == LOAD
    assert notebook.do("() => notebook.activeCell.model.sharedModel.getSource()") == source(cells[1])
    tab.sidebar.button("New exploration").wait_for()


def suggests(tab, root):
    """Type the beginning of a library's name; whether it is suggested. A theme that arrives late takes the focus."""
    library = root.get_by_role("combobox", name="Library")
    library.fill("")
    library.fill("stat")
    tab.page.wait_for_timeout(500)
    return root.get_by_role("option", name="statistics").is_visible()


@pytest.mark.full
def test_nothing_serious_is_found_by_axe_in_the_form(tab, server):
    empty(tab, server, "axe.ipynb")
    root = tab.sidebar.open().root
    root.get_by_role("button", name="Explore", exact=True).click()
    root.get_by_text("Describe the task in words.").wait_for()

    def ready():
        tab.until(lambda: suggests(tab, root), "the suggested libraries")

    assert not violations_by_theme(tab, SIDEBAR, "entry", ("light", "dark"), ready)


FAILS = "import statistics\nmiddle = statistics.midle([7, 1, 3])"
CORRECT = "import statistics\nmiddle = statistics.median([7, 1, 3])"


@pytest.fixture
def configured(server, play):
    """A model in the user's configuration that corrects the failing cell."""
    script = play(solution=CORRECT, name="corrector")
    script.scenes.append(Scene("Take the median.", [CORRECT]))
    path = server.home / ".config" / "exploracoder_jupyter" / "config.toml"
    before = path.read_text()
    path.write_text(f'{before}[endpoint]\nmodel = "{script.name}"\nbase_url = "{script.url}"\n')
    yield script
    path.write_text(before)


def test_an_error_is_explored_and_the_failed_cell_replaced(tab, server, configured):
    notebook = tab.open(server.write("error.ipynb", FAILS))
    notebook.run_and_wait(0)
    toolbar = tab.page.locator(".jp-cell-toolbar").get_by_role("button", name="Explore how to correct this cell")
    notebook.select(1)
    assert not toolbar.is_visible()
    notebook.run_and_wait(1)
    tab.page.locator(".jp-Notebook .jp-CodeCell").nth(1).click(button="right")
    tab.page.locator(".lm-Menu").get_by_text("Explore This Error").wait_for()
    tab.page.keyboard.press("Escape")
    notebook.select(1)
    toolbar.wait_for()
    tab.shot("entry-error")
    toolbar.click()
    cells = notebook.until_ended()
    assert source(cells[2]).startswith("%%explora statistics\n") and "midle" in source(cells[2])
    root = tab.sidebar.open().root
    root.get_by_role("button", name="Replace the failed cell").wait_for()
    tab.shot("entry-error-fix")
    assert not serious_violations(tab.page, SIDEBAR)
    root.get_by_role("button", name="Replace the failed cell").click()
    notebook.until(lambda cells: source(cells[1]) == CORRECT, "the corrected cell")


def test_a_comment_is_explored(tab, server):
    notebook = tab.open(server.write("comment.ipynb", "import statistics\n# Take the median\n# of [7, 1, 3].\n"))
    notebook.select(1)
    notebook.do("() => { notebook.activeCell.editor.setCursorPosition({line: 2, column: 3}) }")
    notebook.command("exploracoder:explore-selection")
    root = tab.sidebar.root
    task = root.get_by_label("Task", exact=True)
    task.wait_for()
    tab.until(lambda: task.input_value() == "Take the median\nof [7, 1, 3].", "the task")
    library = root.get_by_role("combobox", name="Library")
    tab.until(lambda: library.input_value() == "statistics", "the library")


def test_a_kernel_without_the_extension_is_offered_to_load_it(tab, server):
    notebook = tab.open(server.write("not-loaded.ipynb"))
    notebook.edit(0, f"%%explora statistics\n{TASK}")
    notebook.run(0)
    tab.page.get_by_role("button", name="Load it and run the cell again").click()
    cells = notebook.until_ended()
    assert source(cells[0]) == LOAD


def statuses(cells):
    """How the runs of a notebook ended, from first to last."""
    return [metadata(cell)["status"] for cell in of_role(cells, "outcome")]


def test_a_follow_up_starts_from_the_state_after_the_solution(tab, server, play):
    first = play(*two_scenes(), solution="middle = 20")
    notebook = start_run(tab, server, first, name="follow-up.ipynb")
    notebook.until_ended()
    tab.sidebar.open().button("Follow up…").click()
    root = tab.sidebar.root
    tab.until(lambda: "middle = 20" in root.get_by_label("Starts from").input_value(), "the setup")
    root.get_by_label("Task", exact=True).fill("Double it as `twice`.")
    tab.shot("entry-follow-up")
    then = play(Scene("Double it.", ["twice = middle * 2\nprint(twice)"]), solution="twice = middle * 2", name="then")
    root.get_by_role("combobox", name="Model", exact=True).fill(then.name)
    path = server.home / ".config" / "exploracoder_jupyter" / "config.toml"
    before = path.read_text()
    path.write_text(f'{before}[endpoint]\nbase_url = "{then.url}"\n')
    try:
        root.get_by_role("button", name="Explore", exact=True).click()
        notebook.until(lambda cells: len(statuses(cells)) == 2 and "running" not in statuses(cells), "both ends")
    finally:
        path.write_text(before)
    assert statuses(notebook.cells()) == ["unchecked", "unchecked"]


KEY = "sk-very-secret-0123456789"


@pytest.fixture
def config(server):
    """The path of the user's configuration; it is restored."""
    path = server.home / ".config" / "exploracoder_jupyter" / "config.toml"
    before = path.read_text()
    yield path
    path.write_text(before)


def test_a_model_is_tried_and_configured_and_the_key_is_only_in_the_file(tab, server, play, config):
    script = play(name="configured-here")
    notebook = tab.open(server.write("settings.ipynb"))
    tab.sidebar.open().button("Settings").click()
    tab.sidebar.button("Load the extension").click()
    root = tab.sidebar.root
    root.get_by_label("Address").fill(script.url)
    root.get_by_role("combobox", name="Model", exact=True).fill(script.name)
    root.get_by_label("Key", exact=True).fill(KEY)
    tab.sidebar.button("Test").click()
    root.get_by_text(f"{script.name} answered in").wait_for()
    root.get_by_label("Budget in tokens").fill("many")
    tab.sidebar.button("Save").click()
    root.get_by_text("Enter a whole number.").wait_for()
    found = violations_by_theme(tab, SIDEBAR, "entry-settings", ("light", "dark"))
    root.get_by_label("Budget in tokens").fill("5000")
    tab.sidebar.button("Save").click()
    root.get_by_text("Saved in").wait_for()
    written = tomllib.loads(config.read_text())
    assert written["endpoint"] == {"base_url": script.url, "model": script.name}
    assert (written["api_key"], written["budget"]) == (KEY, {"tokens": 5000})
    notebook.save()
    stored = tab.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}]) + document.body.outerHTML")
    kept = [*server.root.rglob("*.ipynb"), *(server.root.parent / "workspaces").rglob("*")]
    assert not any(KEY in whole_text(path) for path in kept if path.is_file())
    assert KEY not in stored and not found
