"""Remote siblings over a real Jupyter Server and a real Kernel Gateway on loopback: the promises of a branch, what is
left behind over there, and the error messages when the server cannot be used."""

import base64
import io
import os
import subprocess
import sys
import tarfile
import time
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import anyio
import psutil
import pytest
import websocket
from pydantic import SecretStr

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import KernelError, MissingRequirement, UsageError
from exploracoder_jupyter.kernel_agent import variable_encoding
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.kernels.messages import shown_text
from exploracoder_jupyter.kernels.output_collector import OutputCollector
from exploracoder_jupyter.kernels.remote import remote_channel
from exploracoder_jupyter.kernels.remote.gateway import open_gateway
from exploracoder_jupyter.kernels.remote.kernel_lifetime import KernelReaper
from exploracoder_jupyter.kernels.remote.remote_payload import build_payload, unpack_written
from exploracoder_jupyter.kernels.remote.remote_sibling import RemoteSibling
from exploracoder_jupyter.kernels.remote.remote_siblings import RemoteSiblings, remote_inspector
from tests.integration.remote_servers import SERVERS, TOKEN, serve
from tests.patience import patience, wait_until_async

SLEEP = ["/bin/sleep", str(10**6 + os.getpid())]
"""A command that no other run of these tests has."""
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def on_each_server(test):
    """Mark what depends on the kind of server; the rest is tried on the first one."""
    test.on_each_server = True
    return test


def pytest_generate_tests(metafunc):
    if "server" in metafunc.fixturenames:
        kinds = list(SERVERS) if hasattr(metafunc.function, "on_each_server") else list(SERVERS)[:1]
        metafunc.parametrize("server", kinds, indirect=True, scope="module")


