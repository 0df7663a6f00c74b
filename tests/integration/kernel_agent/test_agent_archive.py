"""The interpreters that are asked about themselves, and the archive that they run."""

import json
import os
import subprocess
import sys

import pytest

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.kernels.agent import find_interpreter, write_agent_archive


@pytest.fixture
def kernels(tmp_path, monkeypatch):
    def add(name, text):
        folder = tmp_path / "jupyter/kernels" / name
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(text)

    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    return add


def test_unusable_kernels_are_refused_in_words(kernels):
    kernels("julia", '{"argv": ["julia"], "display_name": "J", "language": "julia"}')
    kernels("xpython", '{"argv": ["xpython", "-f", "{connection_file}"], "display_name": "X", "language": "python"}')
    kernels("gone", '{"argv": ["/no/python", "-m", "ipykernel_launcher"], "display_name": "G", "language": "python"}')
    for name, words in {
        "julia": "not Python",
        "xpython": "ipykernel_launcher",
        "gone": "does not start",
        "q": "julia",
    }.items():
        with pytest.raises(MissingRequirement, match=words):
            find_interpreter(name)
    with pytest.raises(MissingRequirement, match="'/no/python' does not start"):
        find_interpreter(None, "/no/python")


def fake_python(folder, version, *, has_kernel):
    """A program that answers as an interpreter of this version would."""
    folder.mkdir()
    python = folder / "python"
    python.write_text(f"#!/bin/sh\necho '[{list(version)}, {json.dumps(has_kernel)}, [\"/usr\"]]'\n")
    python.chmod(0o700)
    return str(python)


def test_an_interpreter_that_cannot_run_kernels_is_refused(tmp_path, kernels):
    old = fake_python(tmp_path / "old", (3, 9), has_kernel=True)
    bare = fake_python(tmp_path / "bare", (3, 12), has_kernel=False)
    kernels("bare", json.dumps({"argv": [bare, "-m", "ipykernel_launcher"], "display_name": "B", "language": "python"}))
    for given in ((old, None), (None, old)):
        with pytest.raises(MissingRequirement, match=r"is Python 3\.9; .* need Python 3\.10"):
            find_interpreter(*given)
    for given in ((bare, None), (None, bare), ("bare", None)):
        with pytest.raises(MissingRequirement, match=f"has no ipykernel.* {bare} -m pip install ipykernel"):
            find_interpreter(*given)
        assert find_interpreter(*given, kernels=False).paths == ("/usr",)  # a search starts none


def test_a_named_interpreter_ignores_modules_of_the_folder(tmp_path, monkeypatch):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    for name in ("bin/python", str(python)):
        found = find_interpreter(None, name, kernels=False)
        assert (found.name, found.command) == ("python3", (str(python),))
        assert sys.base_prefix in found.paths


def test_files_of_the_user_shadow_no_module(tmp_path):
    archive = write_agent_archive(tmp_path / "kernel_agent.zip")
    for name in ("platform.py", "email.py", "argparse.py"):
        (tmp_path / name).write_text("raise ImportError")
    (tmp_path / "mylib.py").write_text("def own(): pass")
    for words in (["introspection.environment_report"], ["introspection.api_walk", "mylib"]):
        command = [sys.executable, "-S", archive, "{}", *words]  # no package of ours is installed
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert '"mylib.own"' in done.stdout


@pytest.mark.parametrize(("given", "hash_seed"), [({"PYTHONHASHSEED": "7"}, "7"), ({"PYTHONHASHSEED": ""}, "random")])
def test_the_environment_report_lists_what_results_depend_on(tmp_path, given, hash_seed):
    archive = write_agent_archive(tmp_path / "kernel_agent.zip")
    command = [sys.executable, archive, "{}", "introspection.environment_report"]
    environ = {**os.environ, **given, "TZ": "UTC"}
    done = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path, env=environ)
    found = json.loads(done.stdout)
    assert (found["hash_seed"], found["time_zone"]) == (hash_seed, "UTC+0000")
    assert any(line.startswith("pytest==") for line in found["packages"])
