"""The commands and the magic on a simulated macOS and a simulated Windows; see `tests.simulated`."""

import json
import os
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from exploracoder_jupyter import load_trace
from tests import simulated
from tests.json_output import json_result
from tests.patience import patience

LINUX_ONLY = ("kernel_agent.confinement", "kernel_agent.forking", "kernel_agent.undo")
IMPORTS = f"""
import importlib, pkgutil, exploracoder_jupyter
for found in pkgutil.walk_packages(exploracoder_jupyter.__path__, "exploracoder_jupyter."):
    name = found.name.removeprefix("exploracoder_jupyter.")
    if not name.startswith({LINUX_ONLY!r}) and not name.endswith(("__main__", "platforms.posix", "platforms.windows")):
        importlib.import_module(found.name)
"""
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
NotebookClient(notebook, timeout=int(sys.argv[2]), kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[1])
"""
RUN = [
    *("run", "-t", "Compute the median of [3, 1, 2] and store it in `middle`", "--library", "statistics"),
    *("--model", "offline", "--check", "assert middle == 2", "--out", "t.ipynb", "--json"),
]


MAGIC = """%%explora statistics --use prices --model offline --check 'assert middle == 2'
Compute the median of prices; store it in `middle`."""


class Machine:
    """Runs programs on the simulated system, in one folder and with one cache."""

    def __init__(self, folder, platform):
        self.folder, self.platform = folder / "work", platform
        for name in ("hook", "work", "home", "tmp"):
            (folder / name).mkdir()
        folders = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "CONFIG", "STATE", "DATA")}
        self.environ = {
            **os.environ,
            **folders,
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "IPYTHONDIR": str(folder / "ipython"),
            "PYTHONWARNDEFAULTENCODING": "1",  # Windows's default is not UTF-8
            **simulated.environment(folder / "hook", platform),
        }

    def run(self, *command):
        """Return the completed process, which succeeded."""
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            encoding="utf-8",
            timeout=patience(200),
        )
        assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-3000:]}"
        return done

    def explora(self, *arguments):
        """Return what the command prints."""
        return self.run("-m", "exploracoder_jupyter.cli", *arguments).stdout


@pytest.fixture(scope="module", params=simulated.PLATFORMS)
def machine(tmp_path_factory, request):
    return Machine(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def explored(machine):
    """The result of a run, whose trace is `t.ipynb`."""
    return json_result("run", machine.explora(*RUN))


def test_what_starts_up_imports(machine):
    machine.run("-c", IMPORTS)


def test_paths_keep_their_backslashes(machine):
    program = (
        "from exploracoder_jupyter.ipython_extension.magic_line import parse_magic_line as parse\n"
        "print(parse('statistics --python C:' + chr(92) + 'x').layer['sandbox']['python'])"
    )
    printed = machine.run("-c", program).stdout.strip()
    assert printed == ("C:\\x" if machine.platform == "win32" else "C:x")


def test_libraries_are_searched(machine):
    found = json_result("search", machine.explora("search", "statistics", "median of data", "--json"))
    assert "statistics.median" in [row["path"] for row in found["results"]]


@pytest.mark.full  # reads all that is installed
def test_packages_are_found(machine):
    found = json_result("find", machine.explora("find", "validate JSON against a schema", "--json"))
    assert found["packages"]


def test_a_run_solves_its_task(machine, explored):
    assert explored["status"] == "solved"


def test_isolation_is_described_truthfully(machine, explored):
    environment = load_trace(machine.folder / "t.ipynb").state.started.environment
    assert environment.branching == "rerun"
    assert ("Windows" in environment.isolation) == (machine.platform == "win32")
    assert "network" in environment.isolation and "installed" not in environment.isolation


def test_a_trace_is_checked(machine, explored):
    json_result("check", machine.explora("check", "t.ipynb", "--json"))


@pytest.mark.parametrize("form", ["py", "html", "ipynb"])
def test_a_trace_is_exported(machine, explored, form):
    machine.explora("export", "t.ipynb", "--out", f"out.{form}")
    assert "median" in (machine.folder / f"out.{form}").read_text(encoding="utf-8")


def test_the_history_names_the_run(machine, explored):
    assert "median" in machine.explora("history")


def test_doctor_starts_a_sibling(machine):
    done = subprocess.run(
        [sys.executable, "-m", "exploracoder_jupyter.cli", "doctor", "--json"],
        cwd=machine.folder,
        env=machine.environ,
        capture_output=True,
        encoding="utf-8",
        timeout=patience(120),
    )
    found = json_result("doctor", done.stdout)
    assert found["branching"] == "rerun" and found["state"].startswith("fresh")


def test_the_magic_explores_in_a_notebook(machine):
    sources = [
        "%load_ext exploracoder_jupyter\nprices = [3, 1, 2]",
        MAGIC,
        "%explora search statistics median",
        "try:\n    get_ipython().run_line_magic('explora', 'checkpoint a')\nexcept Exception as e:\n    print(e)",
    ]
    path = machine.folder / "n.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    machine.run("-c", EXECUTE, str(path), str(round(patience(150))))
    shown = json.dumps([cell.outputs for cell in nbformat.read(path, 4).cells])
    assert "Solved" in shown and "statistics.median" in shown and "Linux only" in shown
