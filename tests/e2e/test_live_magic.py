"""`%%explora` in a notebook whose variables nobody named: experiments see them where that is safe.

Where it is not, the page says why. The prompt describes the variables that the task or its check names; `eval` in a
check hides the others from the model.
"""

import shutil
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from tests.integration import denied
from tests.integration.live_kernel import live_kernel
from tests.levels import fully_confined
from tests.patience import patience

unasked = pytest.mark.skipif(not fully_confined(), reason="a live kernel is forked unasked only at the full level")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks live kernels")

GIVEN = """
import pandas as pd
frame = pd.DataFrame({"n": [3, 1, 2], "s": list("cab")})
def twice(x):
    return 2 * x * len(frame)
open("notes.txt", "w").write("one\\ntwo\\nthree\\n")
notes = open("notes.txt")
notes.readline()
prices = [3.0, 1.0, 2.0]
def probe():
    return twice(2), int(frame.n.sum()), notes.readline()
def spoil():
    frame.drop(columns="n", inplace=True); prices.clear(); open("notes.txt", "w").close()
"""
CHECK = "assert result and eval('probe()') == (12, 6, 'two\\n') and eval('spoil()') is None"
FRESH = "assert result == 2 and 'frame' not in globals()"
EXPLORE = '%%explora statistics --candidates 2 {options} --check "{check}"\nCompute the median of prices.'
LOOK = "frame.shape, twice(2), notes.readline(), prices, open('notes.txt').read()[:3]"
UNCHANGED = "((3, 2), 12, 'two\\n', [3.0, 1.0, 2.0], 'one')"
POOL = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\npool.submit(int).result()"
KEY = "api_key = 'sk-' + '0123456789abcdef' * 2"
_SECONDS = 60


async def execute(folder, *sources):
    """The notebook's cells after their execution."""
    sources = ("%load_ext exploracoder_jupyter", GIVEN, *sources)
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        notebook, timeout=round(patience(240)), kernel_name="python3", resources=resources, allow_errors=True
    )
    await client.async_execute()
    return notebook.cells[2:]


def text(cell):
    """What a cell shows, errors included."""
    shown = {"stream": lambda o: o["text"], "error": lambda o: f"{o['ename']}: {o['evalue']}"}
    return "".join(shown.get(o["output_type"], lambda o: o["data"]["text/plain"])(o) for o in cell.outputs)


@asynccontextmanager
async def background():
    """A kernel whose cells somebody looks at, with the extension and what is given."""
    folder = Path(tempfile.mkdtemp(prefix="live"))
    try:
        async with live_kernel(folder) as kernel:
            for code in ("%load_ext exploracoder_jupyter", GIVEN):
                assert (await kernel.run(code)).outcome == "ok"
            yield kernel
            assert (await kernel.run("%unload_ext exploracoder_jupyter")).outcome == "ok"
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # an engine may be ending in it


async def until_solved(kernel):
    """What `%explora status` says then."""
    with anyio.fail_after(patience(_SECONDS)):
        while "Solved." not in (status := (await kernel.run("%explora status")).printed):
            await anyio.sleep(0.3)
    return status


def trace_of(folder):
    (path,) = folder.glob("explorations/*.ipynb")
    return nbformat.read(path, as_version=4)


@unasked
@pytest.mark.parametrize("options", ["", "--state live --use prices"])
async def test_experiments_see_what_nobody_named_and_change_nothing(tmp_path, options):
    explored, look = await execute(tmp_path, EXPLORE.format(options=options, check=CHECK), LOOK)
    assert "Solved. The solution ran and passed its check." in text(explored)
    assert "state live: every variable is seen as it is" in text(explored)
    assert text(look) == UNCHANGED
    trace = trace_of(tmp_path)
    facts = trace.metadata.exploracoder_jupyter.environment
    assert (facts.branching, facts.state) == ("fork", "live: every variable is seen as it is")
    (solution,) = [cell for cell in trace.cells if "explora-solution" in cell.metadata.get("tags", [])]
    assert "median(prices)" in solution.source
    assert "- **Variables:** <code>prices</code>" in trace.cells[0].source


