"""What a run shows, in real kernels: bound values, mutations, warnings, logs, memory; hostile values.

What leaves a kernel whole is tried in one branch a level, what breaks it in a fresh fork.
"""

import pytest

from tests.integration.siblings import open_engine
from tests.patience import patience

SETUP = "import numpy as np, pandas as pd, warnings, logging, os"
_SECONDS = 30


ALL = ("rerun-bubblewrap", "fork-namespaces", "fork-landlock")
FORKS = pytest.mark.parametrize("siblings", ALL[1:], indirect=True, scope="module")


@pytest.fixture(scope="module", params=ALL)
async def siblings(request, tmp_path_factory, anyio_backend):
    folder = tmp_path_factory.mktemp("work")
    (folder / "data.csv").write_text("a\n1\n")
    async with open_engine(request.param, workdir=folder) as siblings:
        yield siblings


@pytest.fixture(scope="module")
async def root(siblings):
    root = await siblings.root()
    await run(root, SETUP)
    return root


@pytest.fixture(scope="module")
async def branch(root):
    (branch,) = await root.fork(1)
    return branch


@pytest.fixture
async def fresh(root):
    (branch,) = await root.fork(1)
    yield branch
    await branch.close()


async def run(branch, code):
    observation = await branch.run(code, timeout=patience(_SECONDS))
    assert observation.status == "ok", observation.error
    return observation


def changes(observation):
    return {change.name: change for change in observation.changes}


async def test_bound_values_are_described_last_first(branch):
    observation = await run(branch, "rows = [1, 2]\nframe = pd.DataFrame({'a': rows})\nimport math")
    assert [change.name for change in observation.changes] == ["frame", "rows", "math"]
    by_name = changes(observation)
    assert by_name["frame"].summary.startswith("pandas.DataFrame: 2 rows x 1 column")
    assert by_name["rows"].summary == "list: 2 items: int\n  [1, 2]"
    assert by_name["rows"].schema == "list: 2 items: int"
    assert by_name["math"].summary == "module: math"
    assert {change.how for change in observation.changes} == {"new"}


async def test_output_and_errors_stay_in_the_order_in_which_they_were_written(branch):
    loop = "for i in range(20):\n    print(i, file=(sys.stdout, sys.stderr)[i % 2])\n    time.sleep(0.01 * (i % 3))"
    observation = await run(branch, f"import sys, time\n{loop}")
    assert [int(word) for word in observation.text.split()] == list(range(20))


async def test_programs_have_no_arguments(branch):
    code = "import argparse, sys\nparser = argparse.ArgumentParser()\nprint(sys.argv, parser.parse_args())"
    observation = await run(branch, code)
    assert observation.text == "[''] Namespace()"


async def test_an_exit_shows_no_advice_for_typing(branch):
    observation = await branch.run("import sys\nprint('done')\nsys.exit(0)", timeout=patience(_SECONDS))
    assert (observation.status, observation.error.name) == ("error", "SystemExit")
    assert observation.text == "done" and observation.warnings == ()


async def test_mutations_are_seen_and_iterators_stay_unread(branch):
    await run(branch, "rows, array, lines = [1], np.zeros(3), iter('abc')\nclass Own: pass\nown = Own()")
    observation = await run(branch, "rows.append(2); array[0] = 1; own.x = 3; lines")
    by_name = changes(observation)
    assert {name: change.how for name, change in by_name.items()} == dict.fromkeys(["rows", "array", "own"], "mutated")
    assert (by_name["rows"].before, by_name["array"].before) == ("1 item", "")
    assert by_name["own"].summary.startswith("Own: 1 attribute\n  x = 3")
    assert (await run(branch, "''.join(lines)")).text == "'abc'"
    (change,) = (await run(branch, "rows = rows[:1]")).changes
    assert (change.how, change.before) == ("rebound", "2 items")


