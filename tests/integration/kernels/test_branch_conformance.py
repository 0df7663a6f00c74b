"""What every implementation of the `Branch` port promises, at each level that it has: one state, forked, files with
memory; nothing raises.

Each branch that reruns takes a new kernel, seconds of processor time. Therefore what leaves a kernel whole is tried in
one branch (`shared`), and what depends on no confinement at one of the two levels that rerun (`at_one_rerun_level`).
"""

import time

import anyio
import psutil
import pytest

from exploracoder_jupyter.kernel_agent import variable_transfer
from exploracoder_jupyter.kernels.observing.output_text import shown_text
from tests.integration.siblings import LEVELS, open_engine
from tests.patience import patience, wait_until_async

SHADOWS = ("queue.py", "random.py", "traitlets.py")
LIMITS = {"memory_mb": 512, "processes": 40, "file_mb": 20, "copy_mb": 20}


SECOND_RERUN_LEVEL = "rerun-limits"


def at_one_rerun_level(test):
    """Mark what depends on how states are branched, and not on how branches are confined."""
    test.at_one_rerun_level = True
    return test


def pytest_generate_tests(metafunc):
    if "level" in metafunc.fixturenames:
        levels = [name for name in LEVELS if name != SECOND_RERUN_LEVEL]
        if not hasattr(metafunc.function, "at_one_rerun_level"):
            levels.append(SECOND_RERUN_LEVEL)
        metafunc.parametrize("level", levels, indirect=True, scope="module")


@pytest.fixture(scope="module")
def level(request):
    """Each implementation and level passes the same tests."""
    return request.param


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
    async with open_engine(level, LIMITS, workdir=workdir) as siblings:
        yield siblings
    assert {path.name for path in workdir.iterdir()} == {"data.csv", "helper.py", *SHADOWS}
    assert (workdir / "data.csv").read_text() == "a,b\n1,2\n"


@pytest.fixture
async def root(siblings):
    branch = await siblings.root()
    yield branch
    await branch.close()


@pytest.fixture(scope="module")
async def shared(siblings):
    """A branch for what leaves its kernel as it was."""
    root = await siblings.root()
    (branch,) = await root.fork(1)
    yield branch
    await root.close()


async def run(branch, code, timeout=None):
    return await branch.run(code, timeout=timeout or patience(20))


async def shown(branch, code):
    observation = await run(branch, code)
    assert observation.status == "ok", observation
    return as_shown(observation)


def as_shown(observation):
    """Its outputs as a person is shown them; `Observation.text` has what a model is shown in place of values."""
    return shown_text(observation.outputs)


@at_one_rerun_level
async def test_forks_start_from_exactly_this_state(root):
    await run(root, "items = [1]\nn = 1")
    await run(root, "items.append(2); cells = len(In); print('never shown again')")
    code = "items, n, len(In) - cells, In[-2][:5]"
    assert [await shown(fork, code) for fork in await root.fork(2)] == ["([1, 2], 1, 1, 'items')"] * 2


@at_one_rerun_level
async def test_large_outputs_come_from_every_generation(root):
    # As of a figure: more than 64 kB in one frame are sent without copying, with the help of a thread.
    large = "print('x' * 100_000, flush=True); display({'text/plain': 'y' * 100_000}, raw=True)"
    branch = root
    for _ in range(3):
        (branch,) = await branch.fork(1)
        assert (await run(branch, large)).status == "ok"


@at_one_rerun_level
async def test_what_a_fork_does_is_unseen_by_others_and_by_the_base(root):
    await run(root, "items = []")
    code = "items.append({0}); own_{0} = 1; items, [name for name in globals() if name.startswith('own_')]"
    forks = await root.fork(3)
    texts = await each(forks, *(code.format(number) for number in range(3)))
    assert texts == [f"([{number}], ['own_{number}'])" for number in range(3)]
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


async def test_the_working_directory_is_as_the_user_sees_it(shared, workdir, level):
    assert await shown(shared, "import helper; helper.twice(4)") == "8"
    assert await shown(shared, "open('data.csv').read()") == "'a,b\\n1,2\\n'"
    if level in ("rerun-bubblewrap", "fork-namespaces"):
        assert await shown(shared, f"import os; os.getcwd() == {str(workdir)!r}") == "True"
        assert await shown(shared, f"open({str(workdir / 'data.csv')!r}, 'w').write('changed')") == "7"


