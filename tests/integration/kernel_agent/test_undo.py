"""Checkpoints of real kernels, through ordinary clients."""

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from queue import Empty

import psutil
import pytest
from jupyter_client.manager import KernelManager
from jupyter_core.utils import ensure_event_loop

from tests.patience import patience, wait_until

pytestmark = pytest.mark.integration


class _Kernel:
    def __init__(self):
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel()
        self.client = self.connect()
        self.root = self.manager.provisioner.pid
        self.run("%load_ext exploracoder_jupyter\nimport os\nx = 1")

    def connect(self):
        client = self.manager.blocking_client()
        client.start_channels()
        client.wait_for_ready(timeout=patience(60))
        return client

    def run(self, code, client=None, **options):
        """Returns what a cell printed or evaluates to; fails if it raises."""
        status, text = self.try_run(code, client, **options)
        assert status == "ok", text
        return text

    def try_run(self, code, client=None, **options):
        shown = []
        client = client or self.client
        reply = client.execute_interactive(code, timeout=patience(30), output_hook=shown.append, **options)
        contents = [message["content"] for message in shown]
        texts = [
            one.get("text") or one.get("data", {}).get("text/plain") or one.get("evalue") or "" for one in contents
        ]
        return reply["content"]["status"], "".join(texts).strip()

    def processes(self):
        """Returns the living processes of the kernel's group."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if os.getpgid(process.pid) == self.root and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def live(self):
        return int(self.run("os.getpid()"))

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        wait_until(lambda: not self.processes(), 10, "the end of all processes")
        ensure_event_loop().close()


@pytest.fixture
def kernel():
    kernel = _Kernel()
    yield kernel
    kernel.end()


def test_back_restores_variables_and_redo_reverts_it(kernel):
    kernel.run("%explora checkpoint a")
    kernel.run("x, y = 2, 3")
    assert "removes y" in kernel.run("%explora checkpoint")
    for _ in range(3):
        kernel.run("%explora back a")
        assert kernel.run("x, 'y' in globals()") == "(1, False)"
        kernel.run("%explora back redo")
        assert kernel.run("x, y") == "(2, 3)"


def test_nothing_starts_before_the_first_checkpoint(kernel):
    kernel.run("%explora checkpoint")
    assert [process.pid for process in kernel.processes()] == [kernel.root]


def test_a_checkpoint_must_be_alone_in_its_cell(kernel):
    status, text = kernel.try_run("x = 2\n%explora checkpoint a")
    assert status == "error"
    assert "alone in its cell" in text
    assert len(kernel.processes()) == 1


def _count_executions(kernel, path):
    """Lets requests `note(text)` append a line to a file: going back does not undo that."""
    kernel.run(f"def note(text):\n    with open({str(path)!r}, 'a') as file:\n        file.write(f'{{text}}\\n')")


@pytest.mark.full
def test_two_busy_clients_lose_no_request(kernel, tmp_path):
    _count_executions(kernel, tmp_path / "executed")
    stopped = threading.Event()
    sent, replied = {}, {}

    def ask(name):
        client = kernel.connect()
        sent[name], replied[name] = [], []

        def read(timeout):
            with contextlib.suppress(Empty):
                while True:
                    replied[name].append(client.get_shell_msg(timeout=timeout)["parent_header"]["msg_id"])
                    timeout = 0

        while not stopped.is_set():
            sent[name].append(client.execute(f"note('{name} {len(sent[name])}')", store_history=False))
            read(0.01)
        end = time.monotonic() + patience(20)
        while len(replied[name]) < len(sent[name]) and time.monotonic() < end:
            read(0.1)
        client.stop_channels()
        ensure_event_loop().close()  # of this thread

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    kernel.run("%explora checkpoint a")
    for _ in range(5):
        time.sleep(0.2)
        kernel.run("%explora back a")
    time.sleep(0.3)
    stopped.set()
    for thread in threads:
        thread.join()
    executed = (tmp_path / "executed").read_text().splitlines()
    for name in ("first", "second"):
        assert replied[name] == sent[name]
        expected = [f"{name} {number}" for number in range(len(sent[name]))]
        assert [line for line in executed if line.startswith(name)] == expected


@pytest.mark.full
@pytest.mark.parametrize("origin", ["the first process", "a checkpoint"])
def test_a_long_queue_is_executed_once(kernel, tmp_path, origin):
    _count_executions(kernel, tmp_path / "executed")
    kernel.run("%explora checkpoint a")
    if origin == "a checkpoint":
        kernel.run("%explora back a")
    cells = [f"note({number})" for number in range(2600)]  # more than ipykernel has places for
    cells[:0], cells[50:50] = ["import time; time.sleep(2)"], ["%explora back a"]
    sent = [kernel.client.execute(cell, store_history=False) for cell in cells]
    replied = []
    with contextlib.suppress(Empty):
        while len(replied) < len(sent):
            replied.append(kernel.client.get_shell_msg(timeout=patience(20))["parent_header"]["msg_id"])
    assert replied == sent
    assert (tmp_path / "executed").read_text().split() == [str(number) for number in range(2600)]


@pytest.mark.full
def test_interrupt_ends_a_cell_after_back(kernel):
    kernel.run("%explora checkpoint a")
    kernel.run("%explora back a")
    request = kernel.client.execute("import time\nstarted = True\ntime.sleep(600)")
    time.sleep(1)
    kernel.manager.interrupt_kernel()
    reply = kernel.client._recv_reply(request, timeout=patience(20))
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert kernel.run("x") == "1"


@pytest.mark.full
def test_restart_after_back_leaves_no_process(kernel):
    kernel.run("%explora checkpoint a")
    kernel.run("%explora back a")
    old = kernel.processes()
    kernel.manager.restart_kernel()
    kernel.client.wait_for_ready(timeout=patience(60))
    kernel.root = kernel.manager.provisioner.pid
    assert kernel.run("'x' in globals()") == "False"
    wait_until(lambda: not any(_runs(process) for process in old), 10, "the end of the old processes")


@pytest.mark.full
def test_shutdown_request_ends_all_processes_after_back(kernel):
    kernel.run("%explora checkpoint a")
    kernel.run("%explora back a")
    kernel.client.shutdown()
    wait_until(lambda: not kernel.processes(), 20, "the end of all processes")


@pytest.mark.full
@pytest.mark.parametrize("moment", ["after a checkpoint", "after back"])
@pytest.mark.parametrize("victim", ["first process", "relay", "live kernel"])
def test_killing_a_process_leaves_no_orphan(kernel, moment, victim):
    kernel.run("%explora checkpoint a")
    if moment == "after back":
        kernel.run("%explora back a")
    pids = {"first process": kernel.root, "live kernel": kernel.live()}
    pids["relay"] = next(one.pid for one in kernel.processes() if "relay.py" in " ".join(one.cmdline()))
    os.kill(pids[victim], signal.SIGKILL)
    wait_until(lambda: not kernel.processes(), 10, "the end of all processes")


@pytest.mark.full
def test_a_killed_checkpoint_is_forgotten(kernel):
    kernel.run("%explora checkpoint a")
    known = {process.pid for process in kernel.processes()}
    kernel.run("%explora checkpoint b")
    (pid,) = {process.pid for process in kernel.processes()} - known
    os.kill(pid, signal.SIGKILL)
    status, text = kernel.try_run("%explora back b")
    assert status == "error"
    assert "There are: a" in text
    kernel.run("%explora back a")
    assert kernel.run("x") == "1"


@pytest.mark.full
def test_a_file_goes_on_at_its_old_offset(kernel, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("one\ntwo\nthree\n")
    kernel.run(f"file = open({str(path)!r})\nfile.readline()")
    kernel.run("%explora checkpoint a")
    kernel.run("rest = file.read()")
    kernel.run("%explora back a")
    assert kernel.run("file.readline()") == r"'two\n'"


@pytest.mark.full
def test_threads_that_would_stop_are_named(kernel):
    kernel.run(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True, name='poller').start()"
    )
    assert "poller" in kernel.run("%explora checkpoint a")
    assert "poller" in kernel.run("%explora back a")


@pytest.mark.full
def test_input_and_errors_work_after_back(kernel):
    kernel.run("%explora checkpoint a")
    kernel.run("%explora back a")
    answer = lambda _: kernel.client.input("typed")  # noqa: E731
    assert kernel.run("input()", allow_stdin=True, stdin_hook=answer) == "'typed'"
    assert kernel.try_run("1 / 0") == ("error", "division by zero")


def _runs(process):
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE and Path(f"/proc/{process.pid}").exists()
