"""What can be imported is what is promised, and importing it costs little."""

import importlib
import importlib.metadata
import os
import subprocess
import sys

import pytest

import exploracoder_jupyter

HEAVY = (
    "pydantic",
    "openai",
    "anyio",
    "sklearn",
    "numpy",
    "jinja2",
    "nbformat",
    "jupyter_client",
    "rich",
    "jedi",
    "faiss",
    "ipywidgets",
)


def _loaded_by(statement, *, given=""):
    """Which heavy packages the statement loads in a fresh interpreter where `given` has been executed."""
    program = (
        f"import sys\n{given}\nbefore = set(sys.modules)\n{statement}\n"
        f"print(*[name for name in {HEAVY!r} if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_public_names_are_sorted_and_importable():
    assert exploracoder_jupyter.__all__ == sorted(exploracoder_jupyter.__all__)
    for name in exploracoder_jupyter.__all__:
        assert getattr(exploracoder_jupyter, name) is not None


def test_the_version_is_the_distributions():
    assert exploracoder_jupyter.__version__ == importlib.metadata.version("exploracoder-jupyter")


@pytest.mark.parametrize(
    "statement",
    [
        "import exploracoder_jupyter.core.errors",
        "import exploracoder_jupyter.core.configuration.options",
        "import exploracoder_jupyter.kernel_agent",
        "from exploracoder_jupyter.cli.argument_parser import build_parser; build_parser()",
    ],
)
def test_a_light_import_stays_light(statement):
    assert _loaded_by(statement) == []


def test_loading_the_extension_imports_nothing_heavy():
    """In the user's kernel, `%load_ext` must be instant and leave it fork-safe; pages cost nothing before a run."""
    given = (
        "from IPython.testing.globalipapp import start_ipython\nshell = start_ipython()\n"
        "from IPython.utils.capture import capture_output"
    )
    statement = (
        "shell.run_line_magic('load_ext', 'exploracoder_jupyter')\n"
        "assert 'explora' in shell.magics_manager.magics['cell']\n"
        "with capture_output():\n    shell.run_cell_magic('explored', '2.1', 'x = 1')\n"
        "from exploracoder_jupyter.ipython_extension.browser.browser_comms import BrowserComms\n"
        "BrowserComms(lambda: None).register()"
    )
    assert _loaded_by(statement, given=given) == []


def test_a_search_waits_for_nothing_that_runs_code():
    loaded = _loaded_by("from exploracoder_jupyter.runs import search")
    assert {"jinja2", "jupyter_client", "nbformat", "openai", "sklearn"}.isdisjoint(loaded)


_ANY_ORDER = """
import importlib, os, sys
from types import ModuleType
sys.modules["rfc3987_syntax"] = None  # a grammar that nbformat would build, which takes two seconds
import anyio, jinja2, jupyter_client, nbformat, numpy, openai, pydantic, sklearn  # what each order would import again

def names_of_modules(package, backwards):
    names = sorted(package.__all__, reverse=backwards)
    return [name for _ in range(2) for name in names if isinstance(getattr(package, name), ModuleType)]

for package in ("runs", "pipeline", "kernels"):
    for backwards in (False, True):
        child = os.fork()
        if not child:
            print(names_of_modules(importlib.import_module(f"exploracoder_jupyter.{package}"), backwards), flush=True)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"{package} cannot be imported")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each order is tried in a fork")
def test_lazy_imports_work_in_any_order():
    """Also where a module has the name of what it defines."""
    done = subprocess.run([sys.executable, "-c", _ANY_ORDER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == 6 * "[]\n"
