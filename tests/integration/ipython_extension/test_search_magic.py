"""`%explora search` with the real command in a process of its own: what a person types, and what comes of it."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import anyio
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import exploracoder_jupyter
from exploracoder_jupyter.runs import search


@pytest.fixture
def shell():
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    exploracoder_jupyter.load_ipython_extension(shell)
    yield shell
    exploracoder_jupyter.unload_ipython_extension(shell)
    InteractiveShell.clear_instance()


def test_a_library_is_searched_and_then_searched_again(shell, capsys):
    assert shell.run_cell("hits = %explora search -k 5 statistics: what's the arithmetic mean of data?").success
    hits = shell.user_ns["hits"]
    assert "statistics.mean" in [hit.path for hit in hits]
    assert (len(hits), hits.query, hits.libraries[0].name) == (5, "what's the arithmetic mean of data?", "statistics")
    mean = next(hit for hit in hits if hit.path == "statistics.mean")
    assert mean.signature == "(data)"
    exec(mean.example, {})
    capsys.readouterr()
    assert shell.run_cell("%explora search middle value, the median?").success
    shown = capsys.readouterr().out
    assert "for “middle value, the median?”" in shown
    assert ". statistics.median(data)" in shown
    assert not shell.run_cell("%explora search no_such_libary: mean").success
    assert "Library 'no_such_libary' is not installed in this kernel's environment." in capsys.readouterr().err


@pytest.fixture
def notebook(tmp_path):
    """An interpreter that has a library, `jarlib`, which the one of these tests has not."""
    venv.create(tmp_path / "notebook", symlinks=True)
    python = tmp_path / "notebook" / "bin" / "python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "notebook")}))
    (site / "shared.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    (site / "jarlib.py").write_text('__all__ = ["fill"]\ndef fill(jar, n):\n    """Put n beans into the jar."""\n')
    return python


NOTEBOOK = """
import sys
from IPython.core.interactiveshell import InteractiveShell
import exploracoder_jupyter
shell = InteractiveShell.instance()
exploracoder_jupyter.load_ipython_extension(shell)
shell.run_line_magic("config", f"ExploraMagics.engine_python = {sys.argv[1]!r}")
hits = shell.run_line_magic("explora", "search jarlib: put beans into a jar")
print([hit.path for hit in hits])
"""


def test_search_reads_libraries_of_the_notebook(notebook, tmp_path):
    environ = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")}
    command = [notebook, "-c", NOTEBOOK, sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=tmp_path, check=False)
    assert done.stdout.endswith("['jarlib.fill']\n"), done.stdout + done.stderr


EXPLORING = """
import sys
from IPython.core.interactiveshell import InteractiveShell
import exploracoder_jupyter
shell = InteractiveShell.instance()
exploracoder_jupyter.load_ipython_extension(shell)
shell.run_line_magic("config", f"ExploraMagics.engine_python = {sys.argv[1]!r}")
shell.run_cell_magic("explora", "jarlib --model offline --wait", "Put beans into a jar.")
"""


def test_exploring_reads_libraries_of_the_notebook(notebook, tmp_path):
    environ = {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")}
    command = [notebook, "-c", EXPLORING, sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=tmp_path, check=False)
    (trace,) = (tmp_path / "explorations").glob("jarlib-*.ipynb")
    facts = json.loads(trace.read_text())["metadata"]["exploracoder_jupyter"]
    assert [library["name"] for library in facts["libraries"]] == ["jarlib"], done.stdout + done.stderr


class FailingModel:
    """Vectors of one number, unless the text speaks of memory."""

    @classmethod
    def from_pretrained(cls, path):
        return cls()

    def encode(self, texts, **options):
        if "memory" in texts:
            raise RuntimeError("CUDA out of memory.\nTried to allocate")
        return np.array([[len(text), 1.0] for text in texts])


def test_search_continues_without_a_failing_model(monkeypatch, tmp_path):
    module = ModuleType("model2vec")
    module.StaticModel, module.__spec__ = FailingModel, SimpleNamespace()
    monkeypatch.setitem(sys.modules, "model2vec", module)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    layer = {"retrieval": {"embedding_folder": str(tmp_path)}}
    found = [anyio.run(partial(search, ["queue"], query, 3, layers=[layer])) for query in ("put", "memory")]
    assert found[0]["notices"] == [] and found[1]["results"]
    (notice,) = found[1]["notices"]
    assert "failed: CUDA out of memory. The built-in index is used instead. Set embedding_folder" in notice
