"""Which of the user's variables a solution would replace: what a page, the card and a cell are told."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from jsonschema import validate

from exploracoder_jupyter.core.events import RunFinished
from exploracoder_jupyter.core.types import Solution, Task, Usage, UserVariable, Verdict
from exploracoder_jupyter.ipython_extension.browser.browser_controls import Controls
from exploracoder_jupyter.ipython_extension.result_card.card_display import LineDisplay, NotebookDisplay
from exploracoder_jupyter.ipython_extension.user_variables import ReplacedVariables
from exploracoder_jupyter.trace.file import render
from exploracoder_jupyter.trace.metadata import schema
from tests.patience import wait_until
from tests.unit.factories import complete_events, recorded, started, state_after

CODE = "import pandas as pd\nsales = pd.DataFrame({'a': [1]})\ntotal = 1\nhelp_me = 2"
TASK = Task("From `sales`, ...", (), variables=(UserVariable("sales", given=True), UserVariable("total")))


def state_of(code=CODE, task=TASK):
    """The state of a run that ended with this solution."""
    end = RunFinished(Verdict("solved", ""), Solution(code, "s1"), Usage())
    return state_after(started(task=task), end)


class Notebook:
    """A shell whose kernel has one run, and the page that asks it."""

    def __init__(self, shell):
        self.shell = shell
        shell.kernel = SimpleNamespace()
        self.controls = Controls(None, folder=lambda: None)
        self.variables = self.controls.variables = ReplacedVariables(shell, self.controls.runs)

    def solved(self, code=CODE, task=TASK):
        state = state_of(code, task)
        live = SimpleNamespace(context=SimpleNamespace(key="k"))
        self.controls.runs.all.append(SimpleNamespace(live=live, state=state))

    def ask(self, code=CODE, *, run="k", cell="explora-1", **more):
        answers = []
        message = {"type": "find_replaced", "request": 7, "run": run, "cell": cell, "code": code, **more}
        self.controls.handle(message, answers.append)
        wait_until(lambda: answers, 10)
        assert (answers[0]["type"], answers[0]["request"]) == ("replaced", 7)
        return [(one["name"], one["given"]) for one in answers[0]["variables"]]

    def run(self, code, *, cell="other", **mark):
        metadata = {"cellId": cell, "exploracoder_jupyter": mark}
        self.shell.get_parent = lambda: {"metadata": metadata}
        return self.shell.run_cell(code)


@pytest.fixture
def notebook(shell):
    notebook = Notebook(shell)
    yield notebook
    notebook.variables.release()


def test_a_page_learns_what_a_solution_would_replace(notebook):
    notebook.solved()
    assert notebook.ask() == []
    notebook.run("import pandas as pd\nsales = pd.DataFrame({'a': [1, 2], 'b': 3})\ntotal, help_me, kept = 1, [2], 3")
    assert notebook.ask() == [("sales", True), ("help_me", False)]
    assert notebook.ask(run="unknown", given=["sales"]) == [("sales", True), ("help_me", False), ("total", False)]
    assert notebook.ask("print(sales)") == []


@pytest.mark.parametrize(
    ("code", "asked"),
    [
        ("%time sales = 1", False),
        ("%%time\nsales = 1", True),
        ("%matplotlib inline\nsales = 1", True),
        ("!true\nsales = await f()", True),
        ("def load():\n    global sales\n    sales = 1\nload()", True),
        ("[sales := one for one in range(3)]", True),
        ("def load():\n    sales = 1", False),
        ("del sales", True),
        ("sales =", False),
    ],
)
def test_all_ways_to_bind_a_name_are_seen(notebook, code, asked):
    notebook.solved()
    notebook.run("sales = [1]")
    assert notebook.ask(code) == ([("sales", True)] if asked else [])


def test_what_the_solution_itself_made_is_no_reason(notebook):
    notebook.solved()
    notebook.run("sales, help_me = [1], 2")
    notebook.run(CODE, cell="explora-1", role="solution", run_id="0")
    assert notebook.ask() == []
    assert notebook.ask(f"{CODE}\n# edited") == []
    assert notebook.ask(cell="another") == []
    assert notebook.ask(f"{CODE}\n# edited", cell="another") == [("sales", True), ("help_me", False)]
    notebook.run("help_me = 2")  # the very same object
    assert notebook.ask() == [("help_me", False)]
    notebook.run("exec('sales = [3]')")
    assert notebook.ask() == [("sales", True), ("help_me", False)]


def test_a_failed_solution_made_what_it_reached(notebook):
    code = "help_me = [1]\n1 / 0\nsales = 2"
    notebook.solved(code)
    notebook.run("sales, help_me = [1], 2")
    assert not notebook.run(code, cell="explora-1").success
    assert notebook.ask(code) == [("sales", True)]
    assert not notebook.run(code, cell="explora-1").success
    assert notebook.ask(code) == [("sales", True)]


def test_a_cell_that_no_page_asked_about_warns(notebook, capsys):
    notebook.solved()
    notebook.run("sales = [1]")
    capsys.readouterr()
    notebook.run(CODE)
    assert capsys.readouterr().out == "This cell replaces your data `sales` (list of 1 int).\n"
    notebook.run(CODE)
    notebook.run("sales = [1]")
    notebook.ask(cell="explora-1")
    notebook.run(CODE, cell="explora-1")
    assert not capsys.readouterr().out
    notebook.run("sales = [1]")
    notebook.run("sales = 2", cell="explora-2", role="solution", run_id="gone", given=["sales"])
    assert "`sales`" in capsys.readouterr().out


@pytest.mark.parametrize("end", ["unloaded", "forked"])
def test_nothing_is_said_without_extension_or_in_forks(notebook, capsys, end):
    notebook.solved()
    notebook.run("sales = [1]")
    if end == "unloaded":
        notebook.variables.release()
    else:
        notebook.shell.kernel = SimpleNamespace()
    notebook.run(CODE)
    assert not capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (pd.DataFrame({"a": range(5), "b": 1}), "pandas.DataFrame, 5 rows x 2 columns"),
        (["secret"] * 3, "list of 3 str"),
        ("secret", "str"),
        (object(), "object"),
    ],
)
def test_a_kind_has_type_and_size_without_data(notebook, value, kind):
    notebook.shell.user_ns["sales"] = value
    (found,) = notebook.variables.of_run(state_of("sales = 1"))
    assert found.kind == kind


@pytest.fixture
def ended(notebook):
    notebook.shell.user_ns |= {"sales": [1], "total": 1, "help_me": 2}
    return state_of()


@pytest.mark.parametrize("in_page", [False, True])
def test_the_card_warns_where_no_page_asks(notebook, ended, monkeypatch, in_page):
    shown = []
    monkeypatch.setattr("IPython.display.DisplayHandle.update", lambda _, bundle, **__: shown.append(bundle))
    card = NotebookDisplay(hint="", after="", in_page=lambda: in_page, replaced=notebook.variables.of_run)
    card.close(ended)
    html, text = shown[-1]["text/html"], shown[-1]["text/plain"]
    for form in (html, text):
        assert ("your data `sales` (list of 1 int)" in form) is not in_page
        assert ("`help_me` (int)" in form) is not in_page and "`total`" not in form
    assert in_page or "`sales`" in re.search("<strong>(Careful.*?)</strong>", html).group(1)


def test_in_a_terminal_the_warning_is_a_line(notebook, ended, capsys):
    LineDisplay(replaced=notebook.variables.of_run).close(ended)
    assert "your data `sales` (list of 1 int)" in capsys.readouterr().out


@pytest.mark.parametrize(("variables", "given"), [((), None), (TASK.variables, ["sales"])])
def test_the_cell_of_a_solution_names_given_variables(variables, given):
    start, *rest = complete_events()
    cells = render(recorded([replace(start, task=replace(start.task, variables=variables)), *rest]))["cells"]
    marks = [cell["metadata"]["exploracoder_jupyter"] for cell in cells]
    assert [mark.get("given") for mark in marks if mark["role"] == "solution"] == [given]
    for mark in marks:
        validate(mark, schema())
