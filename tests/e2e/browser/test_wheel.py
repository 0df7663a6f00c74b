"""What is installed: the extension comes prebuilt with the package, whichever way that is installed, without Node."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SHARED = "share/jupyter/labextensions/exploracoder-jupyter"


def bundle():
    """What was built, by name, with what pip adds to it."""
    folder = ROOT / "exploracoder_jupyter" / "labextension"
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} | {"install.json"}


def listed(jupyter, **environ):
    """The extension's line in `jupyter labextension list`, with nothing else on the path."""
    assert shutil.which("node", path=environ["PATH"]) is None
    done = subprocess.run([jupyter, "labextension", "list"], capture_output=True, text=True, env=os.environ | environ)
    assert done.returncode == 0, done.stderr
    output = re.sub(r"\x1b\[\d*m", "", done.stdout + done.stderr)
    [line] = [line for line in output.splitlines() if "exploracoder-jupyter" in line]
    return line


def test_jupyterlab_lists_it_as_enabled_without_node(environment, tmp_path):
    assert "enabled OK (python, exploracoder-jupyter)" in listed(environment / "bin" / "jupyter", PATH=str(tmp_path))


@pytest.mark.full
def test_an_editable_install_has_it_too(tmp_path):
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=True)
    pip = [folder / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    empty = tmp_path / "empty"
    empty.mkdir()
    environ = {"PATH": str(empty)}
    subprocess.run([*pip, "install", "--no-deps", "--editable", ROOT], check=True, env=os.environ | environ)
    shared = folder / SHARED
    assert {path.relative_to(shared).as_posix() for path in shared.rglob("*") if path.is_file()} == bundle()
    environ["JUPYTER_PATH"] = str(folder / "share" / "jupyter")
    assert "enabled OK" in listed(Path(sys.executable).parent / "jupyter", **environ)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, stdout=subprocess.DEVNULL)
    return folder


def test_the_wheel_has_the_bundle_once(built):
    [wheel] = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition(f"{SHARED}/")[2] for name in names if SHARED in name} == bundle()
    assert [name for name in names if name.startswith("exploracoder_jupyter/labextension")] == []


def test_the_sdist_has_the_sources_and_nothing_installed(built):
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"labextension/src/index.ts", "mkdocs.yml", "CITATION.cff"} <= names
    assert {"examples/high-water.txt", "examples/tidebook/__init__.py"} <= names
    assert [name for name in names if name.startswith(("labextension/node_modules", "labextension/lib"))] == []
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:  # not where the sources themselves were unpacked
        tracked = {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}
        assert tracked - names == set()
