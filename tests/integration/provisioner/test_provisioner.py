"""Forks of a running kernel, started by unmodified jupyter_client, nbclient and jupyter_server."""

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import nbformat
import psutil
import pytest
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.provisioner import open_fork
from tests.integration import remote_servers
from tests.integration.live_kernel import live_kernel
from tests.patience import patience, wait_until_async

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks live kernels")
WAYS = pytest.mark.parametrize("confined", [True, False], ids=["confined", "open"])
_SECONDS = 30
ATTACH = f"""
import sys
from jupyter_client import BlockingKernelClient
client = BlockingKernelClient()
client.load_connection_file(sys.argv[1])
client.start_channels()
client.wait_for_ready(timeout={10 * _SECONDS})
print(client.execute_interactive("print(items)", timeout={10 * _SECONDS})["content"]["status"])
client.stop_channels()
"""
BLOCKING = f"""
from jupyter_client import KernelManager
manager = KernelManager(kernel_name="fork")
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout={10 * _SECONDS})
first = client.execute_interactive("assert items == [1, 2]", timeout={10 * _SECONDS})["content"]["status"]
manager.restart_kernel()
client.wait_for_ready(timeout={10 * _SECONDS})
again = client.execute_interactive("assert items == [1, 2]", timeout={10 * _SECONDS})["content"]["status"]
client.stop_channels()
manager.shutdown_kernel()
print(first, again, manager.is_alive())
"""


@pytest.fixture
def folder():
    """Of a short path, as sockets need it."""
    path = Path(tempfile.mkdtemp(prefix="prov"))
    yield path
    shutil.rmtree(path)


@asynccontextmanager
async def running(folder):
    """A running kernel with something in it."""
    async with live_kernel(folder, transport="ipc") as kernel:
        given = "import os, threading\nitems, lock = [1, 2], threading.Lock()\nopen('data.txt', 'w').write('given')"
        assert (await kernel.run(given)).outcome == "ok"
        yield kernel


def specs_of(kernel, *, confined=True, **config):
    """A kernelspec that is a fork of this kernel, and nothing else."""
    config = {"connection_file": kernel.manager.connection_file, "confined": confined, **config}
    metadata = {"kernel_provisioner": {"provisioner_name": "explora-fork", "config": config}}
    spec = KernelSpec(argv=[], display_name="fork", language="python", metadata=metadata)

    class Specs(KernelSpecManager):
        def get_kernel_spec(self, kernel_name):
            return spec

    return Specs()


def write_spec(kernel, folder):
    """The same as a file, for a `JUPYTER_PATH`."""
    (folder / "kernels" / "fork").mkdir(parents=True)
    spec = specs_of(kernel).get_kernel_spec("fork").to_dict()
    (folder / "kernels" / "fork" / "kernel.json").write_text(json.dumps(spec))


def call(server, path, body, method):
    """The answer of a Jupyter Server."""
    headers = {"Authorization": f"token {remote_servers.TOKEN}"}
    request = urllib.request.Request(f"{server.url}/{path}", json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=patience(_SECONDS)) as answer:
        return json.loads(answer.read() or b"null")


def command_of(pid):
    """The words of a process's command; none where it has ended."""
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).cmdline()
    return []


@asynccontextmanager
async def started(kernel, **config):
    """A manager that has started a fork, and a client of it."""
    manager = AsyncKernelManager(kernel_name="fork", kernel_spec_manager=specs_of(kernel, **config))
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=patience(_SECONDS))
        yield manager, client
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


async def ended(pid):
    """Whether the process ends soon; its new parent has to reap it, which may take a while."""
    with anyio.move_on_after(patience(5)):
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            await anyio.sleep(0.05)
        return True
    return False


async def ask(client, expression):
    """The value of an expression, as text."""
    reply = await client.execute_interactive(
        "", silent=True, user_expressions={"x": expression}, timeout=_SECONDS, output_hook=lambda message: None
    )
    answer = reply["content"]["user_expressions"]["x"]
    return answer["data"]["text/plain"] if answer["status"] == "ok" else answer["evalue"]


@WAYS
async def test_a_fork_leaves_the_running_kernel_alone(folder, confined):
    async with running(folder) as kernel, started(kernel, confined=confined) as (manager, client):
        assert await ask(client, "items, type(lock).__name__, open('data.txt').read()") == "([1, 2], 'lock', 'given')"
        assert await ask(client, "__import__('pathlib').Path('data.txt').write_text('spoiled')") == "7"
        assert (folder / "work" / "data.txt").read_text() == ("given" if confined else "spoiled")

        request = client.execute("print('begun', flush=True); import time; time.sleep(60)", stop_on_error=False)
        while (await client.get_iopub_msg(timeout=patience(_SECONDS)))["msg_type"] != "stream":
            pass
        await manager.interrupt_kernel()
        while (reply := await client.get_shell_msg(timeout=patience(_SECONDS)))["parent_header"]["msg_id"] != request:
            pass
        assert reply["content"]["ename"] == "KeyboardInterrupt"

        before, file = manager.get_connection_info(), Path(manager.connection_file).read_text()
        first = manager.provisioner.pid
        assert first != kernel.process.pid
        assert await ask(client, "items.clear()") == "None"
        assert (await kernel.run("assert items == [1, 2]; items.append('later')")).outcome == "ok"
        await manager.restart_kernel()
        assert (manager.get_connection_info(), Path(manager.connection_file).read_text()) == (before, file)
        await client.wait_for_ready(timeout=patience(_SECONDS))
        assert await ask(client, "items") == "[1, 2, 'later']"
        assert manager.provisioner.pid != first
        assert await ended(first)

        await manager.signal_kernel(signal.SIGKILL)
        with anyio.fail_after(patience(_SECONDS)):
            while await manager.is_alive():
                await anyio.sleep(0.05)
        await manager.restart_kernel(now=True)
        await client.wait_for_ready(timeout=patience(_SECONDS))
        assert await ask(client, "items") == "[1, 2, 'later']"


