"""Reads signatures from type stubs of a library, for objects whose signature is not known otherwise.

Stubs are parsed and never run: `name.pyi` beside the module, or in a distribution `NAME-stubs`.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from exploracoder_jupyter.kernel_agent.introspection.call_signatures import MAX_SIGNATURE, CallSignature
from exploracoder_jupyter.kernel_agent.introspection.module_locations import STUBS

INIT_FILE = "__init__.pyi"
MAX_FILE_SIZE = 2_000_000
MAX_IMPORT_DEPTH = 5


class Stub(NamedTuple):
    """A parsed stub file."""

    package: str
    """The package that its relative imports start from."""
    body: list[ast.stmt]
    names: dict[str, ast.stmt]
    """Definitions and imports, see `definitions_by_name`."""

    def imported(self, node: ast.ImportFrom, name: str) -> tuple[str, str]:
        """Return the module that an import in this file takes a name from, and its name there."""
        parents = self.package.split(".")
        base = parents[: len(parents) - node.level + 1] if node.level else []
        original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
        return ".".join([*base, *filter(None, [node.module])]), original


def read_stub(module: str, file: str) -> Stub | None:
    """Parse the stub file of a module; None if that is not possible."""
    with (
        suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError),
        open(file, encoding="utf-8-sig") as stream,
    ):
        body = ast.parse(stream.read(MAX_FILE_SIZE)).body
        package = module if os.path.basename(file) == INIT_FILE else module.rpartition(".")[0]
        return Stub(package, body, definitions_by_name(body))
    return None


def find_definition(
    read: Callable[[str], Stub | None], module: str, name: str, depth: int = 0
) -> tuple[str, str] | None:
    """Return the module in which a name of this one is defined, and its name there; `read` returns stubs by module."""
    stub = read(module)
    node = stub.names.get(name) if stub else None
    if stub is None or node is None or depth > MAX_IMPORT_DEPTH:
        return None
    if not isinstance(node, ast.ImportFrom):
        return module, name
    return find_definition(read, *stub.imported(node, name), depth + 1)


def signature_in_stubs(path: str) -> CallSignature:
    """Return how the function, method or class at this path is called according to the stubs; empty if unknown."""
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        if _read_installed(".".join(parts[:length])):
            node = _find_callable(".".join(parts[:length]), parts[length:])
            return call_signature(node) if node else CallSignature()
    return CallSignature()


def _find_callable(module: str, names: list[str]) -> ast.stmt | None:
    found = find_definition(_read_installed, module, names[0])
    stub = _read_installed(found[0]) if found else None
    node = stub.names[found[1]] if stub and found else None
    for name in names[1:]:
        node = definitions_by_name(node.body).get(name) if isinstance(node, ast.ClassDef) else None
    return constructor(node) if isinstance(node, ast.ClassDef) else node


@cache
def _read_installed(module: str) -> Stub | None:
    return next(filter(None, (read_stub(module, file) for file in _stub_files(module))), None)


def _stub_files(module: str) -> Iterator[str]:
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if isinstance(file, str):
        folder, name = os.path.split(file)
        yield os.path.join(folder, name.partition(".")[0] + ".pyi")
    top, _, rest = module.partition(".")
    relative = os.path.join(f"{top}{STUBS}", *filter(None, rest.split(".")))
    for root in sys.path:
        yield os.path.join(root, relative, INIT_FILE)
        yield os.path.join(root, f"{relative}.pyi")


def constructor(node: ast.ClassDef) -> ast.stmt | None:
    """Return the definition of `__init__` or `__new__` in a class."""
    inner = definitions_by_name(node.body)
    return inner.get("__init__") or inner.get("__new__")


def definitions_by_name(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Map names to definitions; of several definitions the one with the most parameters."""
    definitions: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.ImportFrom):
            definitions.update({alias.asname or alias.name: node for alias in node.names})
        elif isinstance(node, ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            existing = definitions.get(node.name)
            if not isinstance(existing, ast.FunctionDef) or _count(node.args) > _count(existing.args):
                definitions[node.name] = node
        elif isinstance(node, ast.If):
            definitions.update(definitions_by_name(node.body))
    return definitions


def _count(args: ast.arguments) -> int:
    return len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)


def call_signature(node: ast.stmt) -> CallSignature:
    """Return how a function with this definition is called; changes the node."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return CallSignature()
    arguments = node.args
    first = arguments.posonlyargs or arguments.args
    if first and first[0].arg in ("self", "cls"):
        del first[0]
    returns = ast.unparse(node.returns) if node.returns and node.name not in ("__init__", "__new__") else ""
    text = ast.unparse(arguments)
    if len(text) > MAX_SIGNATURE - 2:
        every = (*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg)
        for parameter in filter(None, every):
            parameter.annotation = None
        text = ast.unparse(arguments)
    return CallSignature(f"({text})", (), returns)
