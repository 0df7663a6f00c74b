"""What every implementation of the `Branch` port promises: one state, forked, files with memory; nothing raises."""

import sys
import time
from pathlib import Path

import anyio
import psutil
import pytest

from exploracoder_jupyter.config import Sandbox
from exploracoder_jupyter.execution import RerunSiblings, find_isolation
from exploracoder_jupyter.inside import variables

pytestmark = pytest.mark.anyio

LEVELS = ["bubblewrap", "limits"]
SHADOWS = ("queue.py", "random.py", "traitlets.py")
LIMITS = {"memory_mb": 512, "processes": 40, "file_mb": 20, "copy_mb": 20}


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module", params=LEVELS)
def level(request):
    """The isolation that the siblings get: each implementation and level passes the same tests."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "limits":
            patch.setenv("PATH", str(Path(sys.executable).parent))
        elif not find_isolation(network=False).mounts:
            pytest.skip("bubblewrap does not work here")
        yield request.param


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    (folder / "data.csv").write_text("a,b\n1,2\n")
    (folder / "helper.py").write_text("def twice(x):\n    return 2 * x\n")
    for name in SHADOWS:
        (folder / name).write_text("raise ImportError('the file of the user')\n")
    return folder


@pytest.fixture(scope="module")
async def siblings(level, workdir, anyio_backend):
    async with RerunSiblings(Sandbox(**LIMITS), workdir=workdir) as siblings:
        assert siblings.environment().isolation.startswith(level)
        yield siblings
    assert {path.name for path in workdir.iterdir()} == {"data.csv", "helper.py", *SHADOWS}
    assert (workdir / "data.csv").read_text() == "a,b\n1,2\n"


@pytest.fixture
async def root(siblings):
    branch = await siblings.root()
    yield branch
    await branch.close()


async def run(branch, code, timeout=20.0):
    return await branch.run(code, timeout=timeout)


async def shown(branch, code):
    observation = await run(branch, code)
    assert observation.status == "ok", observation
    return observation.text


async def test_forks_start_from_exactly_this_state(root):
    await run(root, "items = [1]\nn = 1")
    await run(root, "items.append(2); print('never shown again')")
    assert [await shown(fork, "(items, n, len(In))") for fork in await root.fork(2)] == ["([1, 2], 1, 4)"] * 2


async def test_what_one_fork_does_is_unseen_by_others_and_by_the_base(root):
    await run(root, "items = []")
    first, second = await root.fork(2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, first, "items.append('first'); x = 1")
        tasks.start_soon(run, second, "items.append('second')")
    assert await shown(first, "items") == "['first']"
    assert await shown(second, "items, 'x' in globals()") == "(['second'], False)"
    assert await shown(root, "items") == "[]"


async def test_files_branch_with_the_state(root):
    await run(root, "open('made.txt', 'w').write('by the base')")
    first, second = await root.fork(2)
    await run(first, "open('made.txt', 'a').write(' and the first'); open('mine.txt', 'w').close()")
    assert (
        await shown(second, "import os; open('made.txt').read(), os.path.exists('mine.txt')")
        == "('by the base', False)"
    )
    assert await shown(root, "open('made.txt').read()") == "'by the base'"


async def test_a_fork_of_a_fork_has_the_whole_history(root):
    branch = root
    for number in range(4):
        (branch,) = await branch.fork(1)
        await run(branch, f"x{number} = {number}")
    assert await shown(branch, "x0, x1, x2, x3") == "(0, 1, 2, 3)"


async def test_the_working_directory_is_as_the_user_sees_it(root, workdir, level):
    assert await shown(root, "import helper; helper.twice(4)") == "8"
    assert await shown(root, "open('data.csv').read()") == "'a,b\\n1,2\\n'"
    if level == "bubblewrap":
        assert await shown(root, f"import os; os.getcwd() == {str(workdir)!r}") == "True"
        assert await shown(root, f"open({str(workdir / 'data.csv')!r}, 'w').write('changed')") == "7"


async def test_a_timeout_interrupts_and_the_state_lives_on(root):
    await run(root, "x = 1")
    observation = await run(root, "while True: pass", timeout=0.5)
    assert (observation.status, observation.error.name) == ("timeout", "Timeout")
    assert "while True: pass" in observation.error.traceback
    assert await shown(root, "x") == "1"


async def test_what_does_not_answer_to_the_interrupt_is_ended_in_time(root):
    with anyio.fail_after(8):
        observation = await run(root, "sum(range(10**12))", timeout=0.5)
    assert observation.status == "timeout"
    assert "ended" in observation.note
    assert (await run(root, "1")).status == "died"


async def test_a_cut_off_state_cannot_be_forked_and_says_so(root):
    await run(root, "while True: pass", timeout=0.3)
    (fork,) = await root.fork(1)
    observation = await run(fork, "1")
    assert observation.status == "died"
    assert "cannot be repeated" in observation.error.message


async def test_a_state_that_changes_when_repeated_says_so(root):
    await run(root, f"import time\nassert time.time() < {time.time() + 5}")
    await run(root, "time.sleep(5)")
    (fork,) = await root.fork(1)
    observation = await run(fork, "1")
    assert (observation.status, observation.error.name) == ("died", "StateLost")
    assert "step 1 of 2 gave AssertionError" in observation.note


DEATHS = {
    "exit": ("import os; os._exit(9)", "status 9"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
    "asked": ("exit()", "asked the kernel to exit"),
    "processes": (
        "import subprocess, time\nall = [subprocess.Popen(['/bin/sleep', '60']) for _ in range(1000)]\ntime.sleep(9)",
        "more than 40 processes",
    ),
    "many files": (
        "import tempfile, time\nfor n in range(12):\n"
        "    open(f'{tempfile.gettempdir()}/{n}' if n % 2 else str(n), 'wb').write(bytes(10**7))\ntime.sleep(30)",
        "wrote more than 100 MB",
    ),
    "memory of a tree": (
        "import subprocess, sys, time\n"
        "grow = 'x = b\"1\" * 300_000_000; import time; time.sleep(60)'\n"
        "all = [subprocess.Popen([sys.executable, '-c', grow]) for _ in range(4)]\ntime.sleep(30)",
        "of memory",
    ),
}


@pytest.mark.parametrize("code, note", DEATHS.values(), ids=DEATHS)
async def test_a_death_is_an_observation_and_soon_noticed(root, code, note):
    await run(root, "x = 1")
    observation = await run(root, code, timeout=60)
    assert (observation.status, observation.error.name) == ("died", "KernelDied")
    assert note in observation.note
    assert observation.seconds < 20
    after = await run(root, "x")
    assert after.status == "died"
    assert "lost" in after.note


async def test_memory_that_forks_share_counts_once(root):
    code = (
        "import os, time\nx = bytearray(b'1') * 200_000_000\n"
        "for _ in range(4):\n    if not os.fork():\n        time.sleep(30); os._exit(0)\n"
        "time.sleep(1)\nlen(x)"
    )
    assert await shown(root, code) == "200000000"


async def test_threads_left_running_hold_nothing_up(root):
    code = "import threading, time\nt = threading.Thread(target=time.sleep, args=(600,)); t.start(); print('left')"
    observation = await run(root, code)
    assert (observation.status, observation.text) == ("ok", "left")
    assert observation.seconds < 5
    assert await shown(root, "t.is_alive()") == "True"
    with anyio.fail_after(8):
        await root.close()


async def test_closing_ends_daemons_too(root):
    code = "import subprocess; d = subprocess.Popen(['/bin/sleep', '98765'], start_new_session=True); d.pid"
    await run(root, code)
    assert _sleepers() != []
    await root.close()
    assert _sleepers() == []
    await root.close()


async def test_cancelling_a_run_ends_its_processes(root):
    with anyio.move_on_after(3):
        await run(root, "import subprocess; subprocess.run(['/bin/sleep', '98765'])", timeout=60)
    assert _sleepers() == []
    assert (await run(root, "1")).status == "died"


def _sleepers():
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["cmdline"] == ["/bin/sleep", "98765"] and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


async def test_variables_and_setup_are_there_from_the_start(level, tmp_path):
    numpy = pytest.importorskip("numpy")
    given = {"n": 3, "grid": numpy.arange(4).reshape(2, 2), "deep": {"k": [1, (2, 3)]}}
    variables.dump(given, given, str(tmp_path / "sent"))
    (tmp_path / "work").mkdir()
    async with RerunSiblings(
        Sandbox(), workdir=tmp_path / "work", setup="import math\nm = n + 1", variables=tmp_path / "sent"
    ) as siblings:
        root = await siblings.root()
        (fork,) = await root.fork(1)
        assert await shown(fork, "n, m, math.floor(2.5), grid.tolist(), deep") == (
            "(3, 4, 2, [[0, 1], [2, 3]], {'k': [1, (2, 3)]})"
        )
