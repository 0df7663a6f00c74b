"""Tells, after each cell, which names are new or bound anew, and the types of their values.

The answer leaves the kernel as one display message of a private MIME type, which the receiver takes out of the
outputs again: no further request, and nothing is looked up in the namespace that the cell may have spoiled. No code of
a value is run: neither `repr` nor an attribute of an instance.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

MIME = "application/vnd.exploracoder.names+json"
_MOST = 60
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_OWN = frozenset(["In", "Out", "exit", "quit", "get_ipython", "open"])
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__


def bound_by(code: str) -> set[str]:
    """Names that the code binds at its top level; empty when it is not Python."""
    try:
        return set(_bound(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError):
        return set()


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    if not isinstance(node, _SCOPES + _COMPREHENSIONS):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def type_path(value: object) -> str:
    """Import path of the value's type, the shortest under which it is found: `networkx.Graph`, `int`."""
    cls = type(value)
    name, module = str(_qualname(cls)), _module(cls)
    if not isinstance(module, str) or module in ("builtins", "__main__"):
        return name
    parts = module.split(".")
    for end in range(1, len(parts)):
        parent = sys.modules.get(".".join(parts[:end]))
        if type(parent) is ModuleType and parent.__dict__.get(name) is cls:
            return ".".join([*parts[:end], name])
    return f"{module}.{name}"


def changed(before: dict[str, int], namespace: dict[str, Any], code: str) -> list[tuple[str, str]]:
    """Public names that are new, have another value than in `before` (name to id), or are bound by the code."""
    bound = bound_by(code)
    found = []
    for name, value in list(namespace.items()):
        if not isinstance(name, str) or name.startswith("_") or name in _OWN:
            continue
        if name in bound or before.get(name) != id(value):
            found.append((name, type_path(value)))
    return found[:_MOST]


class Tracker:
    """Watches the cells of a shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._before: dict[str, int] = {}
        shell.events.register("pre_run_cell", self._remember)
        shell.events.register("post_run_cell", self._tell)

    @classmethod
    def of(cls, shell: Any) -> Tracker:
        """The shell's tracker, made if it has none."""
        if not hasattr(shell, "explora_names"):
            shell.explora_names = cls(shell)
        tracker: Tracker = shell.explora_names
        return tracker

    def _remember(self, info: Any) -> None:
        self._before = {name: id(value) for name, value in list(self._shell.user_ns.items())}

    def _tell(self, result: Any) -> None:
        try:
            code = self._shell.transform_cell(result.info.raw_cell)
            found = changed(self._before, self._shell.user_ns, code)
            if found:
                self._shell.display_pub.publish({MIME: found})
        except Exception:  # a cell may break anything in here; then nothing is known of its names
            return
