"""What a process in a branch's view can do that gets a user namespace all the same, with no filter in its way."""

import base64
import os
import socket
import subprocess
import sys

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernel_agent.confinement import linux_calls
from exploracoder_jupyter.kernels import open_siblings
from exploracoder_jupyter.kernels.sandbox.syscall_filter import compile_filter
from tests.integration.siblings import LEVELS, open_engine
from tests.levels import fully_confined
from tests.patience import patience

PROGRAM = """
import os, sys
from exploracoder_jupyter.kernel_agent.confinement import linux_calls, namespaces, sandbox_probe

def attempt(what, function, *arguments):
    try:
        function(*arguments)
        print(what, "works", flush=True)
    except OSError as error:
        print(what, "fails", flush=True)

def in_child(work):
    if os.fork() == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.wait()

def with_own_proc():
    linux_calls.unshare(linux_calls.CLONE_NEWUSER | linux_calls.CLONE_NEWNS | linux_calls.CLONE_NEWPID)
    print("user namespace works", flush=True)
    in_child(mount_proc)

def mount_proc():
    os.mkdir("proc")
    attempt("writable proc", linux_calls.mount, "proc", "proc", "proc")
    attempt("read-only proc", linux_calls.mount, "proc", "proc", "proc", linux_calls.MS_RDONLY)
    attempt("settings", os.open, "proc/sys/kernel/core_pattern", os.O_WRONLY)

def with_own_groups():
    attempt("control groups", linux_calls.unshare, linux_calls.CLONE_NEWUSER | linux_calls.CLONE_NEWNS | 0x2000000)

def view(order, nested):
    proc = namespaces.build_view(order)
    os.chdir(order["workdir"])
    namespaces.give_up_privileges()
    if nested is not None:
        sandbox_probe._in_child(
            lambda: sandbox_probe._enter_generation({**nested, "first": False}, nested=None, proc=proc)
        )
        return
    print("proc left over", os.path.exists("/run/explora.self"), flush=True)
    in_child(with_own_proc)
    in_child(with_own_groups)

sandbox_probe._test_view = view
sandbox_probe._test_generations(sys.argv[1], overlay=True)
"""