@pytest.fixture(scope="module")
def server(request, tmp_path_factory):
    with serve(request.param, tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def quiet(server, tmp_path_factory):
    """Another server of the same kind, whose kernels are those of the test alone."""
    with serve(server.kind, tmp_path_factory.mktemp("quiet")) as server:
        yield server


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    (folder / "data.csv").write_text("a,b\n1,2\n")
    (folder / "deep").mkdir()
    (folder / "deep" / "noise.bin").write_bytes(os.urandom(3_000_000))
    (folder / "helper.py").write_text("def twice(x):\n    return 2 * x\n")
    (folder / ".env").write_text("KEY=secret")
    return folder


@pytest.fixture(scope="module")
async def siblings(server, workdir, anyio_backend):
    sandbox = Sandbox(gateway=server.url, memory_mb=512, file_mb=20)
    async with RemoteSiblings(sandbox, workdir=workdir, token=SecretStr(TOKEN)) as siblings:
        yield siblings
    assert server.kernels() == set()
    assert await soon(lambda: server.leftovers() == [])


@pytest.fixture
async def root(siblings):
    branch = await siblings.root()
    yield branch
    await branch.close()


@pytest.fixture(scope="module")
async def shared(siblings):
    """A fork for what leaves its kernel as it was: a remote kernel takes seconds of processor time to start."""
    root = await siblings.root()
    (branch,) = await root.fork(1)
    yield branch
    await branch.close()


@asynccontextmanager
async def sibling_with(server, patience):
    """One sibling whose kernel ends itself after so many seconds of silence."""
    gateway = await open_gateway(server.url, kernel=None, token=SecretStr(TOKEN))
    reaper = KernelReaper(gateway)
    sibling = await RemoteSibling.start(gateway, build_payload(None, Sandbox(), silence_limit=patience), reaper)
    try:
        yield sibling
    finally:
        await sibling.close()
        reaper.close()


async def run(branch, code, timeout=None):
    return await branch.run(code, timeout=timeout or patience(20))


async def shown(branch, code):
    observation = await run(branch, code)
    assert observation.status == "ok", observation
    return shown_text(observation.outputs)


async def soon(holds, seconds=15):
    return await wait_until_async(holds, seconds)


@on_each_server
async def test_it_names_its_place_and_claims_no_isolation(siblings, server):
    environment = siblings.environment()
    host = server.url.removeprefix("http://")
    assert environment.isolation == f"remote kernel at {host}: its isolation is up to that server; limits only"
    assert environment.branching == "rerun (remote)"
    assert environment.python == sys.version.split()[0]
    assert environment.state.startswith("fresh")
    assert any(package.startswith("ipykernel==") for package in environment.packages)
    assert host in siblings.notices[0]


async def test_forks_start_from_this_state_and_are_unseen(root):
    await run(root, "items = [1]")
    await run(root, "items.append(2); print('never shown again')")
    first, second = await root.fork(2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, first, "items.append('first'); open('mine.txt', 'w').close()")
        tasks.start_soon(run, second, "items.append('second')")
    assert await shown(first, "items, len(In)") == "([1, 2, 'first'], 5)"
    assert await shown(second, "import os; items, os.path.exists('mine.txt')") == "([1, 2, 'second'], False)"
    assert await shown(root, "items") == "[1, 2]"


@on_each_server
async def test_files_travel_there_and_written_ones_return(root, workdir, tmp_path):
    assert await shown(root, "import helper; helper.twice(4)") == "8"
    assert await shown(root, "len(open('deep/noise.bin', 'rb').read())") == "3000000"
    assert await shown(root, "import os; os.path.exists('.env')") == "False"
    await run(root, "open('data.csv', 'a').write('3,4\\n'); os.mkdir('out'); open('out/made.txt', 'w').write('new')")
    assert await root.files(tmp_path / "kept") == ("data.csv", "out/made.txt")
    assert (tmp_path / "kept" / "data.csv").read_text() == "a,b\n1,2\n3,4\n"
    assert (workdir / "data.csv").read_text() == "a,b\n1,2\n"


@on_each_server
async def test_outputs_errors_and_names_are_reported_as_everywhere(shared):
    rich = await run(shared, f"from IPython.display import Image, display\ndisplay(Image({PIXEL!r}))\nprint('done')\n7")
    assert [output["output_type"] for output in rich.outputs] == ["display_data", "stream", "execute_result"]
    assert base64.b64decode(rich.outputs[0]["data"]["image/png"]) == PIXEL
    assert rich.names == (("Image", "type"), ("display", "function"))
    wrong = await run(shared, "def f():\n    return 1 / 0\nf()")
    assert (wrong.status, wrong.error.name) == ("error", "ZeroDivisionError")
    assert "return 1 / 0" in wrong.error.traceback


@on_each_server
async def test_programs_have_no_arguments(shared):
    assert (await shared.run("import sys; print(sys.argv)", timeout=patience(30))).text == "['']"


async def test_binary_messages_and_silence_keep_the_connection(shared, monkeypatch):
    monkeypatch.setattr(remote_channel, "_CONNECT_SECONDS", 0.5)
    code = "from comm import create_comm\nc = create_comm(target_name='t', buffers=[b'123'])\n"
    code += "import time\ntime.sleep(2)\n5"
    assert await shown(shared, code) == "5"


async def test_a_failing_connection_is_tried_again(server, monkeypatch):
    connect, failures = websocket.create_connection, [ConnectionResetError(), websocket.WebSocketTimeoutException()]

    def create_connection(*args, **options):
        if failures:
            raise failures.pop()
        return connect(*args, **options)

    monkeypatch.setattr(websocket, "create_connection", create_connection)
    async with sibling_with(server, 60):
        assert failures == []


async def test_a_proxy_of_the_environment_is_not_used(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "socks5://127.0.0.1:9")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "other.example")
    async with sibling_with(server, 60) as sibling:
        assert sibling.is_alive


