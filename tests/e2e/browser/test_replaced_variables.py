"""Running a solution that would replace the user's data: what is asked, what is said, and what becomes of the data."""

import pytest

from tests.e2e.browser.accessibility import violations_by_theme
from tests.e2e.browser.lab import of_role, text
from tests.e2e.browser.stories import cell, two_scenes
from tests.e2e.browser.test_card import Card

DATA = """import pandas as pd
sales = pd.DataFrame({"region": ["north", "south", "west"], "amount": [120.0, 80.5, 99.9]})
total, seen = 1, [2]"""
SOLUTION = """import pandas as pd

sales = pd.DataFrame({"region": ["a", "b"], "amount": [1.0, 2.0]})
total = sales["amount"].sum()
seen = ["a", "b"]
print("rows", len(sales))"""
TASK = """from dataclasses import replace
from exploracoder_jupyter.core.types import UserVariable
from exploracoder_jupyter.ipython_extension.magics import ExploraMagics
_run = get_ipython().magics_manager.registry["ExploraMagics"].commands.runs.all[-1]
_variables = (UserVariable("sales", given=True), UserVariable("total"))
_run.state = replace(_run.state, task=replace(_run.state.task, variables=_variables))"""
"""What the engine notes of the variables that a task names; the scripted task names none."""
_EVALUATE = """async ([code, expression]) => {
  const content = {code, silent: true, user_expressions: expression ? {value: expression} : {}};
  const reply = (await kernel.requestExecute(content).done).content;
  return reply.status === 'ok' ? reply.user_expressions?.value?.data?.['text/plain'] : reply.ename;
}"""


class Story:
    """A notebook whose exploration has ended: the cells load, make data, explore, hold the solution, and go on."""

    def __init__(self, tab, server, script, name):
        self.tab = tab
        more = ("print('after', len(sales))",)
        self.notebook = tab.open(server.write(name, DATA, cell(script), *more))
        self.notebook.run_and_wait(0)
        self.notebook.run_and_wait(1)
        self.notebook.run(2)
        self.notebook.until_ended()
        assert not self.do(TASK)
        self.dialog = tab.page.locator(".jp-Dialog")

    def do(self, code, expression=""):
        return self.notebook.do(_EVALUATE, [code, expression])

    def frame(self):
        """A hash of the user's data."""
        return self.do("", "int(pd.util.hash_pandas_object(sales).sum())")

    def solution(self):
        (found,) = of_role(self.notebook.cells(), "solution")
        return found

    def run_solution(self):
        self.notebook.run(self.notebook.index(self.solution()["id"]))

    def press(self, button):
        self.dialog.get_by_role("button", name=button, exact=True).click()
        self.dialog.wait_for(state="detached")


@pytest.fixture
def story(tab, server, play, request):
    script = play(*two_scenes(), solution=SOLUTION)
    return Story(tab, server, script, f"{request.node.name}.ipynb")


def test_given_data_is_replaced_only_with_consent(story, tab):
    before, page = story.frame(), tab.page
    here = Card(story.notebook).button("Run here")
    here.click()
    story.dialog.get_by_text("sales").first.wait_for()  # the dialog is there before its text
    tab.until(lambda: page.evaluate("document.activeElement.textContent") == "Cancel", "the focus")
    shown = story.dialog.inner_text()
    assert "sales" in shown and "3 rows x 2 columns" in shown and "seen" in shown and "total" not in shown
    assert not violations_by_theme(tab, ".jp-Dialog", "replace")
    page.keyboard.press("Enter")
    story.dialog.wait_for(state="detached")
    assert story.frame() == before and not story.solution()["execution_count"]

    story.notebook.select(0)
    tab.command("notebook:run-all-cells")
    story.dialog.wait_for()
    tab.until(lambda: "not run either" in story.dialog.inner_text(), "the question")
    tab.until(lambda: page.evaluate("document.activeElement.textContent") == "Cancel", "the focus")
    assert len(tab.dialogs()) == 1
    tab.shot("replace-run-all")
    page.keyboard.press("Escape")
    story.dialog.wait_for(state="detached")
    after = story.notebook.cells()[-1]
    assert story.frame() == before and not story.solution()["execution_count"] and not after["execution_count"]

    # A kernel that is running a cell answers, too.
    last = len(story.notebook.cells()) - 1
    story.notebook.edit(last, "import time\ntime.sleep(3600)")
    story.notebook.run(last)
    tab.until(lambda: story.notebook.do("() => kernel.status === 'busy'"), "the running cell")
    here.click()
    story.dialog.wait_for()
    story.press("Cancel")
    story.notebook.do("async () => { await kernel.interrupt() }")
    story.notebook.until(lambda cells: "KeyboardInterrupt" in str(cells[last]["outputs"]))
    tab.until(lambda: story.frame() == before, "the data")  # what is asked meanwhile, the interrupted kernel skips

    story.run_solution()
    story.dialog.wait_for()
    story.press("Replace")
    story.notebook.until(lambda _: text(story.solution()) == "rows 2\n")
    assert story.frame() != before

    # What the solution made is not the user's, until the user makes it anew.
    tab.page.evaluate("jupyterapp.commands.execute('notebook:run-cell')")
    assert not story.dialog.count()
    story.notebook.run_and_wait(1)
    here.click()
    story.dialog.wait_for()
    story.press("Cancel")
    assert story.frame() == before


def test_other_variables_are_replaced_with_a_notice(story, tab):
    story.do("del sales")
    story.run_solution()
    toast = tab.page.get_by_text("The solution replaces your variable seen (list of 1 int).")
    toast.wait_for()
    tab.page.wait_for_function("() => !document.querySelector('.Toastify--animate')")
    tab.shot("replace-notice")
    story.notebook.until(lambda _: text(story.solution()) == "rows 2\n")
    assert not story.dialog.count()


def test_a_restarted_kernel_runs_a_solution_without_question(story):
    story.notebook.do("async () => { await kernel.restart() }")
    story.do("sales = 1")
    story.run_solution()
    story.notebook.until(lambda _: text(story.solution()) == "rows 2\n")
    assert not story.dialog.count()