@pytest.mark.skipif(not fully_confined(), reason="there are no namespaces here")
def test_a_user_namespace_has_no_writable_proc(tmp_path):
    """Issue 14, items 1 and 2."""
    for name in ("files/sub", "work"):
        (tmp_path / name).mkdir(parents=True)
    command = [sys.executable, "-c", PROGRAM, os.path.realpath(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience(60))
    assert done.stdout.splitlines() == [
        "proc left over False",
        "user namespace works",
        "writable proc fails",
        "read-only proc works",
        "settings fails",
        "control groups fails",
    ], done.stderr


@pytest.mark.parametrize("level", ["fork-namespaces", "rerun-bubblewrap"])
async def test_a_home_below_the_temporary_folder_is_covered(level, tmp_path):
    """Issue 14, item 11: forking failed there, and the run fell back to kernels that repeat."""
    home = tmp_path.resolve() / "home"
    for name in (".ssh/id_ed25519", ".netrc", "letters/private.txt", "work/data.csv"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("content")
    environ = {"HOME": str(home), "PYTHONPATH": str(home / "letters")}
    async with open_engine(level, workdir=home / "work", environ=environ) as siblings:
        (branch,) = await (await siblings.root()).fork(1)
        seen = f"import glob; print(sorted(glob.glob('{home}/**/*', recursive=True, include_hidden=True)))"
        observation = await branch.run(seen, timeout=20)
    names = ["letters", "letters/private.txt", "work", "work/data.csv"]
    assert observation.text.strip() == str([f"{home}/{name}" for name in names])


@pytest.mark.parametrize("branching", ["fork", "rerun"])
async def test_a_run_without_a_filter_says_so(branching, tmp_path, monkeypatch):
    """Issue 14, item 7: and it still works, forks of forks included."""
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    async with open_siblings(Sandbox(branching=branching), workdir=tmp_path) as siblings:
        (branch,) = await (await siblings.root()).fork(1)
        (fork,) = await branch.fork(1)
        observation = await fork.run("1 + 1", timeout=20)
        assert "no system call filter" in siblings.environment().isolation
    assert observation.text == "2"


WITH_A_SOCKET = """
import base64, ctypes, os, socket, sys
from exploracoder_jupyter.kernel_agent.confinement import linux_calls

class Vector(ctypes.Structure):
    _fields_ = [("start", ctypes.c_char_p), ("size", ctypes.c_size_t)]

class Message(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("length", ctypes.c_uint), ("vectors", ctypes.POINTER(Vector)),
        ("count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("size", ctypes.c_size_t), ("flags", ctypes.c_int),
        ("sent", ctypes.c_uint),
    ]

def send_several():
    name = b"\\2\\0" + port.to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
    message = Message(name, 16, ctypes.pointer(Vector(b"x", 1)), 1, None, 0, 0, 0)
    ctypes.CDLL(None).sendmmsg(s.fileno(), ctypes.byref(message), 1, 1 << 29)

def connect_later():
    s.setsockopt(socket.IPPROTO_TCP, 30, 1)
    s.connect(address)
    s.send(b"x")

way, port, program = sys.argv[1], int(sys.argv[2]), base64.b64decode(sys.argv[3])
address = ("127.0.0.1", port)
s = socket.socket()
if program:
    linux_calls.restrict(readable=["/"], writable=[], network=False)
    linux_calls.install_program(program)
try:
    {
        "sendto": lambda: s.sendto(b"x", 1 << 29, address),
        "sendmsg": lambda: s.sendmsg([b"x"], [], 1 << 29, address),
        "sendmmsg": send_several,
        "option": connect_later,
        "connect": lambda: s.connect(address),
    }[way]()
except OSError:
    pass
"""


@pytest.mark.parametrize("way", ["sendto", "sendmsg", "sendmmsg", "option", "connect"])
def test_a_socket_from_before_opens_no_connection(way):
    """Issue 31, security 1: the server tells who has reached it, not the error."""
    program = compile_filter("landlock", network=False)
    if program is None or linux_calls.version() < 4:
        pytest.skip("no filter or no Landlock for TCP here")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(patience(10))
        port = str(server.getsockname()[1])
        for confined in (b"", program.program):
            encoded = base64.b64encode(confined).decode()
            subprocess.run([sys.executable, "-c", WITH_A_SOCKET, way, port, encoded], check=True, timeout=patience(60))
            if not confined:
                server.accept()[0].close()
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


ORDINARY = """
import asyncio, mmap, multiprocessing, os, socket, subprocess, sys, tempfile, threading
import psutil, zmq

own = os.sched_getaffinity(0)
os.sched_setaffinity(0, own)
thread = threading.Thread(target=os.sched_setaffinity, args=(0, own)); thread.start(); thread.join()
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0))
os.nice(0)
process = psutil.Process()
assert process.cpu_affinity() and process.nice() is not None and process.ionice() and process.rlimit(7)
context = zmq.Context(); a, b = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
a.bind("inproc://a"); b.connect("inproc://a"); a.send(b"x"); assert b.recv() == b"x"; context.destroy()

shared = mmap.mmap(-1, 10_000)
def work(pipe):
    shared[:4] = b"done"; pipe.send(os.getpid())
mine, theirs = multiprocessing.Pipe()
child = multiprocessing.get_context("fork").Process(target=work, args=(theirs,)); child.start()
assert mine.recv() == child.pid; child.join(); assert shared[:4] == b"done"

sleeping = subprocess.Popen(["sleep", "50"]); sleeping.terminate(); sleeping.wait()
async def run():
    started = await asyncio.create_subprocess_exec("true")
    return await started.wait()
result = []
thread = threading.Thread(target=lambda: result.append(asyncio.run(run()))); thread.start(); thread.join()
assert result == [0]
server = socket.socket(socket.AF_UNIX); server.bind(f"{tempfile.mkdtemp()}/s"); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect(server.getsockname()); client.send(b"x")
assert server.accept()[0].recv(1) == b"x"
print("works")
"""


@pytest.mark.parametrize("level", LEVELS)
async def test_ordinary_code_works_below_the_filter(level, tmp_path):
    """Issue 31, security 6: what names the process itself, and what libraries do at their start."""
    async with open_engine(level, workdir=tmp_path) as siblings:
        (branch,) = await (await siblings.root()).fork(1)
        observation = await branch.run(ORDINARY, timeout=patience(30))
    assert observation.text.strip() == "works", observation