async def test_a_timeout_interrupts_and_the_state_lives_on(shared):
    await run(shared, "x = 1")
    observation = await run(shared, "while True: pass", timeout=0.5)
    assert (observation.status, observation.error.name) == ("timeout", "Timeout")
    assert "while True: pass" in observation.error.traceback
    assert await shown(shared, "x") == "1"


async def test_what_does_not_answer_to_the_interrupt_is_ended_in_time(root):
    with anyio.fail_after(patience(8)):
        observation = await run(root, "sum(range(10**12))", timeout=0.5)
    assert observation.status == "timeout"
    assert "ended" in observation.note
    assert (await run(root, "1")).status == "died"


@at_one_rerun_level
async def test_a_state_that_was_cut_off_is_forked_or_reported_as_lost(root, level):
    await run(root, "x = []\nwhile True: x = [1]", timeout=patience(0.3))
    (fork,) = await root.fork(1)
    observation = await run(fork, "x")
    if LEVELS[level].branching == "fork":
        assert (observation.status, as_shown(observation)) == ("ok", "[1]")
    else:
        assert observation.status == "died"
        assert "cannot be reproduced" in observation.error.message


@at_one_rerun_level
async def test_a_state_that_differs_when_repeated_is_forked_or_reported_as_lost(root, level):
    await run(root, "import time")  # what follows is measured from here: the kernel has started
    late = time.time() + patience(1)
    await run(root, f"assert time.time() < {late}")
    await run(root, f"time.sleep(max(0, {late} - time.time()))")
    (fork,) = await root.fork(1)
    observation = await run(fork, "'here'")
    if LEVELS[level].branching == "fork":
        assert (observation.status, as_shown(observation)) == ("ok", "'here'")
    else:
        assert (observation.status, observation.error.name) == ("died", "StateLost")
        assert "step 2 of 3 gave AssertionError" in observation.note


DEATHS = {
    "exit": ("import os; os._exit(9)", "status 9"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    "killed": ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
    "asked": ("exit()", "asked the kernel to exit"),
    "processes": (
        "import subprocess, time\nall = [subprocess.Popen(['/bin/sleep', '60']) for _ in range(1000)]\ntime.sleep(50)",
        "more than 40 processes",
    ),
    "memory of a tree": (
        "import subprocess, sys, time\n"
        "grow = 'x = b\"1\" * 300_000_000; import time; time.sleep(60)'\n"
        "all = [subprocess.Popen([sys.executable, '-c', grow]) for _ in range(4)]\ntime.sleep(30)",
        "of memory",
    ),
}


_OF_CHILDREN = ("status", "SIG")
"""Only its parent learns how a process ended: forks are not children of the engine."""


@pytest.mark.parametrize("code, note", DEATHS.values(), ids=DEATHS)
async def test_a_death_is_an_observation_and_soon_noticed(root, level, code, note):
    await run(root, "x = 1")
    observation = await run(root, code, timeout=patience(60))
    assert (observation.status, observation.error.name) == ("died", "KernelDied")
    status_is_known = LEVELS[level].branching == "rerun" or not note.startswith(_OF_CHILDREN)
    assert (note if status_is_known else "the kernel process ended") in observation.note
    assert observation.seconds < patience(20)
    after = await run(root, "x")
    assert after.status == "died"
    assert "lost" in after.note


async def test_a_disk_that_is_filled_is_an_observation(root, level):
    code = (
        "import tempfile, time\nfor n in range(12):\n"
        "    open(f'{tempfile.gettempdir()}/{n}' if n % 2 else str(n), 'wb').write(bytes(10**7))\ntime.sleep(30)"
    )
    observation = await run(root, code, timeout=patience(60))
    if level == "fork-namespaces":
        assert "No space left on device" in observation.error.message
    else:
        assert "wrote more than 100 MB" in observation.note


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
    assert (observation.status, as_shown(observation)) == ("ok", "left")
    assert observation.seconds < patience(5)
    assert await shown(root, "t.is_alive()") == "True"
    with anyio.fail_after(patience(8)):
        await root.close()


async def test_closing_ends_daemons_too(root):
    code = "import subprocess; d = subprocess.Popen(['/bin/sleep', '98765'], start_new_session=True); d.pid"
    await run(root, code)
    assert _sleepers() != []
    await root.close()
    assert _sleepers() == []
    await root.close()


async def test_cancelling_a_run_ends_its_processes(root):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, root, "import subprocess; subprocess.run(['/bin/sleep', '98765'])", 60)
        await wait_until_async(_sleepers, 20, "the process of the cell")
        tasks.cancel_scope.cancel()
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
    variable_transfer.dump(given, given, str(tmp_path / "sent"))
    (tmp_path / "work").mkdir()
    setup = "import math\nm = n + 1"
    async with open_engine(level, workdir=tmp_path / "work", setup=setup, variables=tmp_path / "sent") as siblings:
        root = await siblings.root()
        (fork,) = await root.fork(1)
        assert await shown(fork, "n, m, math.floor(2.5), grid.tolist(), deep") == (
            "(3, 4, 2, [[0, 1], [2, 3]], {'k': [1, (2, 3)]})"
        )


