"""Nothing is left behind: not after an end, not after a kill; and programs that read the environment."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import aclosing
from pathlib import Path

import anyio
import psutil
import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.core.errors import KernelError, MissingRequirement
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSiblings
from exploracoder_jupyter.kernels.launcher import open_launcher
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import find_isolation
from tests.patience import patience, wait_until

SECONDS = str(10**6 + os.getpid())
"""How long a process sleeps that no other run of these tests has."""
RUN = """
import anyio
from pathlib import Path
from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels.branching.rerun_branch import RerunSiblings

async def main():
    async with RerunSiblings(Sandbox(), workdir=Path.cwd()) as siblings:
        root = await siblings.root()
        code = "import subprocess; subprocess.Popen(['/bin/sleep', '<seconds>'], start_new_session=True)"
        print((await root.run(code, timeout=20)).status, flush=True)
        await anyio.sleep(60)

anyio.run(main)
"""


@pytest.fixture
def own_temporary(monkeypatch):
    """A temporary folder that only this test uses; short, as socket paths are."""
    with tempfile.TemporaryDirectory(prefix="t") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(folder)
    monkeypatch.setattr(tempfile, "tempdir", None)


def commands(text):
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["status"] != psutil.STATUS_ZOMBIE and any(
            text in word for word in process.info["cmdline"] or []
        ):
            found.append(process.info["cmdline"])
    return found


async def test_nothing_is_left_after_the_end(own_temporary, tmp_path):
    async with RerunSiblings(Sandbox(kernel="python3"), workdir=tmp_path) as siblings:
        root = await siblings.root()
        assert siblings.environment().kernel == "python3"
        assert (await root.run("1", timeout=patience(20))).status == "ok"
        assert commands(str(own_temporary)) != []
    assert commands(str(own_temporary)) == []
    assert list(own_temporary.iterdir()) == []
    assert [child for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE] == []


async def test_nothing_is_left_after_a_cancelled_start(own_temporary, tmp_path):
    with anyio.move_on_after(0.5):
        async with RerunSiblings(Sandbox(), workdir=tmp_path):
            await anyio.sleep(60)
    assert commands(str(own_temporary)) == []
    assert list(own_temporary.iterdir()) == []


async def test_a_half_removed_folder_waits_for_later_runs(own_temporary, monkeypatch):
    def cut_off(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        async with open_launcher(Sandbox(), workdir=own_temporary) as opened:
            patch.setattr(os, "unlink", cut_off)
    with (opened.folder / "lock").open("rb") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody holds it any more


def test_siblings_die_with_a_killed_engine(own_temporary, tmp_path):
    engine = subprocess.Popen(
        [sys.executable, "-c", RUN.replace("<seconds>", SECONDS)], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    with engine:
        assert engine.stdout.readline() == "ok\n"
        assert commands(SECONDS) != []
        engine.send_signal(signal.SIGKILL)
    wait_until(lambda: not (commands(str(own_temporary)) or commands(SECONDS)), 5, "the end of the siblings")


async def test_our_programs_see_no_credentials_beside_the_library(tmp_path):
    if not find_isolation(network=False).mounts:
        pytest.skip("bubblewrap does not work here")
    (tmp_path / ".env").write_text("tr0ub4dor")
    (tmp_path / "mylib.py").write_text(
        "try:\n    __doc__ = open('.env').read() + '.'\nexcept OSError:\n    __doc__ = 'Refused.'\n"
    )
    lines = [line async for line in local_inspector(Sandbox(), workdir=tmp_path)("introspection.api_walk", ["mylib"])]
    assert "tr0ub4dor" not in "".join(lines)
    assert "Refused." in "".join(lines)


@pytest.fixture
def project_folder():
    """A folder outside `/tmp`, which is shown to programs directly."""
    with tempfile.TemporaryDirectory(prefix=".project-", dir=Path(__file__).parents[1]) as folder:
        yield Path(folder)


async def test_credentials_of_another_user_hinder_no_program(project_folder):
    other = project_folder / "other"
    other.mkdir()
    (other / ".netrc").touch()
    if os.geteuid() == 0:
        os.chown(other, 65534, 65534)
    other.chmod(0o700 if os.geteuid() == 0 else 0)
    try:
        inspect = local_inspector(Sandbox(), workdir=project_folder)
        [line] = [line async for line in inspect("introspection.environment_report", [])]
        assert '"ipykernel==' in line
    finally:
        other.chmod(0o700)


async def test_credentials_deleted_meanwhile_hinder_no_sibling(monkeypatch, project_folder):
    monkeypatch.setenv("HOME", str(project_folder))
    (project_folder / ".git").mkdir()
    work = project_folder / "project" / "notebooks"
    work.mkdir(parents=True)
    (work.parent / ".git").mkdir()
    (work.parent / ".env").touch()
    async with RerunSiblings(Sandbox(), workdir=work) as siblings:
        root = await siblings.root()
        (work.parent / ".env").unlink()
        branches = [root, await siblings.root(), *await root.fork(1)]
        assert [(await branch.run("1", timeout=patience(20))).status for branch in branches] == ["ok"] * 3


async def test_a_program_that_fails_says_why(tmp_path):
    with pytest.raises(KernelError, match="no_such_program"):
        [line async for line in local_inspector(Sandbox(), workdir=tmp_path)("no_such_program", [])]


async def test_a_program_ends_when_nobody_reads_on(own_temporary, tmp_path):
    async with aclosing(local_inspector(Sandbox(), workdir=tmp_path)("introspection.environment_report", [])) as lines:
        assert await anext(lines)
    assert commands(str(own_temporary)) == []
    assert list(own_temporary.iterdir()) == []


@pytest.mark.parametrize("where", ["beside", "within"])
async def test_siblings_do_not_see_one_another(monkeypatch, tmp_path, where):
    if not find_isolation(network=False).mounts:
        pytest.skip("bubblewrap does not work here")
    code = "import glob; sorted(glob.glob({!r}, recursive=True, include_hidden=True))"
    with tempfile.TemporaryDirectory(prefix=".t", dir=Path(__file__).parents[1]) as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        workdir = Path(folder) if where == "within" else tmp_path
        (workdir / "data.csv").touch()
        async with RerunSiblings(Sandbox(), workdir=workdir) as siblings:
            first, second = await siblings.root(), await siblings.root()
            assert (await first.run("1", timeout=patience(20))).status == "ok"
            seen = await second.run(code.format(f"{folder}/**/c.json"), timeout=patience(20))
            assert seen.text.count("c.json") == 1
            assert (await second.run("open('data.csv').read()", timeout=patience(20))).status == "ok"


async def test_an_unknown_kernel_is_refused_with_others_named(tmp_path):
    with pytest.raises(MissingRequirement, match=r"no kernel 'nowhere'.*Installed: .*python3"):
        async with RerunSiblings(Sandbox(kernel="nowhere"), workdir=tmp_path):
            pass


async def test_a_failing_setup_is_our_error(tmp_path):
    async with RerunSiblings(Sandbox(), workdir=tmp_path, setup="1/0") as siblings:
        root = await siblings.root()
        with pytest.raises(KernelError, match="ZeroDivisionError"):
            await root.run("1", timeout=patience(20))
