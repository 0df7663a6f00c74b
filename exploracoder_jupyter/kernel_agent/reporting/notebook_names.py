"""Names in a notebook: which ones code binds, imports and mentions, and the import path of a value's type.

Runs no code of any value.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = (*_DEFINITIONS, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_IPYTHON_NAMES = frozenset(["In", "Out", "exit", "quit", "get_ipython", "open"])
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__


def is_public(name: object) -> bool:
    """Return whether the name is the user's own: not private, and not one that IPython puts in the namespace."""
    return type(name) is str and not name.startswith("_") and name not in _IPYTHON_NAMES


def bound_names(code: str) -> set[str]:
    """Return the names bound at the top level of the code; empty if it is not valid Python."""
    tree = _parse(code)
    return set(_iter_bound(tree)) if tree else set()


def imported_names(code: str) -> set[str]:
    """Return the names that imports in the code bind."""
    tree = _parse(code)
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))] if tree else []
    return {name for node in imports for name in _iter_bound(node)}


def mentioned_names(code: str) -> list[str]:
    """Return the names that the code mentions, ordered by last mention; on a line, bound names come last."""
    tree = _parse(code)
    last: dict[str, tuple[int, bool, int]] = {}
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Name):
            name, binds = node.id, isinstance(node.ctx, ast.Store)
        elif isinstance(node, _DEFINITIONS):
            name, binds = node.name, True
        else:
            continue
        last[name] = max(last.get(name, (0, False, 0)), (node.lineno, binds, node.col_offset))
    return sorted(last, key=last.__getitem__)


@lru_cache(maxsize=4)  # parsed several times per cell
def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _iter_bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    if isinstance(node, _DEFINITIONS):
        yield node.name
    if not isinstance(node, _SCOPES + _COMPREHENSIONS):
        for child in ast.iter_child_nodes(node):
            yield from _iter_bound(child)


def type_path(value: object) -> str:
    """Return the shortest import path of the value's type: `networkx.Graph`, `int`."""
    cls = type(value)
    return import_path(cls, str(_qualname(cls)), _module(cls))


def import_path(found: object, name: str, module: object) -> str:
    """Return the shortest import path of a class or function with this name and `__module__`."""

    if type(module) is not str or module in ("builtins", "__main__"):
        return name
    parts = module.split(".")
    for end in range(1, len(parts)):
        parent = sys.modules.get(".".join(parts[:end]))
        if type(parent) is ModuleType and parent.__dict__.get(name) is found:
            return ".".join([*parts[:end], name])
    return f"{module}.{name}"
