"""The scripts of this repository."""

import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REQUIREMENT = re.compile(r"([\w-]+)[^;]*(?:.*extra == '(\w+)')?")


@pytest.mark.parametrize(("continuous", "status"), [("", 0), ("true", 1)])
def test_node_may_be_missing_only_outside_ci(tmp_path, continuous, status):
    (tmp_path / "bin").mkdir()
    for name in ("python", "ruff", "mypy", "lint-imports"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o700)
    for name in ("bash", "cat", "dirname", "mktemp", "rm"):
        (tmp_path / name).symlink_to(shutil.which(name))
    world = {"PATH": str(tmp_path), "VENV": str(tmp_path), "CI": continuous}
    done = subprocess.run(["bash", ROOT / "scripts" / "test"], env=world, capture_output=True, text=True)
    assert "there is no Node" in done.stdout
    assert done.returncode == status


def test_the_documentation_builds_with_its_extra_alone(tmp_path):
    required = [REQUIREMENT.match(item).groups() for item in requires("exploracoder-jupyter")]
    present = {name for name, extra in required if extra in (None, "site")}
    absent = {name.replace("-", "_") for name, _ in required if name not in present}
    assert "tree_sitter_java" in absent and "jedi" not in absent
    program = f"import sys; sys.modules.update(dict.fromkeys({sorted(absent)})); from mkdocs.__main__ import cli; cli()"
    command = [sys.executable, "-c", program, "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = (tmp_path / "site" / "reference" / "commands" / "index.html").read_text()
    assert "--budget-tokens" in made and "jupyter explora check" in made


@pytest.fixture
def examples(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "examples"


def _typed(command, folder):
    """What a command of the README prints, line by line."""
    program = shlex.split(command)
    assert program[:2] == ["jupyter", "explora"]
    done = subprocess.run(
        [sys.executable, "-m", "exploracoder_jupyter.cli", *program[2:]], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return (done.stdout + done.stderr).splitlines()


def test_the_readmes_first_command_prints_what_it_says(examples):
    readme = (ROOT / "README.md").read_text()
    [command] = re.findall(r"^jupyter explora run .*", readme, re.MULTILINE)
    printed = re.search(r"```text\n(Solved: .*?)```", readme, re.DOTALL)[1]
    assert {*printed.splitlines()} <= {*_typed(command, examples)}


def test_the_readmes_recorded_run_can_be_replayed(examples):
    [command] = re.findall(r"^jupyter explora replay .*", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert "It took the same course as the recorded run." in _typed(command, examples)
