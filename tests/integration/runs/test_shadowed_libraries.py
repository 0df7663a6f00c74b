"""A notice says which file experiments import in place of the library whose APIs were read."""

import compileall

import pytest

from exploracoder_jupyter.core.configuration.sections import Sandbox
from exploracoder_jupyter.kernels.agent import local_inspector
from exploracoder_jupyter.knowledge.extraction.library_surface import find_libraries
from exploracoder_jupyter.runs.exploration_run import check_origins
from tests.integration.command_line import explora
from tests.integration.siblings import open_engine
from tests.patience import patience

SHADOWS = {"networkx": "networkx.py", "mistune": "mistune/__init__.py", "tinycss2": "tinycss2.pyc"}
OWN = ("webencodings", "mine", "statistics", "griffe")


def make_folder(folder):
    """Three modules that shadow others, two names that shadow nothing, and the user's own module."""
    for name in ("networkx", "tinycss2", "mine"):
        (folder / f"{name}.py").write_text("x = 1\n")
    compileall.compile_file(folder / "tinycss2.py", legacy=True, quiet=1)
    (folder / "tinycss2.py").unlink()
    (folder / "mistune").mkdir()
    (folder / "mistune" / "__init__.py").touch()
    (folder / "webencodings").mkdir()
    (folder / "statistics.py").touch()  # IPython searches the standard library before the working directory


@pytest.mark.parametrize("level", ["rerun-bubblewrap", "fork-namespaces", "fork-limits"])
async def test_each_kind_of_shadow_is_named(tmp_path, level):
    make_folder(tmp_path)
    found = await find_libraries([*SHADOWS, *OWN], inspect=local_inspector(Sandbox(), workdir=tmp_path))
    async with open_engine(level, workdir=tmp_path) as siblings:
        root = await siblings.root()
        notices = await check_origins(root, {one.name: one.origin for one in found}, timeout=patience(30))
    assert len(notices) == len(SHADOWS)
    for notice, (name, file) in zip(notices, SHADOWS.items(), strict=True):
        assert f"{name!r} from {file} in this folder" in notice.text


def test_a_run_names_the_shadow_once(tmp_path):
    (tmp_path / "webencodings.py").write_text("def ascii_lower(text):\n    return 0\n")
    task = ["-t", "Lower 'ABC'", "--library", "webencodings", "--model", "offline"]
    done = explora("run", *task, folder=tmp_path)
    assert done.stderr.count("from webencodings.py in this folder") == 1, done.stderr
