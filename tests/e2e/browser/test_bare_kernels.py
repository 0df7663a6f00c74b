"""Notebooks whose kernels have ipykernel alone: JupyterLab's environment has the package and serves them too."""

import pytest

from tests.bare_environment import make_bare_environment
from tests.e2e.browser.lab import of_role, text
from tests.e2e.browser.stories import cell, two_scenes
from tests.e2e.browser.test_card import Card

OURS = "sorted({'pydantic', 'openai', 'numpy', 'anyio', 'nbformat'} & {*__import__('sys').modules})"

SOLUTION = "import statistics\nmiddle = statistics.median([3, 1, 2])\nprint('the solution', middle)"


@pytest.fixture(scope="module")
def bare(server, tmp_path_factory):
    server.add_kernel("bare", make_bare_environment(tmp_path_factory.mktemp("bare")))
    return "bare"


def test_a_kernel_without_the_package_explores(bare, tabs, server, play):
    tab = tabs()
    script = play(*two_scenes(), solution=SOLUTION)
    name = server.write("bare.ipynb", cell(script), OURS, kernel=bare, load=False)
    notebook = tab.open(name)
    notebook.run(0)
    cells = notebook.until_ended()
    assert of_role(cells, "plan") and of_role(cells, "candidate")
    Card(notebook).button("Run here").click()
    notebook.until(lambda cells: "the solution 2" in text(of_role(cells, "solution")[0]), "the solution to be run")
    last = len(notebook.cells()) - 1
    notebook.run(last)
    notebook.until(lambda cells: text(cells[last]) == "[]", "the imported modules")
    assert not tab.complaints


def test_run_all_loads_and_explores_there(bare, tabs, server, play):
    tab = tabs()
    script = play(*two_scenes(), solution=SOLUTION)
    notebook = tab.open(server.write("bare-all.ipynb", "before = 1", cell(script), "after = before + 1", kernel=bare))
    notebook.run_all()
    cells = notebook.until_ended()
    mine = [one for one in cells if one["source"].startswith(("%load_ext", "before", "%%explora ", "after"))]
    assert [one["execution_count"] for one in mine] == [1, 2, 3, 4]
    assert not tab.complaints