async def test_warnings_and_log_records_are_reported_and_shown_as_ever(fresh):
    code = """
warnings.simplefilter('always')
for _ in range(3): warnings.warn('old', FutureWarning)
with warnings.catch_warnings():
    warnings.simplefilter('ignore'); warnings.warn('unheard')
logging.getLogger('some.library').warning('careful with %s', 'this')
logging.info('unheard')
"""
    observation = await run(fresh, code)
    assert observation.warnings == ("FutureWarning: old (x3)",)
    assert observation.logs == ("WARNING some.library: careful with this",)
    shown = "".join(output["text"] for output in observation.outputs if output["output_type"] == "stream")
    assert "FutureWarning: old" in shown
    assert "careful with this" in shown
    assert "unheard" not in shown
    again = await run(fresh, "pass")
    assert (again.warnings, again.logs) == ((), ())


async def test_memory_that_was_taken_is_reported(branch):
    assert (await run(branch, "big = np.ones(4_000_000)")).memory > 16_000_000


HANG = """
class Hang:
    def __repr__(self):
        while True: pass
    __len__ = __iter__ = __str__ = __repr__
"""


async def test_values_that_hang_are_described_by_their_type_and_the_next_cell_runs(branch):
    await run(branch, "import time")
    code = f"{HANG}\na, b, c, d, e = [Hang() for _ in range(5)]\nlast = [1]"
    by_name = changes(await run(branch, code))
    assert {by_name[name].summary.splitlines()[0] for name in "abcde"} == {"Hang"}
    assert by_name["last"].summary.startswith("list: 1 item")
    assert (await run(branch, "1 + 1")).text == "2"


SPOILT = {
    "warnings": "import warnings; warnings.showwarning = None",
    "os": "import os; os.pipe = os.waitpid = os.fork = os._exit = None",
    "child signals": "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "working directory": "import os, tempfile; os.chdir(tempfile.mkdtemp()); os.rmdir(os.getcwd())",
    "formatters": "get_ipython().display_formatter.formatters.clear()",
    "warnings as errors": "import warnings; warnings.simplefilter('error')",
}


@FORKS
@pytest.mark.parametrize("code", SPOILT.values(), ids=SPOILT)
async def test_whatever_a_cell_breaks_the_next_one_runs(fresh, code):
    await run(fresh, code)
    observation = await run(fresh, "x = 5\ny = [1]\n")
    assert [change.name for change in observation.changes] == ["y", "x"]


async def test_displays_of_a_cell_together_are_bounded(branch):
    code = "class Slow:\n    def _repr_llm_(self): time.sleep(60)\nfor _ in range(20): display(Slow())"
    observation = await run(branch, f"import time\n{code}")
    lines = observation.text.splitlines()
    assert lines.count("Slow") == 20
    assert lines.count("  (summary timed out)") in (1, 2)


SURROGATES = {
    "print('a\\ud800b')": ("stream", "a\\ud800b"),
    "sys.stderr.write('c\\udcffd'); None": ("stream", "c\\udcffd"),
    "display({'text/plain': 'q\\ud800', 'text/html': '<b>\\ud800</b>'}, raw=True)": ("display_data", "q\\ud800"),
    "class A:\n    def __repr__(self):\n        return 'r\\ud800'\nA()": ("execute_result", "r\\ud800"),
}


@pytest.mark.parametrize("code", SURROGATES)
async def test_lone_surrogates_are_shown_as_escapes(branch, code):
    observation = await run(branch, f"import sys\n{code}")
    [output] = observation.outputs
    kind, text = SURROGATES[code]
    assert output["output_type"] == kind
    assert (output.get("text") or output["data"]["text/plain"]).strip() == text


async def test_errors_with_lone_surrogates_keep_their_name(branch):
    observation = await branch.run("raise ValueError('e\\ud800')", timeout=patience(_SECONDS))
    assert observation.error.headline == "ValueError: e\\ud800"
