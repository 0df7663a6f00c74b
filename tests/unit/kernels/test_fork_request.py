"""What a forked branch is requested to do: the mounts in their order, and its own connection and home."""

from dataclasses import replace
from pathlib import Path

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernel_agent.confinement import namespaces
from exploracoder_jupyter.kernels.agent import Interpreter
from exploracoder_jupyter.kernels.branching.forker import ForkRequestBuilder
from exploracoder_jupyter.kernels.launcher import Launcher
from exploracoder_jupyter.kernels.sandbox.fork_sandbox import SandboxLevel
from exploracoder_jupyter.kernels.sandbox.spawn_isolation import Isolation
from exploracoder_jupyter.kernels.sandbox.views import VisibleFiles
from exploracoder_jupyter.kernels.sandbox.working_directory import Snapshot


@pytest.fixture
def orders(tmp_path):
    run, home = tmp_path / "runs" / "run", tmp_path / "home"
    for folder in (run / "files", home / ".ssh", home / "project" / ".git"):
        folder.mkdir(parents=True)
    files = VisibleFiles((), (), (home / ".ssh",))
    launcher = Launcher(
        Sandbox(), Interpreter("python3", ("python",)), Isolation(""), run, run / "kernel_agent.zip", files
    )
    snapshot = Snapshot(home / "project", run / "files", (Path(".git"),), ())
    return ForkRequestBuilder(launcher, snapshot, SandboxLevel("namespaces", overlay=True))


def test_the_root_covers_the_machine_first(orders):
    order = orders.root(chdir=None)
    plan, after = order["plan"], order["after"]
    run = orders.launcher.folder
    covered = plan.index(["tmpfs", "size=64k,mode=700", str(run.parent)])
    assert ["bind", str(run / "kernel_agent.zip"), str(run / "kernel_agent.zip")] in plan[covered:]
    assert ["home", "tmp", "/tmp"] in plan
    assert not {"root", "workdir", "write"} & {step[0] for step in [*plan, *after]}
    assert order["borrowed"] == [str(orders.snapshot.source / ".git")]
    assert order["serve"] is False


def test_a_branch_serves_on_its_own_connection(orders):
    first, second = (orders.branch(number, Path(namespaces.BRANCH_HOME)) for number in (1, 2))
    assert first["connection"]["ip"].startswith(namespaces.BRANCH_HOME)
    assert first["connection"]["key"] != second["connection"]["key"]
    assert "plan" not in first
    assert orders.home_of(first) == Path(namespaces.BRANCH_HOME)


def test_below_full_isolation_homes_nest_and_stay_short(orders):
    orders = replace(orders, level=SandboxLevel("landlock"))
    home = orders.home_of(orders.root(chdir=None))
    for generation in range(14):
        home = orders.home_of(orders.branch(1000 + generation, home))
    inner = home.relative_to(orders.launcher.folder)
    assert len(str(inner)) < 60
    assert orders.branch(1, home)["landlock"]["writable"][0] == str(home / "1")
