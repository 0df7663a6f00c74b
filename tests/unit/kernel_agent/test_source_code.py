"""The program that finds source code without importing it, and what a library makes of its answer."""

import json
import sys

import pytest

from exploracoder_jupyter.core.errors import KernelError
from exploracoder_jupyter.kernel_agent.introspection import public_names, source_code
from exploracoder_jupyter.kernel_agent.introspection.source_code import INSTALLED, USER_OWN
from exploracoder_jupyter.knowledge.extraction.library_walk import read_source as read_source
from exploracoder_jupyter.pipeline.prompting import observations


@pytest.fixture
def jars(tmp_path, monkeypatch):
    package = tmp_path / "jarslib"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "raise SystemExit('imported')\n"
        "from . import inner\n"
        "from .inner import *\n"
        "from .inner.jar import count as count_beans, nowhere\n"
        "import jarslib.inner.jar as glass\n"
        "from .loop import *\n"
    )
    (package / "loop.py").write_text("from . import *\n")
    (package / "inner" / "__init__.py").write_text(
        "from .jar import Jar\nfrom . import jar\nclass Jug(Jar, jar.Glass):\n    def pour(self): ...\n"
    )
    (package / "inner" / "jar.py").write_text(
        "from typing import overload\n"
        "EMPTY = object()\n"
        "class Jar:\n"
        '    """Holds beans."""\n'
        "    @overload\n"
        "    def fill(self): ...\n"
        "    @property\n"
        "    @cached\n"
        "    def fill(self, n=1):\n"
        '        """Put beans in.\n\n        A long text.\n        """\n'
        "        return n\n"
        "class Glass:\n"
        "    def clean(self): ...\n"
        "try:\n"
        "    import fast\n"
        "except ImportError:\n"
        "    def count(jar): return len(jar)\n"
    )
    (package / "broken.py").write_text("def f(:\n")
    (package / "paged.py").write_text("\x0c\ndef one():\n    return 1\n\x0c\n\ndef two():\n    return 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "jarslib", raising=False)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("jarslib.inner.jar.Jar.fill", "@property\n@cached\ndef fill(self, n=1):\n    return n"),
        ("jarslib.inner.jar.count", "def count(jar): return len(jar)"),
        ("jarslib.inner.jar.EMPTY", "EMPTY = object()"),
        ("jarslib.count_beans", "def count(jar): return len(jar)"),
        ("jarslib.Jug.pour", "def pour(self): ..."),
        ("jarslib.Jug.clean", "def clean(self): ..."),
        ("jarslib.Jug.fill", "@property\n@cached\ndef fill(self, n=1):\n    return n"),
        ("jarslib.glass.Glass.clean", "def clean(self): ..."),
        ("jarslib.inner.jar.Glass.clean", "def clean(self): ..."),
        ("jarslib.nowhere", ""),
        ("jarslib.Jug.nothing", ""),
        ("jarslib.inner.jar.Jar.nothing", ""),
        ("jarslib.inner.jar.Jar.fill.deeper", ""),
        ("jarslib.broken.f", ""),
        ("nosuchlibrary.f", ""),
        ("math.sqrt", ""),
        ("..", ""),
        ("", ""),
    ],
)
def test_source_is_found_without_an_import(jars, path, source):
    assert source_code.find_source([path]).partition("\n")[2] == source
    assert "jarslib" not in sys.modules


def test_a_class_comes_without_docstrings(jars):
    assert source_code.find_source(["jarslib.inner.jar.Jar"]).splitlines()[1:3] == ["class Jar:", "    @overload"]
    assert source_code.find_source(["jarslib.inner.jar"]).splitlines()[1] == "from typing import overload"


@pytest.mark.parametrize(
    ("paths", "source"),
    [
        (["jarslib.inner.jar.EMPTY", "jarslib.Jug.pour"], "inner:\ndef pour(self): ..."),  # rather than an assignment
        (["jarslib.Jar", "jarslib.inner.jar.count"], "inner.jar:\ndef count(jar): return len(jar)"),
        (["jarslib.paged.two"], "paged:\ndef two():\n    return 2"),  # a form feed ends no line
    ],
)
def test_the_first_path_with_source_is_taken(jars, paths, source):
    assert source_code.find_source(paths) == f"{USER_OWN}jarslib.{source}"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Installs a package, optionally with a record of its origin."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.setattr(public_names.site, "getsitepackages", lambda: [str(folder)])
    monkeypatch.syspath_prepend(str(folder))
    public_names._folders.cache_clear()
    public_names._from_index.cache_clear()

    def made(note=None, installer="pip"):
        (folder / "beans.py").write_text("def fill(): ...\n")
        about = folder / "Beans-1.dist-info"
        about.mkdir()
        (about / "RECORD").write_text("Beans-1.dist-info/RECORD,,\nbeans.py,sha256=x,17\n")
        (about / "INSTALLER").write_text(f"{installer}\n")
        if note:
            (about / "direct_url.json").write_text(json.dumps(note))
        return folder

    yield made
    public_names._folders.cache_clear()
    public_names._from_index.cache_clear()


FOLDER = {"url": "file:///home/me/beans", "dir_info": {}}
REPOSITORY = {"url": "ssh://git@host/beans", "vcs_info": {"vcs": "git", "commit_id": "0"}}


@pytest.mark.parametrize(
    ("note", "installer", "whose"),
    [
        (None, "pip", INSTALLED),
        (FOLDER, "pip", USER_OWN),
        (REPOSITORY, "uv", USER_OWN),
        (FOLDER, "conda", INSTALLED),
    ],
)
def test_packages_from_an_index_are_distinguished_from_others(installed, note, installer, whose):
    installed(note, installer)
    assert source_code.find_source(["beans.fill"]) == f"{whose}beans:\ndef fill(): ..."


def test_a_link_to_a_users_folder_is_followed(installed, tmp_path):
    folder = installed()
    (tmp_path / "peas.py").write_text("def pod(): ...\n")
    (folder / "peas.py").symlink_to(tmp_path / "peas.py")
    assert source_code.find_source(["peas.pod"]).startswith(USER_OWN)


@pytest.mark.parametrize("path", ["statistics.median", "numpy.linalg.norm"])
def test_libraries_of_this_interpreter_are_public(path):
    assert source_code.find_source([path]).startswith(f"{INSTALLED}{path.partition('.')[0]}")
    assert INSTALLED == observations.INSTALLED


def test_an_editable_installation_is_the_users_own():
    assert source_code.find_source(["exploracoder_jupyter.core.lazy_imports.lazy_getattr"]).startswith(USER_OWN)


def answering(*lines, error=None):
    async def inspect(module, arguments):
        assert (module, arguments) == ("introspection.source_code", ["m.f"])
        for line in lines:
            yield line
        if error:
            raise error

    return inspect


@pytest.mark.parametrize(
    ("inspect", "source"),
    [
        (answering('{"source": "def f(): ..."}'), "def f(): ..."),
        (answering('{"source": null}'), ""),
        (answering("[1]"), ""),
        (answering("no JSON"), ""),
        (answering(error=KernelError("it died.")), ""),
    ],
)
async def test_what_cannot_be_read_is_no_source(inspect, source):
    assert await read_source(["m.f"], inspect=inspect) == source
