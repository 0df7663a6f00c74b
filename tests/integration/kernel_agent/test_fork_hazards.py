"""Real kernels inspect themselves: a fresh one reports nothing; libraries that would make a fork hang are reported."""

import ast
import importlib.util
import socket
import subprocess
import sys
import tempfile

import pytest
from jupyter_client.manager import KernelManager

from exploracoder_jupyter.kernel_agent.forking.fork_hazards import find_hazards
from tests.patience import patience

LOOK = """
from exploracoder_jupyter.kernel_agent.forking import fork_hazards as _hazards
_answer = _hazards.find_hazards(globals())
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
    """What the kernel finds after the code: hazards by kind and library."""
    reply = kernel.execute(code + LOOK, user_expressions={"answer": "_answer"}, reply=True, timeout=patience(60))
    content = reply["content"]
    assert content["status"] == "ok", content
    found = ast.literal_eval(content["user_expressions"]["answer"]["data"]["text/plain"])
    return [(hazard["kind"], hazard["library"], hazard["what"]) for hazard in found]


def test_a_kernel_in_ordinary_use_has_none(kernel):
    assert answer(kernel, "import numpy, pandas\nx = [1, 2]") == []


def test_tasks_and_threads_of_the_user_are_named(kernel):
    code = "import asyncio, threading\nasync def tick():\n    await asyncio.sleep(99)\n"
    code += "task = asyncio.get_running_loop().create_task(tick())\nawait asyncio.sleep(0)\n"
    code += "end = threading.Event(); poller = threading.Thread(target=end.wait, name='my poller'); poller.start()"
    found = answer(kernel, code)
    assert {kind for kind, *_ in found} == {"warn"}
    text = " ".join(what for *_, what in found)
    assert "tasks of tick" in text and "my poller" in text
    assert answer(kernel, "task.cancel(); end.set(); poller.join(); await asyncio.sleep(0)") == []


@pytest.mark.skipif(importlib.util.find_spec("polars") is None, reason="polars is not installed")
def test_polars_refuses_once_it_has_computed(kernel):
    assert answer(kernel, "import polars; frame = polars.DataFrame({'a': range(1000)})") == []
    found = answer(kernel, "frame.group_by('a').len();")
    assert [(kind, library) for kind, library, _ in found] == [("refuse", "polars")]


NAMED = """
import sys, threading, types
from exploracoder_jupyter.kernel_agent.forking.fork_hazards import find_hazards
sys.modules["polars"] = types.ModuleType("polars")
def work():
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as file:
        file.write(sys.argv[1])
    named.set()
    end.wait()
named, end = threading.Event(), threading.Event()
threading.Thread(target=work).start()
named.wait()
print([hazard["library"] for hazard in find_hazards({}) if hazard["kind"] == "refuse"])
end.set()
"""


@pytest.mark.parametrize(("name", "refused"), [("polars-1", ["polars"]), ("polars-ooc-clea", [])])
def test_polars_refuses_as_soon_as_any_worker_runs(name, refused):
    found = subprocess.run(
        [sys.executable, "-c", NAMED, name], check=True, stdout=subprocess.PIPE, text=True, timeout=patience(60)
    )
    assert ast.literal_eval(found.stdout) == refused


@pytest.fixture
def elsewhere():
    """The address of a server in another process; it holds what it accepts."""
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)"
    server = subprocess.Popen(
        [sys.executable, "-c", code + "; kept = s.accept(); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with server:
        yield "127.0.0.1", int(server.stdout.readline())
        server.stdin.close()


def test_an_open_connection_refuses_and_keeps_its_mode(elsewhere):
    before = find_hazards({})
    socket.setdefaulttimeout(5)
    try:
        with socket.create_connection(elsewhere, timeout=None) as connection:
            [found] = [one for one in find_hazards({}) if one not in before]
            assert connection.gettimeout() is None and socket.SocketType.getblocking(connection)
            assert find_hazards({}, ours=[connection.fileno()]) == before
    finally:
        socket.setdefaulttimeout(None)
    assert found["kind"] == "refuse" and f"127.0.0.1:{elsewhere[1]}" in found["what"]
    assert find_hazards({}) == before


APART = """
import os, signal, sys, pyarrow as pa
from tests.unit.summaries.described import text
table = pa.table({"a": list(range(100_000)), "s": ["x", "y"] * 50_000})
table.group_by("s", use_threads=True).aggregate([("a", "sum")])
child = os.fork()
if not child:
    signal.alarm(60)
    os._exit(0 if "at least 2 distinct" in text(table) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_arrow_is_described_in_a_fork_despite_threads():
    assert subprocess.run([sys.executable, "-c", APART], timeout=patience(120)).returncode == 0
