"""Prints the source code of one object of a library as a line of JSON, `{"source": "..."}`; empty if there is none.

A program: `main(["pandas.merge", "pandas.core.reshape.merge.merge"])` takes the paths by which the object is known and
prints the source at the first that can be read. Files are found and parsed; nothing is imported and no code of the
library runs, so it takes as long for a large library as for a small one.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec
from textwrap import dedent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

LONGEST = 20_000
"""Characters of one source."""
LARGEST_FILE = 4_000_000
"""Bytes of a file that is read."""


def source(path: str) -> str:
    """The source of the object that is defined under this path; empty where no Python file says it."""
    for file, names in places(path.split(".")):
        text = _read(file)
        found = _found(text, names) if names else text
        if found:
            return found[:LONGEST]
    return ""


def places(parts: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Files that may define it, the innermost module first, with the names that lead to it there."""
    spec = _spec(parts[0])
    found = []
    for depth in range(1, len(parts) + 1):
        if spec is None:
            break
        if spec.origin and spec.origin.endswith(".py"):
            found.append((spec.origin, parts[depth:]))
        if depth == len(parts) or not spec.submodule_search_locations:
            break
        spec = PathFinder.find_spec(".".join(parts[: depth + 1]), list(spec.submodule_search_locations))
    yield from reversed(found)


def _spec(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except (ImportError, ValueError):
        return None


def _read(file: str) -> str:
    try:
        if os.path.getsize(file) > LARGEST_FILE:
            return ""
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def _found(text: str, names: Sequence[str]) -> str:
    try:
        scope: Any = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for name in names:
        scope = _defined(scope, name)
        if scope is None:
            return ""
    return _lines(text, scope)


def _defined(scope: Any, name: str) -> Any:
    """The last definition of this name within a scope, conditional ones included: overloads come before it."""
    found = assigned = None
    for node in _statements(scope):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found = node if node.name == name else found
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            assigned = node if any(isinstance(to, ast.Name) and to.id == name for to in targets) else assigned
    return found or assigned


def _statements(scope: Any) -> Iterator[Any]:
    for part in ("body", "handlers", "orelse", "finalbody"):
        for node in getattr(scope, part, ()):
            yield node
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
                yield from _statements(node)


def _lines(text: str, node: Any) -> str:
    """Its lines from the first decorator on, without docstrings, which are known."""
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    told = {number for inner in ast.walk(node) for number in _docstring(inner)}
    lines = text.splitlines()[: node.end_lineno]
    return dedent("\n".join(line for number, line in enumerate(lines, 1) if number >= first and number not in told))


def _docstring(node: Any) -> Sequence[int]:
    """Numbers of the lines of its docstring, where that is not all that there is."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or len(node.body) < 2:
        return ()
    opening = node.body[0]
    if not isinstance(opening, ast.Expr) or not isinstance(getattr(opening.value, "value", None), str):
        return ()
    return range(opening.lineno, opening.end_lineno + 1) if opening.end_lineno else ()


def main(paths: Sequence[str]) -> None:
    """Print the source of the first of these paths that has one."""
    print(json.dumps({"source": next(filter(None, map(source, paths)), "")}))


if __name__ == "__main__":
    main(sys.argv[1:])
