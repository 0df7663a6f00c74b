"""Names of a notebook: which ones code binds, imports and mentions, and how the type of a value is called.

No code of a value is run.
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
_OWN = frozenset(["In", "Out", "exit", "quit", "get_ipython", "open"])
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__


def is_public(name: object) -> bool:
    """Whether it is a name of the user's, and neither private nor one that IPython keeps in the namespace."""
    return type(name) is str and not name.startswith("_") and name not in _OWN


def bound_by(code: str) -> set[str]:
    """Names that the code binds at its top level; empty when it is not Python."""
    tree = _parsed(code)
    return set(_bound(tree)) if tree else set()


def imported_by(code: str) -> set[str]:
    """Names that the code binds by imports, at its top level."""
    tree = _parsed(code)
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))] if tree else []
    return {name for node in imports for name in _bound(node)}


def mentioned_by(code: str) -> list[str]:
    """Names that the code mentions, in the order in which each is mentioned last; on a line, what it binds is last."""
    tree = _parsed(code)
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


@lru_cache(maxsize=4)  # of one cell several things are asked
def _parsed(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]
    if isinstance(node, _DEFINITIONS):
        yield node.name
    if not isinstance(node, _SCOPES + _COMPREHENSIONS):
        for child in ast.iter_child_nodes(node):
            yield from _bound(child)


def type_path(value: object) -> str:
    """Import path of the value's type, the shortest under which it is found: `networkx.Graph`, `int`."""
    cls = type(value)
    return import_path(cls, str(_qualname(cls)), _module(cls))


def import_path(found: object, name: str, module: object) -> str:
    """Shortest import path of a class or function of this name, which says that it is of this module."""
    if type(module) is not str or module in ("builtins", "__main__"):
        return name
    parts = module.split(".")
    for end in range(1, len(parts)):
        parent = sys.modules.get(".".join(parts[:end]))
        if type(parent) is ModuleType and parent.__dict__.get(name) is found:
            return ".".join([*parts[:end], name])
    return f"{module}.{name}"