@pytest.mark.skipif(not denied.supported(), reason="nothing can be denied on this system")
def test_without_namespaces_landlock_confines_live_forks(tmp_path):
    """Issue 36: as in most containers."""
    sources = ("%load_ext exploracoder_jupyter", GIVEN, EXPLORE.format(options="", check=CHECK), LOOK)
    path = tmp_path / "live.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    command = [sys.executable, "-m", "jupyter", "execute", "--inplace", path.name]
    subprocess.run([*denied.prefix(namespaces=True, landlock=False), *command], cwd=tmp_path, check=True)
    explored, look = nbformat.read(path, as_version=4).cells[2:]
    assert "state live: every variable is seen as it is" in text(explored) and "landlock" in text(explored)
    assert "Solved. The solution ran and passed its check." in text(explored)
    assert text(look) == UNCHANGED


async def test_the_reason_against_a_fork_is_shown_and_the_run_starts_fresh(tmp_path):
    explore = EXPLORE.format(options="--use prices", check=FRESH)
    _, explored, look = await execute(tmp_path, POOL, explore, LOOK)
    why = "a thread pool is open, whose workers a fork leaves behind"
    assert "Solved." in text(explored)
    assert f"state fresh: {why}" in text(explored)
    assert text(look) == UNCHANGED
    assert trace_of(tmp_path).metadata.exploracoder_jupyter.environment.state.startswith(f"fresh: {why}")


async def test_variables_that_look_like_credentials_start_a_run_fresh_unless_a_fork_is_requested(tmp_path):
    unasked = EXPLORE.format(options="--use prices", check=FRESH)
    asked = EXPLORE.format(options="--state live", check=CHECK)
    _, fresh, live, look = await execute(tmp_path, KEY, unasked, asked, LOOK)
    assert "Solved." in text(fresh) and "Solved." in text(live)
    assert "state fresh: variables look like credentials (api_key)" in text(fresh)
    assert "state live: " in text(live)
    assert text(look) == UNCHANGED


@unasked
async def test_a_named_variable_that_cannot_be_sent_is_there_in_a_fork(tmp_path):
    given = "prices = (price for price in [9.0, 3.0, 1.0, 2.0]); next(prices)"
    _, explored, look = await execute(
        tmp_path, given, EXPLORE.format(options="--use prices", check="assert result == 2"), "list(prices)"
    )
    assert "Solved. The solution ran and passed its check." in text(explored)
    assert text(look) == "[3.0, 1.0, 2.0]"


@unasked
async def test_experiments_in_the_background_see_what_was_there_when_the_cell_was_run():
    async with background() as kernel:
        assert (await kernel.run("x = 1")).outcome == "ok"
        explore = kernel.send_cell(EXPLORE.format(options="", check="assert result and eval('x') == 1"))
        change = kernel.send_cell("x = 2\nx")
        assert (await kernel.finish(explore)).outcome == "ok"
        assert (await kernel.finish(change)).data[0]["text/plain"] == "2"
        assert "state live: " in await until_solved(kernel)
        assert (await kernel.run("assert x == 2")).outcome == "ok"


async def test_cells_go_on_while_a_run_in_the_background_starts_from_them():
    async with background() as kernel:
        assert (await kernel.run("counts = []")).outcome == "ok"
        explore = EXPLORE.format(options="--state live", check=f"{CHECK} and eval('counts == []')")
        assert (await kernel.finish(kernel.send_cell(explore))).outcome == "ok"
        busy = await kernel.run("import time\nfor n in range(30):\n    counts.append(n); time.sleep(0.05)\nlen(counts)")
        assert busy.data[0]["text/plain"] == "30"
        assert "state live: " in await until_solved(kernel)
        assert (await kernel.run(f"assert ({LOOK}) == {UNCHANGED} and counts == list(range(30))")).outcome == "ok"