async def each(branches, *codes):
    """What the branches show of these codes, one each or one for all, all of them at once."""
    texts = [""] * len(branches)

    async def put(place, branch):
        texts[place] = await shown(branch, codes[place % len(codes)])

    async with anyio.create_task_group() as tasks:
        for place, branch in enumerate(branches):
            tasks.start_soon(put, place, branch)
    return texts


CARRIED = {
    "output": ("1 + 1\n2 + 3", "Out[max(Out)], _", "(5, 5)"),  # the last result, hence read first
    "generator": ("g = iter(range(9)); next(g); next(g)", "next(g), next(g)", "(2, 3)"),
    "lock held": ("import threading; lock = threading.Lock(); lock.acquire()", "lock.locked()", "True"),
    "random state": ("import random as r; r.seed(7); r.random()", "round(r.random(), 6)", "0.150849"),
    "lambda": ("def add(n): return lambda x: x + n\nadd_3 = add(3)", "add_3(4)", "7"),
    "half-read file": ("read = open('data.csv'); read.readline()", "read.readline(), read.tell()", "('1,2\\n', 8)"),
    "unwritten text": (
        "made = open('made.txt', 'w'); made.write('x')",
        "made.write('y'); made.close(); open('made.txt').read()",
        "'xy'",
    ),
    "figure": (
        "%matplotlib agg\nimport matplotlib.pyplot as plt; fig, ax = plt.subplots(); lines = ax.plot([1, 2])",
        "ax.plot([3]); len(plt.gcf().axes[0].lines), plt.get_fignums(), fig is plt.gcf()",
        "(2, [1], True)",
    ),
    "context": (
        "import contextvars, decimal; v = contextvars.ContextVar('v'); v.set(4); decimal.getcontext().prec = 5",
        "v.get(), decimal.getcontext().prec",
        "(4, 5)",
    ),
    "database in memory": (
        "import sqlite3; c = sqlite3.connect(':memory:', check_same_thread=False)\n"
        "c.executescript('create table t(n); insert into t values (4)')",
        "c.execute('insert into t values (5)').rowcount, c.execute('select sum(n) from t').fetchone()",
        "(1, (9,))",
    ),
}


@pytest.fixture(scope="module")
async def carriers(siblings):
    """Two forks of a base that is in all of these states, and the base."""
    root = await siblings.root()
    for before, _, _ in reversed(CARRIED.values()):
        assert (await run(root, before)).status == "ok", before
    yield [*await root.fork(2), root]
    await root.close()


@at_one_rerun_level
@pytest.mark.parametrize("code, text", [case[1:] for case in CARRIED.values()], ids=CARRIED)
async def test_what_only_memory_holds_is_the_same_in_each_fork(carriers, code, text):
    assert await each(carriers, code) == [text] * 3


