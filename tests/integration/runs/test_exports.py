"""A script runs where nothing but what it declares is installed, and a real run can be exported by either command."""

import functools
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from exploracoder_jupyter.cli import main
from tests.integration.traces import explore

EXAMPLES = Path(__file__).parents[3] / "examples"
BLOCK = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


def declared(script):
    """What the script asks an installer for, read as PEP 723 says."""
    lines = BLOCK.search(script.read_text(encoding="utf-8"))["content"].splitlines()
    return tomllib.loads("\n".join(line[2:] for line in lines))["dependencies"]


@functools.cache
def index_is_there():
    """Whether pip can reach its index."""
    asked = [sys.executable, "-m", "pip", "index", "versions", "ipykernel"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", ["2-griffe-recorded", "4-first-of-two-recorded", "explorations/first"])
def test_an_exported_script_passes_in_a_fresh_environment(name, tmp_path):
    script = tmp_path / "solution.py"
    assert main(["export", str(EXAMPLES / f"{name}.ipynb"), "--to", "script", "--out", str(script)]) == 0
    wanted = declared(script)
    assert all("==" in one for one in wanted)
    if not index_is_there():
        pytest.skip("pip has no index to install from")
    venv.create(tmp_path / "fresh")
    python = tmp_path / "fresh" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    install = ["install", "--quiet", "--disable-pip-version-check", *wanted]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    done = subprocess.run([python, "-I", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("The check passed.\n", "")


def test_a_script_names_files_to_put_beside_it(tmp_path):
    script = tmp_path / "solution.py"
    name = "6-found-by-searching-again-recorded"
    assert main(["export", str(EXAMPLES / f"{name}.ipynb"), "--out", str(script)]) == 0
    assert declared(script) == []
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == "These modules are missing; install them, or copy them next to this script: tidebook.\n"
    shutil.copytree(EXAMPLES / "tidebook", tmp_path / "tidebook")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0.5\nThe check passed.\n", "")


def test_a_run_is_exported_in_every_form(tmp_path, monkeypatch):
    subtasks = {"mean": ["import statistics\nprint(statistics.mean([1, 2]))", "import statistics\nstatistics.men([1])"]}
    solution = "import statistics\nmiddle = statistics.mean([1, 2])\nmiddle"
    trace = explore(tmp_path, subtasks, solution, monkeypatch=monkeypatch, check="assert middle == 1.5")
    forms = {"script": "trace.py", "html": "trace.html", "notebook": "trace-selected.ipynb"}
    for form in forms:
        assert main(["export", str(trace), "--to", form]) == 0
    ours = {name: (trace.parent / name).read_bytes() for name in forms.values()}
    (trace.parent / forms["html"]).unlink()
    command = [sys.executable, "-m", "nbconvert", "--log-level", "ERROR", "--to", "explora-html", str(trace)]
    subprocess.run(command, check=True)
    assert (trace.parent / forms["html"]).read_bytes() == ours[forms["html"]]
    done = subprocess.run([sys.executable, "-I", trace.parent / "trace.py"], capture_output=True, text=True, check=True)
    assert done.stdout == "1.5\nThe check passed.\n"
    assert b"AttributeError" in ours["trace.html"]