async def test_missing_certificates_are_named(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    with pytest.raises(UsageError, match="SSL_CERT_FILE"):
        await open_gateway("https://127.0.0.1:9", kernel=None, token=None)


@on_each_server
async def test_a_timeout_interrupts_and_then_deletes(root, server):
    await run(root, "x = 1")
    observation = await run(root, "while True: pass", timeout=0.5)
    assert (observation.status, observation.error.name) == ("timeout", "Timeout")
    assert "while True: pass" in observation.error.traceback
    assert await shown(root, "x") == "1"
    before = len(server.kernels())
    with anyio.fail_after(patience(20)):
        code = "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); time.sleep(9876)"
        observation = await run(root, code, timeout=0.5)
    assert (observation.status, "ended" in observation.note) == ("timeout", True)
    assert (await run(root, "1")).status == "died"
    assert len(server.kernels()) <= before


@on_each_server
async def test_a_death_is_an_observation_despite_restarts(root):
    await run(root, "x = 1")
    observation = await run(root, "import ctypes; ctypes.string_at(0)", timeout=patience(60))
    assert (observation.status, observation.error.name) == ("died", "KernelDied")
    assert "the remote kernel ended" in observation.note
    assert "lost" in (await run(root, "x")).note


async def test_limits_hold_and_leftovers_end_with_the_kernel(root):
    assert (await run(root, "x = bytearray(10**9)")).error.name == "MemoryError"
    assert (await run(root, "open('big', 'wb').write(bytes(30_000_000))")).error.name == "OSError"
    await run(root, f"import subprocess; subprocess.Popen({SLEEP}, start_new_session=True)")
    assert sleepers() != []
    await root.close()
    assert await soon(lambda: sleepers() == [])


@on_each_server
async def test_cancelling_a_run_deletes_its_kernel(siblings, server):
    branch = await siblings.root()
    await run(branch, "1")
    kernel = str(branch._sibling._manager.kernel_id)
    assert kernel in server.kernels()
    with anyio.move_on_after(patience(1)):
        await run(branch, "import time; time.sleep(600)", timeout=600)
    assert kernel not in server.kernels()
    assert (await run(branch, "1")).status == "died"


async def test_variables_setup_bounds_and_floods(server, tmp_path):
    numpy = pytest.importorskip("numpy")
    given = {"n": 3, "grid": numpy.arange(4).reshape(2, 2), "deep": {"k": [1, (2, 3)]}}
    variable_encoding.dump(given, given, str(tmp_path / "sent"))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "large.bin").write_bytes(os.urandom(1_500_000))
    async with RemoteSiblings(
        Sandbox(gateway=server.url, output_kb=20, copy_mb=1),
        workdir=tmp_path / "work",
        setup="import math\nm = n + 1",
        variables=tmp_path / "sent",
        token=SecretStr(TOKEN),
    ) as siblings:
        assert siblings.environment().isolation.endswith("not visible: large.bin")
        root = await siblings.root()
        assert await shown(root, "n, m, math.floor(2.5), grid.tolist(), deep") == (
            "(3, 4, 2, [[0, 1], [2, 3]], {'k': [1, (2, 3)]})"
        )
        assert (await run(root, "print('x' * 10**7)")).text.startswith("xxx")
        flood = await run(root, "while True: print('x' * 1000)")
        assert (flood.status, flood.error.name) == ("interrupted", "OutputLimit")


async def test_the_remote_environment_is_read_like_the_local(quiet):
    over_there, here = remote_inspector(Sandbox(gateway=quiet.url), token=SecretStr(TOKEN)), local_inspector(Sandbox())
    for module, arguments in [
        ("introspection.environment_report", []),
        ("introspection.api_walk", ["json", "colorsys"]),
    ]:
        there = [line async for line in over_there(module, arguments)]
        assert there == [line async for line in here(module, arguments)]
    with pytest.raises(KernelError, match="Reading the remote environment failed"):
        assert [line async for line in over_there("introspection.api_walk", ["no_such_library"])]
    async with aclosing(over_there("introspection.api_walk", ["numpy"])) as lines:
        assert await anext(lines)
    assert quiet.kernels() == set()
    assert await soon(lambda: quiet.leftovers() == [])


ENGINE = """
import sys, anyio
from pathlib import Path
from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels.remote.remote_siblings import RemoteSiblings

async def main():
    async with RemoteSiblings(Sandbox(gateway=sys.argv[1]), workdir=Path.cwd()) as siblings:
        root = await siblings.root()
        print((await root.run("x = 1", timeout=20)).status, flush=True)
        await root.run("import time; time.sleep(60)", timeout=60)

anyio.run(main)
"""


@on_each_server
async def test_a_killed_engine_leaves_no_kernel_behind(quiet, tmp_path):
    environ = {**os.environ, "EXPLORACODER_GATEWAY_TOKEN": TOKEN}
    engine = subprocess.Popen(
        [sys.executable, "-c", ENGINE, quiet.url], stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environ
    )
    with engine:
        assert engine.stdout.readline() == "ok\n"
        assert len(quiet.kernels()) >= 1
        engine.kill()
    assert await soon(lambda: quiet.kernels() == set(), seconds=60)
    assert await soon(lambda: quiet.leftovers() == [])


async def test_a_kernel_dying_while_unpacking_leaves_no_folder(tmp_path):
    torn = replace(build_payload(None, Sandbox(), silence_limit=60), content=b"not an archive")
    kernel = "import IPython, sys; IPython.InteractiveShell.instance().run_cell(sys.stdin.read())"
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    code = "\n".join(torn.code())
    died = subprocess.run([sys.executable, "-c", kernel], input=code, text=True, env=environ, capture_output=True)
    assert "ReadError" in died.stdout
    assert await soon(lambda: not any(tmp_path.glob("xplora-*")))


