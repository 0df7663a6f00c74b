"""What a process in a branch's view can do that gets a user namespace all the same, with no filter in its way."""

import os
import subprocess
import sys

import pytest

from exploracoder_jupyter.core.configuration.sandbox_settings import Sandbox
from exploracoder_jupyter.kernels import open_siblings
from tests.integration.siblings import open_engine
from tests.levels import fully_confined
from tests.patience import patience

PROGRAM = """
import os, sys
from exploracoder_jupyter.kernel_agent.confinement import namespaces, sandbox_probe, syscalls

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
    syscalls.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWPID)
    print("user namespace works", flush=True)
    in_child(mount_proc)

def mount_proc():
    os.mkdir("proc")
    attempt("writable proc", syscalls.mount, "proc", "proc", "proc")
    attempt("read-only proc", syscalls.mount, "proc", "proc", "proc", syscalls.MS_RDONLY)
    attempt("settings", os.open, "proc/sys/kernel/core_pattern", os.O_WRONLY)

def with_own_groups():
    attempt("control groups", syscalls.unshare, syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS | 0x2000000)

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
def test_a_user_namespace_gives_no_writable_proc_and_no_control_groups(tmp_path):
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
async def test_a_home_below_the_folder_for_temporary_files_is_covered(level, tmp_path):
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