@at_one_rerun_level
async def test_each_generation_has_the_whole_history(root, level):
    branch, line = root, [root]
    generations = 12 if LEVELS[level].branching == "fork" else 3
    for number in range(generations):
        (branch,) = await branch.fork(1)
        line.append(branch)
        code = f"items = [*globals().get('items', []), {number}]; open('all.txt', 'a').write('{number};')"
        seen = await run(branch, f"{code}\nitems, open('all.txt').read()")
        assert seen.status == "ok", seen
    assert as_shown(seen) == f"({list(range(generations))}, '{''.join(f'{n};' for n in range(generations))}')"
    assert await shown(line[0], "'items' in globals()") == "False"


async def test_grandchildren_see_the_files_of_their_ancestors_and_nobody_else_does(root):
    (mother,) = await root.fork(1)
    await run(mother, "import os; os.mkdir('made'); open('made/by-mother', 'w').close()")
    aunt, child = await mother.fork(2)
    await run(aunt, "open('made/by-aunt', 'w').close()")
    await run(child, "open('made/by-child', 'w').close()")
    (grandchild,) = await child.fork(1)
    await run(grandchild, "open('made/by-grandchild', 'w').close()")
    listed = "import os; sorted(os.listdir('made'))"
    assert await shown(grandchild, listed) == "['by-child', 'by-grandchild', 'by-mother']"
    assert await shown(child, listed) == "['by-child', 'by-mother']"
    assert await shown(aunt, listed) == "['by-aunt', 'by-mother']"
    assert await shown(mother, listed) == "['by-mother']"
    assert await shown(root, "import os; os.path.exists('made')") == "False"


async def test_a_deleted_file_stays_deleted_below_and_is_there_for_others(root):
    gone, other = await root.fork(2)
    await run(gone, "import os; os.remove('data.csv'); os.rename('helper.py', 'moved.py')")
    (below,) = await gone.fork(1)
    listed = "import os; [n for n in ('data.csv', 'helper.py', 'moved.py') if os.path.exists(n)]"
    assert await shown(below, listed) == "['moved.py']"
    assert await shown(other, listed) == "['data.csv', 'helper.py']"
    await run(below, "open('data.csv', 'w').write('anew')")
    (last,) = await below.fork(1)
    assert await shown(last, "open('data.csv').read()") == "'anew'"


async def test_what_a_branch_wrote_can_be_copied_out(root, tmp_path):
    (branch,) = await root.fork(1)
    await run(branch, "import os; os.mkdir('made'); open('made/new.txt', 'w').write('new'); os.remove('helper.py')")
    (below,) = await branch.fork(1)
    await run(below, "open('data.csv', 'a').write('3,4\\n')")
    assert sorted(await below.files(tmp_path / "kept")) == ["data.csv", "made/new.txt"]
    assert (tmp_path / "kept" / "made" / "new.txt").read_text() == "new"
    assert (tmp_path / "kept" / "data.csv").read_text() == "a,b\n1,2\n3,4\n"


async def test_closing_a_base_leaves_its_descendants_running(root):
    (base,) = await root.fork(1)
    await run(base, "x = 4; open('made.txt', 'w').write('by the base')")
    child, waiting = await base.fork(2)
    assert await shown(child, "x") == "4"
    (grandchild,) = await child.fork(1)
    await base.close()
    await child.close()
    assert await shown(grandchild, "x, open('made.txt').read()") == "(4, 'by the base')"
    assert await shown(waiting, "x") == "4"
    assert (await run(base, "x")).status == "died"


@at_one_rerun_level
async def test_forks_announced_ahead_start_from_the_state_at_the_fork(root):
    await run(root, "x = 1")
    await root.expect(2)
    await run(root, "x = 2")
    assert await each(await root.fork(2), "x") == ["2", "2"]


@at_one_rerun_level
async def test_a_branch_that_ends_itself_leaves_siblings_and_base(root):
    await run(root, "x = [1]")
    killed, other = await root.fork(2)
    assert await shown(other, "x") == "[1]"
    assert (await run(killed, "import os; os.kill(os.getpid(), 9)")).status == "died"
    assert await shown(other, "x") == "[1]"
    (late,) = await root.fork(1)
    assert await each([root, late], "x") == ["[1]"] * 2


