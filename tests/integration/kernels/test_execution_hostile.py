"""Candidates that misbehave: each is recorded as what it was, and nothing outside its sibling changes."""

import anyio
import pytest

from tests.integration.siblings import LEVELS, open_engine
from tests.patience import patience

LIMITS = {"memory_mb": 512, "processes": 40, "file_mb": 8, "output_kb": 100}


@pytest.fixture(scope="module", params=LEVELS)
def level(request):
    return request.param


@pytest.fixture(scope="module")
async def siblings(level, tmp_path_factory, anyio_backend):
    workdir = tmp_path_factory.mktemp("notebooks").resolve()
    (workdir / "data.csv").write_text("a,b\n1,2\n")
    async with open_engine(level, LIMITS, workdir=workdir) as siblings:
        yield siblings
    assert [path.name for path in workdir.iterdir()] == ["data.csv"]
    assert (workdir / "data.csv").read_text() == "a,b\n1,2\n"


@pytest.fixture
async def root(siblings):
    branch = await siblings.root()
    (fork,) = await branch.fork(1)
    yield fork
    await fork.close()
    await branch.close()


@pytest.fixture(scope="module")
async def lasting(siblings):
    """One branch for many failures: it lives on after each."""
    branch = await siblings.root()
    await branch.run("alive = True", timeout=patience(20))
    yield branch
    assert (await branch.run("alive", timeout=patience(20))).text == "True"


async def run(branch, code, timeout=None):
    return await branch.run(code, timeout=timeout or patience(20))


async def test_outputs_are_nbformat_outputs(root):
    code = """
import sys
from IPython.display import HTML, clear_output, display
print("gone"); clear_output()
print("one"); print("two"); print("careful", file=sys.stderr)
handle = display(HTML("<b>old</b>"), display_id=True)
handle.update(HTML("<b>new</b>"))
6 * 7
"""
    observation = await run(root, code)
    streams = [output for output in observation.outputs if output["output_type"] == "stream"]
    shown, result = observation.outputs[len(streams) :]
    assert (shown["output_type"], result["output_type"]) == ("display_data", "execute_result")
    printed = {name: "".join(item["text"] for item in streams if item["name"] == name) for name in ("stdout", "stderr")}
    assert printed == {"stdout": "one\ntwo\n", "stderr": "careful\n"}  # each stream by itself is in order
    assert shown["data"]["text/html"] == "<b>new</b>"
    assert result["execution_count"] is None
    assert set(observation.text.splitlines()[:3]) == {"one", "two", "careful"}
    assert observation.text.endswith("42")


async def test_errors_keep_user_code_and_the_last_frame(root):
    observation = await run(root, "import json\ndef parse(text):\n    return json.loads(text)\nparse('{')")
    assert observation.status == "error"
    assert observation.error.name == "JSONDecodeError"
    assert "return json.loads(text)" in observation.error.traceback
    assert "raw_decode" in observation.error.traceback
    assert "\x1b" not in observation.error.traceback
    assert observation.outputs[-1]["output_type"] == "error"


async def test_names_are_reported_without_running_the_values_code(root):
    code = """
import fractions as fr
class Rude:
    def __repr__(self): raise SystemExit
    def __getattribute__(self, name): raise SystemExit
rude, half, type, _hidden = Rude(), fr.Fraction(1, 2), None, 3
"""
    names = dict((await run(root, code)).names)
    assert names == {"fr": "module", "Rude": "type", "rude": "Rude", "half": "fractions.Fraction", "type": "NoneType"}
    assert dict((await run(root, "half = half + 1; unchanged = rude; 1/0")).names) == {
        "half": "fractions.Fraction",
        "unchanged": "Rude",
    }


FAILURES = {
    "input": ("input()", "StdinNotImplementedError"),
    "sys.exit": ("import sys; sys.exit(3)", "SystemExit"),
    "repr": ("class Bad:\n    def __repr__(self): raise ValueError('no')\nBad()", "ValueError"),
    "memory": ("x = []\ntry:\n    while True: x.append(bytearray(10**7))\nfinally: x.clear()", "MemoryError"),
    "large file": ("with open('big', 'wb') as f:\n    for _ in range(100): f.write(bytes(10**6))", "OSError"),
    "syntax": ("1 +", "SyntaxError"),
}


@pytest.mark.parametrize("code, name", FAILURES.values(), ids=FAILURES)
async def test_a_failure_is_recorded_as_what_it_was(lasting, code, name):
    observation = await run(lasting, code)
    assert (observation.status, observation.error.name) == ("error", name), observation


async def test_code_that_ruins_its_own_surroundings(root):
    observation = await run(root, "import os, shutil; shutil.rmtree('.', ignore_errors=True); open('data.csv')")
    assert observation.error.name == "FileNotFoundError"
    observation = await run(root, "import sys; sys.stdout.close(); print('x')")
    assert observation.error.name == "ValueError"
    assert (await run(root, "import builtins; builtins.print = builtins.sorted = None; x = 5")).status == "ok"
    assert (await run(root, "x")).outputs[0]["data"]["text/plain"] == "5"


async def test_what_is_printed_at_once_beyond_the_limit_is_cut_and_counted(root):
    observation = await run(root, "for _ in range(10): print('x' * 10**7)")
    assert observation.status == "ok"
    assert sum(len(output["text"]) for output in observation.outputs) < 110_000
    assert "99,9" in observation.note
    assert len(observation.text) < 5000


async def test_malformed_messages_are_dropped_and_the_run_goes_on(root):
    code = """
kernel = get_ipython().kernel
session, parent = kernel.session, kernel.get_parent()
send = type(session).send.__wrapped__
for kind, content in {"stream": {}, "error": {"traceback": 5}, "status": "[1]", "clear_output": "3"}.items():
    send(session, kernel.iopub_socket, session.msg(kind, content, parent=parent))
send(session, kernel.iopub_socket, session.msg("display_data", {"data": 1, "metadata": 5}, parent=parent))
odd = session.msg("stream", {"name": "stdout", "text": "x"})
send(session, kernel.iopub_socket, {**odd, "parent_header": [1]})
send(session, kernel.iopub_socket, {**odd, "header": [1]})
print("here")
"""
    observation = await run(root, code)
    assert (observation.status, observation.text) == ("ok", "here")


async def test_code_that_has_no_encoding(root):
    observation = await run(root, "x = '\ud800'\nx")
    assert (observation.status, observation.text) == ("ok", "'?'")


async def test_endless_output_is_stopped(root):
    observation = await run(root, "while True: print('y' * 1000)", timeout=patience(60))
    assert (observation.status, observation.error.name) == ("interrupted", "OutputLimit")
    assert sum(len(str(output)) for output in observation.outputs) < 200_000


async def test_other_branches_go_on_while_one_misbehaves(siblings, root):
    (bad,) = await root.fork(1)
    seen = []

    async def misbehave():
        seen.append(await run(bad, "import os; os._exit(1)"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(misbehave)
        seen.append(await run(root, "sum(range(10))"))
    assert sorted(observation.status for observation in seen) == ["died", "ok"]
