"""Prints the source code of one object of a library as a line of JSON, `{"source": "..."}`; empty if there is none.

The program takes all known paths of the object: `pandas.merge pandas.core.reshape.merge.merge`. The first line of the
source is a comment with its module, which is publicly available (`INSTALLED`) or the user's own (`USER_OWN`).
Files are located and parsed; if no path leads to the definition, imports and base classes are followed from file to
file. Nothing is imported, so no code of the library runs.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from textwrap import dedent
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.introspection import locations
from exploracoder_jupyter.kernel_agent.introspection.public_names import is_public

INSTALLED = "# Installed, in "
USER_OWN = "# The user's own, in "
MAX_SOURCE = 20_000
"""Characters of one source."""
MAX_FILE_SIZE = 4_000_000
"""Bytes of a file that is read."""
MAX_FILES = 25
"""Files that are parsed to find one object."""


class Module(NamedTuple):
    """A module's parsed file."""

    name: str
    file: str
    text: str
    tree: Any

    def with_origin(self, text: str) -> str:
        """Prefix a text of this module with a line that gives its origin; empty for an empty text."""
        return f"{INSTALLED if is_public(self.file) else USER_OWN}{self.name}:\n{text}" if text else ""

    def imports(self, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield modules from which it may import this name, with the name's path there; star imports last."""
        statements = [*_statements(self.tree)]
        for node in statements:
            for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
                if isinstance(node, ast.ImportFrom) and (alias.asname or alias.name) == name:
                    yield self._from(node), (alias.name,)
                elif isinstance(node, ast.Import) and (alias.asname or alias.name.partition(".")[0]) == name:
                    yield alias.name if alias.asname else name, ()
        for node in statements:
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                yield self._from(node), (name,)

    def _from(self, node: Any) -> str:
        level = node.level - self.file.endswith("__init__.py")  # relative to the package of the module
        parents = self.name.split(".")[: -level or None] if node.level else []
        return ".".join([*parents, *filter(None, [node.module])])


class Search:
    """Searches for one object, at its path or by following imports and base classes."""

    def __init__(self) -> None:
        self.modules: dict[str, Module | None] = {}
        self.specs: dict[str, ModuleSpec | None] = {}
        self.visited: set[tuple[str, tuple[str, ...]]] = set()

    def find_source(self, path: str, *, follow_imports: bool, accept_assignments: bool) -> str:
        """Return the source of the object at this path; empty if not found.

        `follow_imports` includes base classes. With `accept_assignments`, assignments count as definitions.
        """
        self.follow_imports, self.accept_assignments = follow_imports, accept_assignments
        self.parsed = 0
        self.visited.clear()
        top, *rest = path.split(".")
        return self.find(top, tuple(rest))

    def find(self, name: str, path: tuple[str, ...]) -> str:
        """Return the source of the object at this path within the named module; empty if not found."""
        if (name, path) in self.visited:
            return ""
        self.visited.add((name, path))
        module = self._module(name, path[0] if path else "")
        if not path:
            return module.with_origin(module.text) if module else ""
        if module is None:
            return self.find(f"{name}.{path[0]}", path[1:]) if self._spec(name) else ""
        if found := self._find_within(module, module.tree, path):
            return found
        for imported, imported_path in module.imports(path[0]) if self.follow_imports else ():
            if found := self.find(imported, (*imported_path, *path[1:])):
                return found
        return self.find(f"{name}.{path[0]}", path[1:])

    def _find_within(self, module: Module, node: Any, path: tuple[str, ...]) -> str:
        """Return the source of the object at this path within a definition, or of the definition itself."""
        if not path:
            return module.with_origin(_definition_lines(module.text, node))
        if not isinstance(node, (ast.ClassDef, ast.Module)):
            return ""
        inner = _find_definition(node, path[0], accept_assignments=self.accept_assignments)
        found = self._find_within(module, inner, path[1:]) if inner else ""
        for base in getattr(node, "bases", ()) if self.follow_imports else ():
            if not found and (base_path := _dotted(base)):
                found = self.find(module.name, (*base_path, *path))
        return found

    def _module(self, name: str, searched_name: str) -> Module | None:
        """Return the module, unless it can neither define nor import the name."""
        if name not in self.modules:
            spec = self._spec(name)
            file = spec.origin if spec and spec.origin and spec.origin.endswith(".py") else ""
            text = _read(file)
            if not (searched_name in text or "import *" in text) or self.parsed == MAX_FILES:
                return None
            self.parsed += 1
            self.modules[name] = None
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                self.modules[name] = Module(name, file, text, ast.parse(text))
        return self.modules[name]

    def _spec(self, name: str) -> ModuleSpec | None:
        if name not in self.specs:
            self.specs[name] = None
            package = name.rpartition(".")[0]
            owner = self._spec(package) if package else None
            within = owner.submodule_search_locations if owner else None
            with suppress(ImportError, ValueError):
                if not package:
                    self.specs[name] = find_spec(name)
                elif within:
                    self.specs[name] = locations.find_spec(name, list(within))
        return self.specs[name]


def _read(file: str) -> str:
    with suppress(OSError):
        if file and os.path.getsize(file) <= MAX_FILE_SIZE:
            with open(file, encoding="utf-8", errors="replace") as stream:
                return stream.read()
    return ""


def _find_definition(scope: Any, name: str, *, accept_assignments: bool) -> Any:
    """Return the last definition of a name within a scope, including conditional ones; overloads come earlier."""
    found = value = None
    for node in _statements(scope):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found = node if node.name == name else found
        elif accept_assignments and isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = node if any(isinstance(target, ast.Name) and target.id == name for target in targets) else value
    return found or value


def _statements(scope: Any) -> Iterator[Any]:
    for part in ("body", "handlers", "orelse", "finalbody"):
        for node in getattr(scope, part, ()):
            yield node
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
                yield from _statements(node)


def _dotted(node: Any) -> tuple[str, ...]:
    """Return `a.b` as its names; empty for any other expression."""
    if isinstance(node, ast.Name):
        return (node.id,)
    owner = _dotted(node.value) if isinstance(node, ast.Attribute) else ()
    return (*owner, node.attr) if owner else ()


def _definition_lines(text: str, node: Any) -> str:
    """Return the lines of a definition from its first decorator, without docstrings, which are known already."""
    first_line = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    documented = {number for inner in ast.walk(node) for number in _docstring_lines(inner)}
    lines = text.split("\n")[: node.end_lineno]
    shown = (line for number, line in enumerate(lines, 1) if number >= first_line and number not in documented)
    return dedent("\n".join(shown))


def _docstring_lines(node: Any) -> Sequence[int]:
    """Return the line numbers of a docstring, unless it is the whole body."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str()), lineno=first, end_lineno=int(last)), _, *_]:
                return range(first, last + 1)
    return ()


def find_source(paths: Sequence[str]) -> str:
    """Return the source of the object with these paths; empty if no Python file contains it.

    Paths may be attributes to which the object was assigned: these are tried last.
    """
    search = Search()
    for follow_imports, accept_assignments in ((False, False), (True, False), (True, True)):
        for path in paths:
            if found := search.find_source(path, follow_imports=follow_imports, accept_assignments=accept_assignments):
                return found[:MAX_SOURCE]
    return ""


if __name__ == "__main__":
    print(json.dumps({"source": find_source(sys.argv[1:])}))