async def test_a_timeout_that_ends_a_kernel_ends_its_daemons(root):
    code = "import subprocess\nsubprocess.Popen(['/bin/sleep', '98765'], start_new_session=True)\nsum(range(10**12))"
    assert (await run(root, code, timeout=patience(0.7))).status == "timeout"
    assert _sleepers() == []


ENDINGS = {
    "interrupt": ("import signal; signal.raise_signal(signal.SIGINT)", "KeyboardInterrupt"),
    "input": ("input()", "StdinNotImplementedError"),
    "sys.exit": ("import sys; sys.exit(3)", "SystemExit"),
    "error in a thread's result": (
        "from concurrent.futures import ThreadPoolExecutor as T\nT(2).submit(int, 'x').result()",
        "ValueError",
    ),
}


@pytest.mark.parametrize("code, name", ENDINGS.values(), ids=ENDINGS)
async def test_an_ending_is_reported_and_the_state_lives_on(shared, code, name):
    await run(shared, "x = 1")
    observation = await run(shared, code)
    assert (observation.status, observation.error.name) == ("error", name), observation
    assert await shown(shared, "x") == "1"


SERVED = {
    "await": ("import asyncio\nawait asyncio.sleep(0.01, 'slept')", "'slept'"),
    "tasks": ("import asyncio\nawait asyncio.gather(*[asyncio.to_thread(abs, -n) for n in (1, 2)])", "[1, 2]"),
    "thread": (
        "import threading\nt = threading.Thread(target=print, args=('in a thread',)); t.start(); t.join()",
        "in a thread",
    ),
    "thread pool": ("from concurrent.futures import ThreadPoolExecutor as T\nlist(T(3).map(abs, [-1, 2]))", "[1, 2]"),
    "process pool": (
        "from concurrent.futures import ProcessPoolExecutor as P\nwith P(2) as p: print(list(p.map(abs, [-1, 2])))",
        "[1, 2]",
    ),
    "command": ("!echo from a $((1+1))nd shell", "from a 2nd shell"),
    "command's lines": ("lines = !printf 'a\\nb'\nlist(lines)", "['a', 'b']"),
    "subprocess": ("import subprocess, sys\nsubprocess.check_output([sys.executable, '-c', 'print(6)'])", "b'6\\n'"),
    "raw writes": ("import os\nos.write(1, b'raw\\n')", "4"),
    "cell magic": ("%%capture it\nprint('held')", ""),
    "who": ("zzz = 1\n%who int", "zzz"),
    "help": ("abs?", ""),
    "timeit": ("%timeit -n 10 -r 2 1 + 1", "per loop"),
    "class": ("class A:\n    n = 3\nimport pickle\npickle.loads(pickle.dumps(A())).n", "3"),
}


@pytest.mark.parametrize("code, text", SERVED.values(), ids=SERVED)
async def test_a_branch_is_a_whole_kernel(shared, level, code, text):
    observation = await run(shared, code)
    if level == "fork-landlock" and "ProcessPool" in code:  # its locks would be files in /dev/shm, where others' are
        assert observation.error.name == "PermissionError"
        return
    assert observation.status == "ok", observation
    assert text in observation.text


@at_one_rerun_level
async def test_displays_are_updated_and_figures_shown(shared):
    code = """
from IPython.display import HTML, display
import matplotlib.pyplot as plt
handle = display(HTML("<b>old</b>"), display_id=True)
handle.update(HTML("<b>new</b>"))
lines = plt.plot([1, 2, 4])
"""
    observation = await run(shared, code)
    assert observation.status == "ok"
    assert observation.outputs[0]["data"]["text/html"] == "<b>new</b>"
    assert observation.outputs[-1]["data"]["image/png"]
    assert "Figure size" in as_shown(observation)


@at_one_rerun_level
async def test_names_are_reported(root):
    names = dict((await run(root, "import fractions\nhalf = fractions.Fraction(1, 2)\n_hidden = 1")).names)
    assert names == {"fractions": "module", "half": "fractions.Fraction"}
