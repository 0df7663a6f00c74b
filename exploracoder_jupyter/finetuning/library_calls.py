"""Finds the calls of a library's public APIs in code: by its imports, and by variables that hold its objects.

Nothing is executed. A variable is followed where it is assigned from a class of the library (`graph = nx.Graph()`), so
that `graph.add_edge(...)` is found too; objects that functions return are not known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.core.types import ApiDoc

Lookup = Callable[[str], ApiDoc | None]
"""Returns the API of a path or of an alias of it."""


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A call of an API."""

    api: ApiDoc
    start: int
    """Where the call begins, in characters."""
    line: int
    """From 1."""


def find_calls(code: str, lookup: Lookup) -> list[LibraryCall]:
    """Return the first call of each API, in the order of the code; of calls in one chain, only the innermost."""
    tree = parse_valid_python(code)
    if tree is None:
        return []
    visitor = _Visitor(lookup, code.splitlines(keepends=True))
    visitor.visit(tree)
    first: dict[str, LibraryCall] = {}
    starts: set[int] = set()
    for call in sorted(visitor.found, key=lambda call: call.start):
        if call.start not in starts and call.api.path not in first:
            first[call.api.path] = call
        starts.add(call.start)
    return list(first.values())


@dataclass
class _Visitor(ast.NodeVisitor):
    lookup: Lookup
    lines: list[str]
    found: list[LibraryCall] = field(default_factory=list)
    """Calls that begin at the same place are in the order in which they are executed."""
    paths: dict[str, str] = field(default_factory=dict)
    """What each name stands for: an imported module or API, or the class of the object."""

    def visit_Import(self, node: ast.Import) -> None:
        for one in node.names:
            name = one.asname or one.name.partition(".")[0]
            self.paths[name] = one.name if one.asname else name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if not node.level and node.module:
            self.paths |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        made = self._class_of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.paths.pop(target.id, None)
                if made:
                    self.paths[target.id] = made
            else:
                self.visit(target)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        api = self._resolve(node.func)
        if api:
            line = self.lines[node.lineno - 1]  # columns of the parser are bytes in UTF-8
            start = sum(map(len, self.lines[: node.lineno - 1])) + len(line.encode()[: node.col_offset].decode())
            self.found.append(LibraryCall(api, start, node.lineno))

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave out the exception itself, because it is chosen without a search."""
        if isinstance(node.exc, ast.Call):
            for argument in (*node.exc.args, *(keyword.value for keyword in node.exc.keywords)):
                self.visit(argument)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Positions in f-strings are not reliable before Python 3.12, so calls in them are left out."""

    def _class_of(self, value: ast.expr) -> str:
        api = self._resolve(value.func) if isinstance(value, ast.Call) else None
        return api.path if api and api.kind == "class" else ""

    def _resolve(self, function: ast.expr) -> ApiDoc | None:
        path = self._path(function)
        return self.lookup(path) if "." in path else None

    def _path(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return self.paths.get(node.id, "")
        if isinstance(node, ast.Attribute):
            owner = self._class_of(node.value) or self._path(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        return ""
