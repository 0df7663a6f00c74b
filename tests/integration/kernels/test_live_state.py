"""The user's running kernel is forked between cells and, from another thread, during a cell; nothing of it changes.

One story runs for each transport: a kernel gets everything of `live_aspects`, is forked in both ways, branches
look at all of it and spoil all of it, and then the kernel looks. Each test is about one part of the story.
"""

import shutil
import socketserver
import sqlite3
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.live_kernel import LiveKernel as Offered
from tests.integration.kernels.live_aspects import ASPECTS
from tests.integration.live_kernel import live_kernel
from tests.patience import patience

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks live kernels")

WAYS = ("between cells", "during a cell")
BUSY = "turns = 0\nwhile not os.path.exists('stop'):\n    turns += 1; time.sleep(0.005)\nprint('turned')\nturns > 10"
NOISE = """
import os, time
print('from a branch'); os.system('echo from a branch'); os.write(2, b'from a branch'); time.sleep(0.5)
'from a branch'
"""
_SECONDS = 20


@dataclass
class Story:
    """What happened."""

    branches: dict = field(default_factory=dict)
    """Way, aspect -> the outcome of its look in a branch."""
    spoiled: dict = field(default_factory=dict)
    kernel: dict = field(default_factory=dict)
    """Aspect -> the outcomes of its look and its `after` in the kernel."""
    cells: dict = field(default_factory=dict)
    """Other cells -> their reply, or observation, where they were run in a branch."""
    censuses: list = field(default_factory=list)
    strays: list = field(default_factory=list)
    received: list = field(default_factory=list)
    """By the server that the kernel is connected to."""
    history: list = field(default_factory=list)


@contextmanager
def echo_server(received):
    """The port of a server that echoes what it receives."""

    class Echo(socketserver.BaseRequestHandler):
        def handle(self):
            while data := self.request.recv(100):
                received.append(data)
                self.request.sendall(data)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


async def run_story(folder, transport):
    story = Story()
    with echo_server(story.received) as port:
        async with live_kernel(folder, transport=transport) as kernel:
            await begin(kernel, port)
            await anyio.sleep(patience(1))
            story.censuses.append(kernel.census())
            for way in WAYS:
                await branch_off(kernel, way, story)
            await kernel.run("pass")  # IPython ends its history's thread at a fork, and begins another at the next cell
            census = kernel.census()
            with anyio.move_on_after(patience(5)):  # SQLite opens the folder of the history for a moment, too
                while census != story.censuses[0]:
                    await anyio.sleep(0.05)
                    census = kernel.census()
            story.censuses.append(census)
            await look_again(kernel, story)
            story.strays = kernel.strays
    with sqlite3.connect(folder / "ipython" / "profile_default" / "history.sqlite") as database:
        story.history = [source for (source,) in database.execute("select source from history order by line")]
    database.close()
    return story


async def begin(kernel, port):
    given = [f"PORT, IN_BRANCH = {port}, False", *(aspect.given for aspect in ASPECTS.values()), "6 * 7"]
    for code in given:
        reply = await kernel.run(code)
        assert reply.outcome == "ok", (code, reply)


async def branch_off(kernel, way, story):
    """Fork in this way; look at everything in a branch, spoil everything, and end it."""
    workdir = Path(kernel.process.cwd())
    busy = kernel.client.execute(BUSY, allow_stdin=False) if way == "during a cell" else None
    await anyio.sleep(patience(0.3) if busy else 0)
    fork = kernel.fork_between_cells if way == "between cells" else kernel.fork
    sandbox = Sandbox(state="live", branching="fork")
    async with open_siblings(sandbox, workdir=workdir, live=Offered(fork)) as siblings:
        branch = await (await siblings.root()).fork(1)
        await visit(branch[0], way, story)
        if busy:
            (workdir / "stop").touch()
            story.cells["busy"] = await kernel.finish(busy)


async def visit(branch, way, story):
    async def run(code):
        observation = await branch.run(code, timeout=patience(_SECONDS))
        outcome = observation.status if observation.ran else f"{observation.status}: {observation.error}"
        return outcome, observation

    assert (await run("IN_BRANCH = True"))[0] == "ok"
    if way == "during a cell":
        story.branches[way, "turns"] = (await run("assert turns > 10"))[0]
    story.branches[way, "history"] = (await run("assert (_, Out[max(Out)]) == (42, 42) and '6 * 7' in In[-5:]"))[0]
    for name, aspect in ASPECTS.items():
        story.branches[way, name] = (await run(aspect.look))[0]
    for name, aspect in ASPECTS.items():
        story.spoiled[way, name] = (await run(aspect.spoil))[0]
    story.cells[way, "noise"] = (await run(NOISE))[1]


