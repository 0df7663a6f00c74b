"""Names in a notebook: which ones code binds, imports and mentions, and the import path of a value's type.

Runs no code of any value.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import ModuleType
from typing import Any

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = (*_DEFINITIONS, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_IPYTHON_NAMES = frozenset(["In", "Out", "exit", "quit", "get_ipython", "open"])
# Attributes of classes, read without the code of their metaclasses.
class_dict = type.__dict__["__dict__"].__get__
mro = type.__dict__["__mro__"].__get__
qualified_name = type.__dict__["__qualname__"].__get__
module_of = type.__dict__["__module__"].__get__


def is_public(name: object) -> bool:
    """Return whether the name is the user's own: not private, and not one that IPython puts in the namespace."""
    return type(name) is str and not name.startswith("_") and name not in _IPYTHON_NAMES


def bound_names(code: str) -> set[str]:
    """Return the names bound at the top level of the code; empty if it is not valid Python."""
    return set(_iter_bound(_parse(code)))


def imported_names(code: str) -> set[str]:
    """Return the names that imports in the code bind."""
    imports = (node for node in ast.walk(_parse(code)) if isinstance(node, (ast.Import, ast.ImportFrom)))
    return {name for node in imports for name in _iter_bound(node)}


def mentioned_names(code: str) -> list[str]:
    """Return the names that the code mentions, ordered by last mention; on a line, bound names come last."""
    last: dict[str, tuple[int, bool, int]] = {}
    for node in ast.walk(_parse(code)):
        if isinstance(node, ast.Name):
            name, binds = node.id, isinstance(node.ctx, ast.Store)
        elif isinstance(node, _DEFINITIONS):
            name, binds = node.name, True
        else:
            continue
        last[name] = max(last.get(name, (0, False, 0)), (node.lineno, binds, node.col_offset))
    return sorted(last, key=last.__getitem__)


@lru_cache(maxsize=4)  # parsed several times per cell
def _parse(code: str) -> ast.Module:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


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
    return path_of(type(value))


def path_of(found: Any) -> str:
    """Return the shortest import path at which a function or class can be found."""
    if issubclass(type(found), type):
        return import_path(found, str(qualified_name(found)), module_of(found))
    return import_path(found, found.__qualname__, getattr(found, "__module__", ""))


def import_path(found: object, name: str, module: object) -> str:
    """Return the shortest import path of a class or function with this name and `__module__`."""
    if type(module) is not str or module in ("builtins", "__main__", ""):
        return name
    head, parts = name.partition(".")[0], module.split(".")
    defined = (found, _module_attribute(module, head))
    for end in range(1, len(parts)):
        outer = _module_attribute(".".join(parts[:end]), head)
        if outer is not None and any(outer is one for one in defined):
            return ".".join([*parts[:end], name])
    return f"{module}.{name}"


def _module_attribute(module: str, name: str) -> Any:
    loaded = sys.modules.get(module)
    return loaded.__dict__.get(name) if type(loaded) is ModuleType else None