async def test_a_kernel_that_nobody_speaks_to_ends_itself(quiet):
    async with sibling_with(quiet, patience=3) as sibling:
        assert await soon(lambda: not sibling.is_alive)
        assert "the remote kernel ended" in sibling.end_reason
    async with sibling_with(quiet, patience=3) as sibling:
        for _ in range(3):
            await sibling.notify_alive()
            await anyio.sleep(1.5)
        assert (await sibling.execute("1", timeout=patience(10), collector=OutputCollector(1000))).cause == "finished"


async def test_a_lost_server_is_noticed_while_code_runs(tmp_path, anyio_backend):
    with serve("jupyter server", tmp_path) as server:
        async with sibling_with(server, patience=60) as sibling:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anyio.to_thread.run_sync, lambda: (time.sleep(1), server.process.kill()))
                with anyio.fail_after(patience(30)):
                    ending = await sibling.execute(
                        "import time; time.sleep(60)", timeout=60, collector=OutputCollector(1000)
                    )
            assert ending.cause == "died"
            assert "connection" in ending.note
            assert not sibling.is_alive
        assert await soon(lambda: server.leftovers() == [])


FAULTS = {
    "wrong token": ({}, "wrong", MissingRequirement, "refuses the token"),
    "no token": ({}, None, MissingRequirement, "requires a token"),
    "no such kernel": ({"kernel": "nowhere"}, TOKEN, MissingRequirement, "no kernel 'nowhere'"),
    "nobody there": (
        {"gateway": "http://127.0.0.1:9"},
        TOKEN,
        MissingRequirement,
        "cannot be reached: Connection refused",
    ),
    "no address": ({"gateway": "localhost:8888"}, TOKEN, UsageError, "not an http"),
    "a token in it": ({"gateway": "http://localhost:1/?token=abc"}, None, UsageError, "EXPLORACODER_GATEWAY_TOKEN"),
    "isolation": ({"isolation": "require"}, TOKEN, MissingRequirement, "The isolation of a remote kernel is unknown"),
    "live state": ({"state": "live"}, TOKEN, MissingRequirement, "start in fresh kernels"),
    "forks": ({"branching": "fork"}, TOKEN, MissingRequirement, "are not forked"),
    "none": ({"gateway": None}, TOKEN, UsageError, "No gateway"),
}


@on_each_server
@pytest.mark.parametrize("settings, token, kind, message", FAULTS.values(), ids=FAULTS)
async def test_a_problem_of_the_server_is_one_sentence(server, tmp_path, settings, token, kind, message):
    sandbox = Sandbox(**{"gateway": server.url, **settings})
    with pytest.raises(kind, match=message) as caught:
        async with RemoteSiblings(sandbox, workdir=tmp_path, token=token and SecretStr(token)):
            pass
    assert caught.value.remedy
    assert "abc" not in str(caught.value) and TOKEN not in str(caught.value)


class _Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>welcome</html>")

    def log_message(self, *args):
        """Quiet."""


async def test_another_kind_of_server_is_recognized(tmp_path):
    with HTTPServer(("127.0.0.1", 0), _Page) as page:
        Thread(target=page.serve_forever, daemon=True).start()
        with pytest.raises(MissingRequirement, match="does not answer like a Jupyter Server"):
            await open_gateway(f"http://127.0.0.1:{page.server_port}", kernel=None, token=None)
        page.shutdown()


async def test_a_missing_optional_dependency_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jupyter_server", None)
    with pytest.raises(MissingRequirement) as caught:
        await open_gateway("http://127.0.0.1:9", kernel=None, token=None)
    assert "exploracoder-jupyter[remote]" in caught.value.remedy


def test_the_server_library_is_imported_only_when_used():
    code = "import sys, exploracoder_jupyter.kernels.remote.remote_siblings; print('jupyter_server' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def sleepers():
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["cmdline"] == SLEEP and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


def test_an_archive_from_over_there_writes_nowhere_else(tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name in ("good.txt", "../bad.txt", "/tmp/bad.txt", "deep/../../bad.txt", "large.txt", "good.txt/below.txt"):
            entry = tarfile.TarInfo(name)
            entry.size = 2000 if name == "large.txt" else 2
            packed.addfile(entry, io.BytesIO(bytes(entry.size)))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            entry = tarfile.TarInfo(f"link{kind.decode()}")
            entry.type, entry.linkname = kind, "/etc/passwd"
            packed.addfile(entry)
    kept = tmp_path / "kept"
    assert unpack_written(buffer.getvalue(), kept, max_bytes=1000) == ("good.txt",)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["good.txt"]
    assert unpack_written(b"no archive", kept, max_bytes=1000) == ()
