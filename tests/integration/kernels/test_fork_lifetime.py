"""Forked branches: nothing is left behind, what cannot be forked is run again, shared memory is not counted twice."""

import json
import subprocess
import sys
from pathlib import Path

import anyio
import psutil
import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import BranchingChanged, MissingRequirement
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.branching.forker import libraries_that_hung
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunBranch
from tests.patience import patience, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are Linux's")

FORK = {"branching": "fork", "memory_mb": 512}
POOL = """
import sys, threading, types
from concurrent.futures import ThreadPoolExecutor
sys.modules["numexpr"] = types.ModuleType("numexpr")  # known to keep threads
pool = ThreadPoolExecutor(1)
pool.submit(int).result()
lock = threading.Lock()
"""
ENGINE = """
import anyio, json, sys
from pathlib import Path
from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels import open_siblings

async def main():
    async with open_siblings(Sandbox(branching="fork"), workdir=Path.cwd()) as siblings:
        [branch] = await (await siblings.root()).fork(1)
        await branch.run("import subprocess, time; p = subprocess.Popen(['sleep', '1000'])", timeout=10)
        [grandchild] = await branch.fork(1)
        processes = [branch.process, grandchild.process]
        print(json.dumps([pid for one in processes for pid in (one.pid, one.reaper_pid) if pid]), flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def workdir(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def is_gone(pid):
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_branches_end_with_a_killed_engine(workdir):
    engine = subprocess.Popen([sys.executable, "-c", ENGINE], stdout=subprocess.PIPE, text=True, cwd=workdir)
    with engine:
        pids = json.loads(engine.stdout.readline())
        assert all(psutil.pid_exists(pid) for pid in pids)
        engine.kill()
    wait_until(lambda: all(map(is_gone, pids)), 10, "the end of the branches")


async def test_closing_leaves_no_process_and_no_descriptor(workdir):
    for round_ in range(2):
        if round_ == 1:
            before = len([*Path("/proc/self/fd").iterdir()])
        async with open_siblings(Sandbox(**FORK), workdir=workdir) as siblings:
            root = await siblings.root()
            root.expect(3)
            [branch] = await root.fork(1)
            await branch.run("x = 1", timeout=patience(10))
            [child] = await branch.fork(1)
            await branch.close()
            assert (await child.run("print(x)", timeout=patience(10))).text == "1"
            pids = [pid for one in (branch, child) for pid in (one.process.pid, one.process.reaper_pid) if pid]
    wait_until(lambda: all(map(is_gone, pids)), 10, "the end of the branches")
    assert len([*Path("/proc/self/fd").iterdir()]) <= before


async def test_only_a_hanging_fork_is_repeated_otherwise(workdir):
    async with open_siblings(Sandbox(**FORK), workdir=workdir, setup=POOL) as siblings:
        root = await siblings.root()
        sleeping, waiting, hanging = await root.fork(3)
        slept = await sleeping.run(
            "import time, threading; time.sleep(3); threading.Event().wait(1.5)", timeout=patience(20)
        )
        assert slept.status == "ok", slept
        waited = await waiting.run("lock.acquire(); lock.acquire()", timeout=5)
        assert waited.status == "timeout", waited
        assert not isinstance((await root.fork(1))[0], RerunBranch)
        assert libraries_that_hung() == []
        with anyio.fail_after(patience(30)), pytest.raises(BranchingChanged, match="numexpr"):
            await hanging.run("pool.submit(int).result()", timeout=patience(60))
        assert isinstance((await root.fork(1))[0], RerunBranch)
        assert libraries_that_hung() == ["numexpr"]


async def test_two_roots_may_be_forked_at_once(workdir):
    for _ in range(3):
        async with open_siblings(Sandbox(**FORK), workdir=workdir) as siblings:
            made = []

            async def take(siblings=siblings, made=made):
                made.extend(await (await siblings.root()).fork(3))

            with anyio.fail_after(patience(30)):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(take)
                    tasks.start_soon(take)
            assert len(made) == 6
            (await siblings.root()).expect(8)
            made[0].expect(8)


async def test_an_unforkable_state_is_repeated(workdir):
    async with open_siblings(Sandbox(**FORK), workdir=workdir) as siblings:
        [base] = await (await siblings.root()).fork(1)
        code = (
            "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\npool.submit(int).result()"
        )
        assert (await base.run(code, timeout=patience(10))).status == "ok"
        with pytest.raises(BranchingChanged, match=r"ThreadPoolExecutor|thread pool"):
            await base.fork(1)
        [again] = await base.fork(1)
        observed = await again.run("print(pool.submit(lambda: 42).result())", timeout=patience(20))
        assert observed.text == "42", observed


async def test_only_written_shared_memory_counts(workdir):
    setup = "big = bytearray(b'x') * (900 << 20)"
    async with open_siblings(Sandbox(**FORK), workdir=workdir, setup=setup) as siblings:
        reads, writes = await (await siblings.root()).fork(2)
        assert (await reads.run("print(len(big)); import time; time.sleep(2.5)", timeout=patience(20))).status == "ok"
        observed = await writes.run(
            "for i in range(0, len(big), 4096): big[i] = 1\nimport time; time.sleep(20)", timeout=40
        )
        assert observed.status == "died"
        assert "MB of memory" in observed.note
        assert (await reads.run("print(big[0])", timeout=patience(10))).text == "120"


async def test_the_full_level_can_be_required(workdir, monkeypatch):
    async with open_siblings(Sandbox(), workdir=workdir) as siblings:
        best = siblings.environment().isolation
    if best.startswith(("namespaces", "bubblewrap")):
        async with open_siblings(Sandbox(isolation="require"), workdir=workdir) as siblings:
            assert siblings.environment().isolation == best
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    with pytest.raises(MissingRequirement, match="not be fully isolated"):
        async with open_siblings(Sandbox(isolation="require", branching="rerun"), workdir=workdir):
            pass


@pytest.mark.parametrize("branching", ["fork", "rerun"])
async def test_files_open_at_once_are_bounded(branching, workdir):
    async with open_siblings(Sandbox(branching=branching, open_files=300), workdir=workdir) as siblings:
        [branch] = await (await siblings.root()).fork(1)
        observed = await branch.run("files = [open('/dev/null') for _ in range(400)]", timeout=patience(20))
        assert observed.error is not None
        assert "Too many open files" in observed.error.message
        assert (await branch.run("print(1)", timeout=patience(20))).text == "1"