async def test_a_cell_that_fails_meanwhile_is_waited_for(folder):
    async with running(folder) as kernel:
        # An error aborts what waits behind it.
        failing = kernel.client.execute("import time; time.sleep(2); items.append(3); 1 / 0")
        async with started(kernel) as (_, client):
            assert await ask(client, "items") == "[1, 2, 3]"
        assert (await kernel.finish(failing)).outcome == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("confined, now", [(True, True), (True, False), (False, False)])
async def test_a_shutdown_leaves_nothing(folder, confined, now):
    async with running(folder) as kernel:
        await anyio.sleep(patience(0.5))  # the history is being written
        census = kernel.census()
        async with started(kernel, confined=confined) as (manager, client):
            fork = psutil.Process(manager.provisioner.pid)
            assert await ask(client, "__import__('subprocess').Popen(['/bin/sleep', '600']).pid > 0") == "True"
            tree, address = [fork, *fork.children(recursive=True)], Path(manager.ip).parent
            assert len(tree) == 2 and address.exists()
            await manager.shutdown_kernel(now=now)
            assert not await manager.is_alive()
            assert [await ended(process.pid) for process in tree] == [True, True]
            assert not address.exists()
        assert (await kernel.run("pass")).outcome == "ok"  # which begins the thread of the history again
        await wait_until_async(lambda: kernel.census() == census, 5, "the state before the fork")


async def test_nbclient_executes_a_notebook_in_a_fork(folder, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", str(folder))
    async with running(folder) as kernel:
        write_spec(kernel, folder)

        async def execute(*sources, timeout=None):
            notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
            await NotebookClient(
                notebook, kernel_name="fork", timeout=timeout or round(patience(_SECONDS))
            ).async_execute()
            return notebook.cells

        cells = await execute("items.append(3); total = sum(items)", "print('seen'); total")
        assert cells[0].outputs == []
        assert [output["output_type"] for output in cells[1].outputs] == ["stream", "execute_result"]
        assert cells[1].outputs[1]["data"]["text/plain"] == "6"
        with pytest.raises(CellTimeoutError):
            await execute("while True: pass", timeout=2)
        with pytest.raises(DeadKernelError):
            await execute("os._exit(3)")
        assert (await kernel.run("assert items == [1, 2]")).outcome == "ok"


async def test_a_blocking_manager_finds_it_by_its_kernelspec(folder):
    async with running(folder) as kernel:
        write_spec(kernel, folder)
        command, environ = [sys.executable, "-c", BLOCKING], {**os.environ, "JUPYTER_PATH": str(folder)}
        done = await anyio.run_process(command, env=environ, check=False, stderr=None)
        assert (done.stdout, done.returncode) == (b"ok ok False\n", 0)


@pytest.mark.parametrize("confined, end", [(True, signal.SIGINT), (True, signal.SIGKILL), (False, signal.SIGKILL)])
async def test_the_command_keeps_a_fork_until_interrupted(folder, confined, end):
    async with running(folder) as kernel:
        before = set(psutil.pids())
        command = [sys.executable, "-m", "exploracoder_jupyter.cli", "fork", kernel.manager.connection_file]
        process = await anyio.open_process([*command, *([] if confined else ["--open"])], stderr=None)
        async with process:
            path = (await process.stdout.receive()).decode().strip()
            done = await anyio.run_process([sys.executable, "-c", ATTACH, path], stderr=None)
            assert done.stdout == b"[1, 2]\nok\n"
            process.send_signal(end)
            assert await process.wait() == (0 if end == signal.SIGINT else -signal.SIGKILL)
        left = set(psutil.pids()) - before
        ours = [pid for pid in left if kernel.manager.connection_file in command_of(pid)]  # a fork keeps the command
        assert all([await ended(pid) for pid in ours])
        assert (await kernel.run("items")).data[0]["text/plain"] == "[1, 2]"


async def test_a_jupyter_server_controls_the_fork(folder, monkeypatch):
    async with running(folder) as kernel:
        monkeypatch.setenv("JUPYTER_PATH", str(folder))
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(folder / "runtime"))
        write_spec(kernel, folder)
        (folder / "server").mkdir()
        with remote_servers.serve("jupyter server", folder / "server") as server:

            async def post(path, body=None, method="POST"):
                return await anyio.to_thread.run_sync(call, server, path, body, method)

            id = (await post("api/kernels", {"name": "fork"}))["id"]
            path = folder / "runtime" / f"kernel-{id}.json"

            async def attach():
                return (await anyio.run_process([sys.executable, "-c", ATTACH, path], stderr=None)).stdout

            assert await attach() == b"[1, 2]\nok\n"
            await post(f"api/kernels/{id}/interrupt")
            assert (await kernel.run("items.append(3)")).outcome == "ok"
            await post(f"api/kernels/{id}/restart")
            assert await attach() == b"[1, 2, 3]\nok\n"
            await post(f"api/kernels/{id}", method="DELETE")
            assert not path.exists()


async def test_what_cannot_be_forked_is_one_sentence(folder):
    async with running(folder) as kernel:
        pool = (
            "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1); pool.submit(int).result()"
        )
        assert (await kernel.run(pool)).outcome == "ok"
        with pytest.raises(KernelError, match=r"^The kernel cannot be forked: a thread pool is open, .*\.$"):
            async with started(kernel):
                pass
    with pytest.raises(KernelError, match=r".*none\.json is not the connection file of a kernel\."):
        async with open_fork(folder / "none.json"):
            pass
