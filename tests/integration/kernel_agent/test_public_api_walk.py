"""What counts as public where a library does not list it, and the signatures of everything public."""

from pathlib import Path

import pytest

from tests.integration.kernel_agent.programs import apis, run, write_files

SOURCES = {
    "forge/__init__.py": '''
        """A forge. Much is said of `forge.spoken.word`."""
        __all__ = ["Archive", "make", "needs", "tools", "Pipe", "Table", "native"]
        from forge._core import Archive, Pipe, Table, make, needs
    ''',
    "forge/_core.py": '''
        """Everything is made here."""
        from __future__ import annotations
        import functools
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from forge.results import Needs, Result
        def make(what: str, *, n: int | None = None, how=print) -> Result:
            """Make it."""
        def needs() -> Needs:
            """Say what is needed."""
        def hidden_recipe(iron):
            """Known to those who ask for it."""
        class Accessor:
            def __init__(self, methods): self.methods = methods
            def __get__(self, instance, owner): return self.methods
        class TextMethods:
            """Of text."""
            def upper(self):
                """Make it large."""
        class Table:
            """Rows."""
            text = Accessor(TextMethods)
            @property
            def size(self) -> int:
                """How many."""
            @functools.cached_property
            def wide(self) -> bool:
                """Whether it is."""
        class Archive(Table):
            """A table on disk."""
        class Mapper:
            """Applies a function to each."""
            def __init__(self, pipe, function):
                """
                Args:
                    function: what is applied.

                .. deprecated:: 2
                   The order of the two.
                """
        class Pipe:
            """Things one after another."""
            functions = {"map": functools.partial(lambda made, *given: made(*given), Mapper)}
            def __getattr__(self, name):
                return functools.partial(type(self).functions[name], self)
    ''',
    "forge/tools.py": """
        __all__ = ["hammer"]
        def hammer(): 'Hit it.'
        def swing(): 'Not listed: for the hammer alone.'
        class Anvil:
            def strike(self): 'Hit on it.'
    """,
    "forge/extra.py": "__all__ = ['bend']\ndef bend(): 'Bend it.'",
    "forge/spoken.py": "def word(): 'Say it.'\ndef song(): 'Sing it.'",
    "forge/handed.py": "from ._core import hidden_recipe",
    "forge/results.py": """
        from typing import TypedDict
        class Needs(TypedDict, total=False):
            'What it takes.'
            ore: str
        class Base:
            def weigh(self): 'Weigh it.'
        class Result(Base):
            'What was made.'
            def cool(self) -> None: 'Cool it.'
    """,
    "forge/inner.py": "def unseen(): 'Nobody speaks of it.'",
    "forge/native.py": '''
        class Native:
            """Cannot be asked how it is called."""
            def __init__(self, name, doc):
                self.__name__ = self.__qualname__ = name
                self.__module__ = "forge.native"
                self.__doc__ = doc
            @property
            def __signature__(self): raise ValueError("compiled")
            def __call__(self, *args, **kwargs): ...
        melt = Native("melt", "Melt it.")
        pour = Native("pour", "pour(self, metal, into=None) -> Ingot\\n\\nPour it.")
        cast = Native("cast", "cast(*args, **kwargs)\\nOverloaded.\\n\\n1. cast(form: int) -> Ingot\\n\\n2. cast()")
        mute = Native("mute", "It is mute (always).")
        __all__ = ["melt", "pour", "cast", "mute"]
    ''',
    "forge/native.pyi": """
        from typing import overload
        @overload
        def melt(ore: str) -> int: ...
        @overload
        def melt(ore: str, heat: float = 900.0) -> int: ...
    """,
    "annex.py": """
        __all__ = ["Mapper", "Pipe"]
        from forge import Pipe
        from forge._core import Mapper
    """,
    "lazy/__init__.py": '''
        """Loads what is asked for."""
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from lazy._slow import slow
        _TABLE = {"fast": "lazy._fast"}
        def __getattr__(name):
            import importlib
            if name == "slow":
                return importlib.import_module("lazy._slow").slow
            if name in _TABLE:
                return getattr(importlib.import_module(_TABLE[name]), name)
            raise AttributeError(name)
    ''',
    "lazy/_fast.py": "def fast(): 'Be quick.'",
    "lazy/_slow.py": "def slow(): 'Take your time.'",
    "endless.py": """
        class Meta(type):
            def __getattribute__(cls, name):
                if name == "reach":
                    while True: pass
                return type.__getattribute__(cls, name)
        class Trap(metaclass=Meta):
            reach = map
        def fine(): 'It is.'
    """,
    "clings.py": """
        import atexit, threading, time
        atexit.register(time.sleep, 60)
        threading.Thread(target=time.sleep, args=(60,)).start()
        def fine(): 'It is.'
    """,
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    return write_files(tmp_path_factory.mktemp("site"), SOURCES)


def walk(root: Path, *args: str) -> list[dict]:
    status, lines = run("api_walk", *args, path=(root,))
    assert status == 0
    return lines


@pytest.fixture(scope="module")
def forge(installed) -> dict[str, dict]:
    return apis(walk(installed, "forge"))


def test_only_what_users_can_know_is_public(forge):
    assert {
        "forge.make",
        "forge.tools.hammer",
        "forge.tools.Anvil.strike",  # a class that `__all__` forgets
        "forge.extra.bend",  # a module that the package does not list, with a list of its own
        "forge.spoken.song",  # a module that documentation speaks of
        "forge.handed.hidden_recipe",  # a module that hands on what is private
        "forge.results.Result.cool",  # what a call gives
    } <= set(forge)
    assert set(forge).isdisjoint(["forge.inner.unseen", "forge.tools.swing", "forge.results.Base"])
    assert forge["forge.results.Result.weigh"]["doc"] == "Weigh it."  # inherited from a class that is not public


def test_a_functional_form_aliases_its_class(forge):
    (mapper,) = (row for row in forge.values() if row["doc"].startswith("Applies a function"))
    assert "forge.Pipe.map" in (mapper["path"], *mapper["aliases"])
    assert mapper["doc"].endswith("function: what is applied.")  # of `__init__`, which is not the class


def test_functional_forms_of_reexported_classes_are_known(installed):
    assert "annex.Pipe.map" in apis(walk(installed, "annex"))["annex.Mapper"]["aliases"]


def test_accessor_methods_are_found_under_their_path(forge):
    assert forge["forge.Table.text"]["aliases"][0] == "forge.Archive.text"
    assert "forge.Table.text.upper" in forge


@pytest.mark.parametrize(
    ("path", "signature", "returns"),
    [
        ("forge.make", "(what: str, *, n: int | None = None, how=print) -> Result", "Result"),
        ("forge.results.Needs", "(*, ore: str = ...)", ""),
        ("forge.native.melt", "(ore: str, heat: float=900.0)", "int"),  # of a stub
        ("forge.native.pour", "(metal, into=None)", "Ingot"),
        ("forge.native.cast", "(form: int)", "Ingot"),
        ("forge.native.mute", "(*args, **kwargs)", ""),
        ("forge.Table.size", "", "int"),
        ("forge.Table.wide", "", "bool"),
    ],
)
def test_the_signature_comes_from_wherever_it_is_declared(forge, path, signature, returns):
    assert (forge[path]["signature"], forge[path]["returns"]) == (signature, returns)


def test_parameters_come_with_type_and_default(forge):
    assert forge["forge.make"]["parameters"] == [["what", "str", ""], ["n", "int | None", "None"], ["how", "", "print"]]


def test_a_module_is_asked_for_lazy_names(installed):
    assert set(apis(walk(installed, "lazy"))) == {"lazy.fast", "lazy.slow"}


def test_a_hanging_look_ends_the_walk_with_results(installed):
    lines = walk(installed, "endless", "--seconds", "0.5")
    assert "endless.fine" in apis(lines)
    assert lines[-1]["library"]["cut"]


def test_threads_of_a_library_delay_nothing(installed):
    assert "clings.fine" in apis(walk(installed, "clings"))


def test_a_module_can_be_left_out(installed):
    lines = walk(installed, "forge", "--without", "forge.tools")
    assert "forge.tools.hammer" not in apis(lines)
    assert lines[-1]["library"]["unimported"] == [["forge.tools", "it ends the interpreter"]]
