"""A notebook whose live kernel is forked: experiments see what cannot be sent anywhere, and change nothing of it."""

import json
import sys
from functools import partial

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from tests.patience import patience
from tests.toy_model import offer_toy, reply

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks live kernels")

CODE = """```python
import os
from statistics import median
rest = list(numbers)
os.makedirs("out", exist_ok=True)
open("out/rest.txt", "w").write(str(median(rest)))
os.environ["SPOILED"] = "yes"
held["spoiled"] = True
```"""
GIVEN = "numbers = (n for n in [7, 1, 2, 3])\nnext(numbers)\nimport threading\nheld = {'lock': threading.Lock()}"
EXPLORE = """%%explora statistics --base-url {url} --candidates 2 {options} --check "assert rest == [1, 2, 3]"
Store the numbers that are left in `rest`."""
LOOK = "import os\n[list(numbers), list(held), 'SPOILED' in os.environ, sorted(os.listdir())]"


def content(prompt, _):
    """The reply that the prompt asks for, chosen by a phrase in it."""
    replies = {'"subtasks"': {"subtasks": ["Take the rest"]}, '"planners"': {"planners": []}, '"apis"': {"apis": []}}
    return next((json.dumps(fitting) for mark, fitting in replies.items() if mark in prompt), CODE)


@pytest.fixture
def url(httpserver, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")
    return offer_toy(httpserver, partial(reply, write=content))


def execute(folder, *sources):
    """The notebook after its execution; a cell that fails is part of it."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in ("%load_ext exploracoder_jupyter", *sources)])
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(
        notebook, timeout=round(patience(240)), kernel_name="python3", resources=resources, allow_errors=True
    ).execute()
    return notebook.cells[1:]


def text(cell):
    """What a cell shows, errors included."""
    shown = {"stream": lambda o: o["text"], "error": lambda o: f"{o['ename']}: {o['evalue']}"}
    return "".join(shown.get(o["output_type"], lambda o: o["data"]["text/plain"])(o) for o in cell.outputs)


def trace_of(folder):
    (path,) = folder.glob("explorations/*.ipynb")
    return path, nbformat.read(path, as_version=4).metadata.exploracoder_jupyter


def test_experiments_leave_the_live_kernel_as_it_was(url, tmp_path):
    explore = EXPLORE.format(url=url, options="--state live --keep-files")
    _, explored, look, files = execute(tmp_path, GIVEN, explore, LOOK, "%explora files --copy")
    assert "Solved. The solution ran and passed its check." in text(explored)
    assert "; state live: " in text(explored)
    assert text(look) == "[[1, 2, 3], ['lock'], False, ['explorations']]"
    path, facts = trace_of(tmp_path)
    assert facts.environment.branching == "fork"
    assert facts.environment.state.startswith("live: ")
    assert facts.files["names"] == ["out/rest.txt"]
    assert path.with_suffix(".files").joinpath("out", "rest.txt").read_text() == "2"
    assert text(files).startswith(f"Copied into {tmp_path}:\n  out/rest.txt")
    assert (tmp_path / "out" / "rest.txt").read_text() == "2"


def test_without_a_fork_unsendable_variables_are_one_sentence(url, tmp_path):
    given = f"{GIVEN}\nservice_token = 'ghp_' + 36 * 'a'"
    explore = EXPLORE.format(url=url, options="--use numbers")
    _, explored, look = execute(tmp_path, given, explore, LOOK)
    output = text(explored)
    assert "The variable 'numbers' holds a builtins.generator" in output
    assert "service_token" in output
    assert text(look) == "[[1, 2, 3], ['lock'], False, []]"
