"""What can be imported is what is promised, and importing it costs little."""

import importlib
import importlib.metadata
import subprocess
import sys

import pytest

import exploracoder_jupyter

HEAVY = (
    "pydantic",
    "openai",
    "anyio",
    "faiss",
    "sklearn",
    "numpy",
    "jinja2",
    "nbformat",
    "jupyter_client",
    "rich",
    "jedi",
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
        "import exploracoder_jupyter",
        "import exploracoder_jupyter.core.errors",
        "import exploracoder_jupyter.core.command_options",
        "import exploracoder_jupyter.kernel_agent",
        "from exploracoder_jupyter.cli.argument_parser import build_parser; build_parser()",
    ],
)
def test_a_light_import_stays_light(statement):
    assert _loaded_by(statement) == []


def test_the_extension_is_loaded_without_anything_heavy():
    """In the user's kernel, `%load_ext` must be instant and leave it fork-safe."""
    given = "from IPython.testing.globalipapp import start_ipython\nshell = start_ipython()"
    statement = (
        "shell.run_line_magic('load_ext', 'exploracoder_jupyter')\n"
        "assert 'explora' in shell.magics_manager.magics['cell']"
    )
    assert _loaded_by(statement, given=given) == []


def test_a_search_waits_for_nothing_that_runs_code():
    loaded = _loaded_by("from exploracoder_jupyter.runs import search")
    assert {"jinja2", "jupyter_client", "nbformat", "openai", "sklearn"}.isdisjoint(loaded)


@pytest.mark.parametrize("package", ["runs", "pipeline", "kernels"])
@pytest.mark.parametrize("order", ["", ", reverse=True"])
def test_what_is_imported_when_asked_for_is_there_in_any_order(package, order):
    """Also where a module has the name of what it defines."""
    name = f"exploracoder_jupyter.{package}"
    program = (
        f"import {name} as package\nfrom types import ModuleType\n"
        f"names = sorted(package.__all__{order})\n"
        "print([name for _ in range(2) for name in names if isinstance(getattr(package, name), ModuleType)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


@pytest.mark.parametrize("package", ["runs", "pipeline", "kernels"])
def test_a_name_that_is_not_there_is_an_attribute_error(package):
    module = importlib.import_module(f"exploracoder_jupyter.{package}")
    with pytest.raises(AttributeError, match=f"'exploracoder_jupyter.{package}' has no attribute 'nothing'"):
        _ = module.nothing
