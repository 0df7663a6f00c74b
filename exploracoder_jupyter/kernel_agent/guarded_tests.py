"""Runs tests in the state that a program left, guarded against the simple ways to pass them without being right.

The source of this file runs in the kernel before the program, with its own copy of the built-in names, and is then
found in `sys.modules` under a name that cannot be guessed. A test passes only if it raises `TestPassed` with a proof
that the caller chose: a cell that is dropped, rewritten or ends the process proves nothing. Before a test, built-in
names and the modules that assertions come from are restored, and its text is removed from what a program can easily
read: the history of cells and the source of frames.

This does not defend against a program that inspects frames or memory, which it shares with the tests.
"""

from __future__ import annotations

import builtins
import importlib
import linecache
import sys
from collections.abc import Iterable
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

_ASSERTING = ("unittest", "testing", "_testing")
"""Parts of the names of modules that assertions come from."""


class TestPassed(Exception):
    """The test has run to its end; the message is the proof."""


class Guard(ModuleType):
    """What was saved before the program ran."""

    def __init__(self, name: str, imported: Iterable[str], namespace: dict[str, Any]) -> None:
        """Save the modules that the tests import, and loaded ones that assertions come from."""
        super().__init__(name)
        self._namespace = namespace
        self._builtins = dict(vars(builtins))
        self._modules: dict[str, tuple[ModuleType, dict[str, Any]]] = {}
        self._classes: list[tuple[type, dict[str, Any]]] = []
        for module_name in imported:
            with suppress(Exception):  # a test that imports what is missing fails by itself
                importlib.import_module(module_name)
        asserting = [one for one in sys.modules if not set(_ASSERTING).isdisjoint(one.split("."))]
        for module_name in {*imported, *asserting} & sys.modules.keys():
            module = sys.modules[module_name]
            code = {key: one for key, one in vars(module).items() if callable(one) or isinstance(one, ModuleType)}
            self._modules[module_name] = (module, code)
            if module_name in asserting:
                self._classes += [(one, _methods(one)) for one in vars(module).values() if isinstance(one, type)]

    def run(self, code: str, proof: str) -> None:
        """Run a test; raises TestPassed if it ran to its end, and otherwise whatever the test raises."""
        self._restore()
        _remove_text(proof)
        program = compile(code, "<test>", "exec", dont_inherit=True)
        del code
        exec(program, self._namespace)
        raise TestPassed(proof)

    def _restore(self) -> None:
        sys.settrace(None)
        sys.setprofile(None)
        vars(builtins).update(self._builtins)
        for name, (module, values) in self._modules.items():
            sys.modules[name] = module
            vars(module).update(values)
        for kind, methods in self._classes:
            for name, method in methods.items():
                if vars(kind).get(name) is not method:
                    setattr(kind, name, method)


def install(name: str, imported: Iterable[str], namespace: dict[str, Any]) -> None:
    """Save what tests need, before the program runs, under this name in `sys.modules`."""
    sys.modules[name] = Guard(name, imported, namespace)
    _remove_text(name)


def _methods(kind: type) -> dict[str, Any]:
    if kind.__module__ == "builtins":
        return {}
    kinds = (FunctionType, classmethod, staticmethod, property)
    return {name: value for name, value in vars(kind).items() if isinstance(value, kinds)}


def _remove_text(mark: str) -> None:
    """Remove the texts that contain the mark from the history of cells and the cache of their source."""
    with suppress(Exception):
        shell = sys.modules["IPython"].get_ipython()
        history, namespace = shell.history_manager, shell.user_ns
        for name in ("_i00", "_i", "_ii", "_iii"):
            setattr(history, name, "")
        for texts in (history.input_hist_parsed, history.input_hist_raw):
            texts[:] = ["" if mark in text else text for text in texts]
        for name, value in list(namespace.items()):
            if name.startswith("_i") and isinstance(value, str) and mark in value:
                namespace[name] = ""
    with suppress(Exception):
        for name, entry in list(linecache.cache.items()):
            if any(mark in str(part) for part in entry):
                del linecache.cache[name]
