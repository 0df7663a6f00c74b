"""Prints the source code of one object of a library as a line of JSON, `{"source": "..."}`; empty if there is none.

A program: `main(["pandas.merge", "pandas.core.reshape.merge.merge"])` takes the paths by which the object is known.
The first line of the source is a comment that says in which module it was found, and whether anybody could read that
(`INSTALLED`) or it is the user's own (`OWN`).
Files are found and parsed, and where none of the paths says where it is defined, the imports and base classes in them
are followed from file to file. Nothing is imported, so no code of the library runs.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from importlib.util import find_spec
from textwrap import dedent

from exploracoder_jupyter.kernel_agent.introspection import module_locations
from exploracoder_jupyter.kernel_agent.introspection.public_files import is_public

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from typing import Any

INSTALLED = "# Installed, in "
OWN = "# The user's own, in "
LONGEST = 20_000
"""Characters of one source."""
LARGEST_FILE = 4_000_000
"""Bytes of a file that is read."""
MOST_FILES = 25
"""Files that are parsed to find one object."""


class Module:
    """A module's file, parsed."""

    def __init__(self, name: str, text: str, tree: Any, *, file: str) -> None:
        self.name = name
        self.file = file
        self.text = text
        self.tree = tree
        self.home = name if file.endswith("__init__.py") else name.rpartition(".")[0]
        """The package that relative imports in it start from."""

    def told(self, text: str) -> str:
        """A text of this module, with a first line that says where it is from; nothing where there is none."""
        return f"{INSTALLED if is_public(self.file) else OWN}{self.name}:\n{text}" if text else ""

    def imports(self, name: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Modules that it may have this name from, and what the name is called there; star imports last."""
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
        if not node.level:
            return node.module or ""
        parts = self.home.split(".")
        above = parts[: len(parts) - (node.level - 1)]
        return ".".join([*above, *([node.module] if node.module else [])])


class Search:
    """Looks for one object: where its path says that it is, or wherever imports and base classes lead."""

    def __init__(self) -> None:
        self.far = False
        """Whether imports and base classes are followed."""
        self.assigned = False
        """Whether an assignment defines a name."""
        self.parsed = 0
        self.modules: dict[str, Module | None] = {}
        self.specs: dict[str, ModuleSpec | None] = {}
        self.seen: set[tuple[str, tuple[str, ...]]] = set()

    def look(self, path: str, *, far: bool, assigned: bool) -> str:
        """The source of the object of this path, as far as it is looked for; empty where there is none."""
        self.far, self.assigned = far, assigned
        self.parsed = 0
        self.seen.clear()
        top, *rest = path.split(".")
        return self.find(top, tuple(rest))

    def find(self, name: str, path: tuple[str, ...]) -> str:
        """The source of what has this path within the module of this name; empty where there is none."""
        if (name, path) in self.seen:
            return ""
        self.seen.add((name, path))
        module = self._module(name, path[0] if path else "")
        if not path:
            return module.told(module.text) if module else ""
        if module is None:
            return self.find(f"{name}.{path[0]}", path[1:]) if self._spec(name) else ""
        return self._here(module, path) or self._elsewhere(module, path) or self.find(f"{name}.{path[0]}", path[1:])

    def _here(self, module: Module, path: tuple[str, ...]) -> str:
        node = _defined(module.tree, path[0], assigned=self.assigned)
        return self._within(module, node, path[1:]) if node else ""

    def _elsewhere(self, module: Module, path: tuple[str, ...]) -> str:
        for name, called in module.imports(path[0]) if self.far else ():
            if found := self.find(name, (*called, *path[1:])):
                return found
        return ""

    def _within(self, module: Module, node: Any, path: tuple[str, ...]) -> str:
        """What has this path within a definition, which is itself where the path is empty."""
        if not path:
            return module.told(_lines(module.text, node))
        if not isinstance(node, ast.ClassDef):
            return ""
        inner = _defined(node, path[0], assigned=self.assigned)
        found = self._within(module, inner, path[1:]) if inner else ""
        for base in node.bases if self.far else ():
            if not found and (named := _dotted(base)):
                found = self.find(module.name, (*named, *path))
        return found

    def _module(self, name: str, wanted: str) -> Module | None:
        """The module, unless it cannot have a name or know where to get it from."""
        if name not in self.modules:
            file = self._file(name)
            text = _read(file)
            if not (wanted in text or "import *" in text) or self.parsed == MOST_FILES:
                return None
            self.parsed += 1
            self.modules[name] = _parsed(name, text, file=file)
        return self.modules[name]

    def _file(self, name: str) -> str:
        spec = self._spec(name)
        return spec.origin if spec and spec.origin and spec.origin.endswith(".py") else ""

    def _spec(self, name: str) -> ModuleSpec | None:
        if name not in self.specs:
            package = name.rpartition(".")[0]
            try:
                if package:
                    owner = self._spec(package)
                    within = owner.submodule_search_locations if owner else None
                    self.specs[name] = module_locations.find_spec(name, list(within)) if within else None
                else:
                    self.specs[name] = find_spec(name)
            except (ImportError, ValueError):
                self.specs[name] = None
        return self.specs[name]


def _read(file: str) -> str:
    try:
        if not file or os.path.getsize(file) > LARGEST_FILE:
            return ""
        with open(file, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def _parsed(name: str, text: str, *, file: str) -> Module | None:
    try:
        return Module(name, text, ast.parse(text), file=file)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _defined(scope: Any, name: str, *, assigned: bool) -> Any:
    """The last definition of this name within a scope, conditional ones included: overloads come before it."""
    found = value = None
    for node in _statements(scope):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found = node if node.name == name else found
        elif assigned and isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            value = node if any(isinstance(to, ast.Name) and to.id == name for to in targets) else value
    return found or value


def _statements(scope: Any) -> Iterator[Any]:
    for part in ("body", "handlers", "orelse", "finalbody"):
        for node in getattr(scope, part, ()):
            yield node
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.ExceptHandler)):
                yield from _statements(node)


def _dotted(node: Any) -> tuple[str, ...]:
    """`a.b` as its names; empty for any other expression."""
    if isinstance(node, ast.Name):
        return (node.id,)
    owner = _dotted(node.value) if isinstance(node, ast.Attribute) else ()
    return (*owner, node.attr) if owner else ()


def _lines(text: str, node: Any) -> str:
    """Its lines from the first decorator on, without docstrings, which are known."""
    first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
    told = {number for inner in ast.walk(node) for number in _docstring(inner)}
    lines = text.split("\n")[: node.end_lineno]
    return dedent("\n".join(line for number, line in enumerate(lines, 1) if number >= first and number not in told))


def _docstring(node: Any) -> Sequence[int]:
    """Numbers of the lines of its docstring, where that is not all that there is."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or len(node.body) < 2:
        return ()
    opening = node.body[0]
    if not isinstance(opening, ast.Expr) or not isinstance(getattr(opening.value, "value", None), str):
        return ()
    return range(opening.lineno, opening.end_lineno + 1) if opening.end_lineno else ()


def source(paths: Sequence[str]) -> str:
    """The source of the object that has these paths; empty where no Python file says it.

    Among the paths may be attributes that it was assigned to: they count last.
    """
    search = Search()
    for far, assigned in ((False, False), (True, False), (True, True)):
        for path in paths:
            if found := search.look(path, far=far, assigned=assigned):
                return found[:LONGEST]
    return ""


def main(paths: Sequence[str]) -> None:
    """Print the source of the object that has these paths."""
    print(json.dumps({"source": source(paths)}))


if __name__ == "__main__":
    main(sys.argv[1:])