async def look_again(kernel, story):
    story.cells["history"] = await kernel.run("assert (Out[max(Out)], In[-3][:5]) == (True, 'turns')\n%history -l 3")
    for name, aspect in ASPECTS.items():
        for part, code in (("look", aspect.look), ("after", aspect.after)):
            story.kernel[name, part] = (await kernel.run(code)).outcome
    story.cells["shown"] = await kernel.run(
        "print('printed'); sys.stdout.flush(); os.system('echo written'); time.sleep(0.5); slider"
    )
    story.cells["comm"] = (await kernel.run("print(slider.comm.comm_id)")).printed.strip()
    content = {"comm_id": story.cells["comm"], "data": {"method": "update", "state": {"value": 7}}}
    kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", content))
    story.cells["widget"] = await kernel.run("assert (slider.value, moved) == (7, [7]), moved")
    story.cells["figure"] = await kernel.run("plt.plot([1, 2]); plt.show()")
    story.cells["last"] = await kernel.run("'the last cell'")
    await kernel.run("get_ipython().history_manager.writeout_cache(); time.sleep(0.3)")


@pytest.fixture(scope="module", params=["tcp", "ipc"])
def story(request):
    folder = Path(tempfile.mkdtemp(prefix="live"))
    yield anyio.run(run_story, folder, request.param)
    shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["history", *ASPECTS])
@pytest.mark.parametrize("way", WAYS)
def test_a_branch_sees_the_current_value(story, way, name):
    assert story.branches[way, name] == "ok"
    if name in ASPECTS:
        assert story.spoiled[way, name] == "ok"


@pytest.mark.parametrize("name", ASPECTS)
def test_the_kernel_behaves_as_if_nothing_had_happened(story, name):
    assert story.kernel[name, "look"] == "ok"
    assert story.kernel[name, "after"] == "ok"


def test_a_cell_continues_while_the_kernel_is_forked(story):
    assert story.branches["during a cell", "turns"] == "ok"
    assert story.cells["busy"].outcome == "ok"
    assert story.cells["busy"].printed == "turned\n"
    assert story.cells["busy"].data[0]["text/plain"] == "True"


def test_nothing_is_left_in_the_kernel(story):
    before, after = story.censuses
    assert after == before


def test_output_of_branches_does_not_reach_the_kernel(story):
    for way in WAYS:
        assert story.cells[way, "noise"].text.count("from a branch") == 4, way
    assert "from a branch" not in str(story.strays)
    assert story.received == [b"before", b"after"]


def test_outputs_widgets_and_figures_go_on(story):
    assert story.cells["shown"].printed == "printed\nwritten\n"
    assert "application/vnd.jupyter.widget-view+json" in story.cells["shown"].data[0]
    assert story.cells["widget"].outcome == "ok"
    if "figures" in ASPECTS:
        assert story.cells["figure"].data[0]["image/png"]


def test_the_history_has_nothing_of_the_branches(story):
    assert story.cells["history"].outcome == "ok"
    assert story.cells["history"].printed.startswith("6 * 7\nturns = 0")
    assert story.history[-2:][0] == "'the last cell'"
    assert not any("from a branch" in source for source in story.history)
    assert story.cells["last"].count == len(story.history) - 1


BUSY_CELLS = {
    "a cell that awaits": "import asyncio\nwhile not os.path.exists('stop'): await asyncio.sleep(0.01)",
    "a cell that prints": "while not os.path.exists('stop'): print('x' * 50); time.sleep(0.0005)",
    "threads that log and start processes": """
import logging, subprocess, threading
def work():
    while not os.path.exists("stop"):
        logging.warning("x"); subprocess.run(["true"]); time.sleep(0.005)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
""",
}
USE_LOCKS = """
import asyncio, logging, subprocess, threading
print("a"); logging.warning("b"); subprocess.run(["true"], check=True)
thread = threading.Thread(target=print, args=("c",)); thread.start(); thread.join()
await asyncio.sleep(0.01)
42
"""


async def fork_while(folder, busy):
    """Outputs of branches that were forked while the kernel was busy, and the outcome of its cell."""
    async with live_kernel(folder) as kernel:
        workdir, outputs = Path(kernel.process.cwd()), []
        assert (await kernel.run("import os, time")).outcome == "ok"
        request, replies = kernel.client.execute(busy, allow_stdin=False), []

        async def read():
            replies.append(await kernel.finish(request))

        async with anyio.create_task_group() as reading:
            reading.start_soon(read)
            for _ in range(2):
                sandbox = Sandbox(state="live", branching="fork")
                async with open_siblings(sandbox, workdir=workdir, live=Offered(kernel.fork)) as siblings:
                    for branch in await (await siblings.root()).fork(2):
                        outputs.append((await branch.run(USE_LOCKS, timeout=patience(_SECONDS))).text.split())
            (workdir / "stop").touch()
        return outputs, replies[0].outcome


@pytest.mark.parametrize("busy", BUSY_CELLS)
def test_locks_of_other_threads_delay_nothing(busy):
    folder = Path(tempfile.mkdtemp(prefix="live"))
    outputs, kernel = anyio.run(fork_while, folder, BUSY_CELLS[busy])
    shutil.rmtree(folder)
    assert kernel == "ok"
    assert all({"a", "c", "42"} <= {*words} for words in outputs), outputs
