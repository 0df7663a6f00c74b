"""Real kernels look at themselves: nothing is said of a fresh one; what would hang a fork is said of real libraries."""

import ast
import importlib.util
import tempfile

import pytest
from jupyter_client.manager import KernelManager

from tests.patience import patience

LOOK = """
from exploracoder_jupyter.kernel_agent.forking import fork_hazards as _hazards
import time as _time
_hazards.find_hazards(globals()); _began = _time.perf_counter()
_found = (_hazards.find_hazards(globals()), _hazards.find_credential_variables(globals()))
_answer = (*_found, _time.perf_counter() - _began)
"""


@pytest.fixture(scope="module", params=["tcp", "ipc"])
def kernel(request):
    with tempfile.TemporaryDirectory(prefix="t") as folder:
        manager = KernelManager(transport=request.param, connection_file=f"{folder}/k.json")
        manager.ip = f"{folder}/k" if request.param == "ipc" else "127.0.0.1"
        manager.start_kernel()
        client = manager.client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=patience(60))
            yield client
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()


def answer(kernel, code):
    """What the kernel finds after the code: hazards by kind and library, credentials, seconds."""
    reply = kernel.execute(code + LOOK, user_expressions={"answer": "_answer"}, reply=True, timeout=patience(60))
    content = reply["content"]
    assert content["status"] == "ok", content
    found, secretive, seconds = ast.literal_eval(content["user_expressions"]["answer"]["data"]["text/plain"])
    return [(hazard["kind"], hazard["library"], hazard["what"]) for hazard in found], secretive, seconds


def test_a_kernel_in_ordinary_use_has_none(kernel):
    found, secretive, _ = answer(kernel, "import numpy, pandas\nx = [1, 2]; tokens = 'many words'")
    assert (found, secretive) == ([], [])


def test_credentials_are_named(kernel):
    assert answer(kernel, "my_api_key = 'abcdefghijklmnop'")[1] == ["my_api_key"]
    assert answer(kernel, "del my_api_key")[1] == []


def test_a_thread_pool_refuses_while_it_is_held(kernel):
    code = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1); pool.submit(int).result()"
    ((kind, _, what),), *_ = answer(kernel, code)
    assert kind == "refuse" and what.startswith("a thread pool is open")
    assert answer(kernel, "pool.shutdown(); del pool")[0] == []


def test_tasks_and_threads_of_the_user_are_named(kernel):
    code = "import asyncio, threading\nasync def tick():\n    await asyncio.sleep(99)\n"
    code += "task = asyncio.get_running_loop().create_task(tick())\nawait asyncio.sleep(0)\n"
    code += "end = threading.Event(); poller = threading.Thread(target=end.wait, name='my poller'); poller.start()"
    found, *_ = answer(kernel, code)
    assert {kind for kind, *_ in found} == {"warn"}
    text = " ".join(what for *_, what in found)
    assert "tasks of tick" in text and "my poller" in text
    assert answer(kernel, "task.cancel(); end.set(); poller.join(); await asyncio.sleep(0)")[0] == []


def test_files_of_sqlite_are_told_but_not_the_history(kernel, tmp_path):
    path = str(tmp_path / "data.db")
    found, *_ = answer(kernel, f"import sqlite3; db = sqlite3.connect({path!r}); db.execute('create table t(a)')")
    assert {(kind, library) for kind, library, _ in found} == {("warn", "sqlite3")}
    assert answer(kernel, "db.close(); del db")[0] == []


@pytest.mark.skipif(importlib.util.find_spec("polars") is None, reason="polars is not installed")
def test_polars_refuses_once_it_has_computed(kernel):
    assert answer(kernel, "import polars; frame = polars.DataFrame({'a': range(1000)})")[0] == []
    found, *_ = answer(kernel, "frame.group_by('a').len();")
    assert [(kind, library) for kind, library, _ in found] == [("refuse", "polars")]
