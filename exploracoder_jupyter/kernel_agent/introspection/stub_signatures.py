"""Reads signatures from type stubs of a library, for objects whose signature is not known otherwise.

Stubs are parsed and never run: `name.pyi` beside the module, or in a distribution `NAME-stubs`.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from contextlib import suppress

from exploracoder_jupyter.kernel_agent.introspection.call_signatures import MAX_SIGNATURE, CallSignature

MAX_FILE_SIZE = 2_000_000
MAX_IMPORT_DEPTH = 5


class Stubs:
    """The stubs of one library; each file is read on first use."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, ast.stmt]] = {}

    def call_signature(self, path: str) -> CallSignature:
        """Return how the function, method or class at this path is called according to the stubs; empty if unknown."""
        parts = path.split(".")
        for length in range(len(parts) - 1, 0, -1):
            if self._read(".".join(parts[:length])):
                node = self._find(".".join(parts[:length]), parts[length:])
                return call_signature(node) if node else CallSignature()
        return CallSignature()

    def _find(self, module: str, names: list[str], depth: int = 0) -> ast.stmt | None:
        """Return the definition of dotted names in a module, following imports."""
        node = self._read(module).get(names[0])
        if isinstance(node, ast.ImportFrom) and depth < MAX_IMPORT_DEPTH:
            original = next(alias.name for alias in node.names if (alias.asname or alias.name) == names[0])
            return self._find(_absolute(node, module), [original, *names[1:]], depth + 1)
        for name in names[1:]:
            node = definitions_by_name(node.body).get(name) if isinstance(node, ast.ClassDef) else None
        if isinstance(node, ast.ClassDef):
            inner = definitions_by_name(node.body)
            return inner.get("__init__") or inner.get("__new__")
        return node

    def _read(self, module: str) -> dict[str, ast.stmt]:
        if module not in self._files:
            self._files[module] = {}
            for file in _stub_files(module):
                with suppress(OSError, SyntaxError, ValueError, RecursionError), open(file, encoding="utf-8") as stream:
                    self._files[module] = definitions_by_name(ast.parse(stream.read(MAX_FILE_SIZE)).body)
                    break
        return self._files[module]


def _stub_files(module: str) -> Iterator[str]:
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if isinstance(file, str):
        folder, name = os.path.split(file)
        yield os.path.join(folder, name.partition(".")[0] + ".pyi")
    top, _, rest = module.partition(".")
    relative = os.path.join(f"{top}-stubs", *rest.split(".")) if rest else f"{top}-stubs"
    for root in sys.path:
        yield os.path.join(root, relative, "__init__.pyi")
        yield os.path.join(root, f"{relative}.pyi")


def _absolute(node: ast.ImportFrom, module: str) -> str:
    """Return the imported module's name; relative imports are resolved as in a module, not in a package."""
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, *filter(None, [node.module])])


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
            if not isinstance(existing, ast.FunctionDef) or _parameter_count(node.args) > _parameter_count(
                existing.args
            ):
                definitions[node.name] = node
        elif isinstance(node, ast.If):
            definitions.update(definitions_by_name(node.body))
    return definitions


def _parameter_count(args: ast.arguments) -> int:
    return len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)


def call_signature(node: ast.stmt) -> CallSignature:
    """Return how a function with this definition is called; removes `self` from the node."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return CallSignature()
    _drop_self(node)
    returns = ast.unparse(node.returns) if node.returns and node.name not in ("__init__", "__new__") else ""
    text = f"({ast.unparse(node.args)})"
    return CallSignature(
        text if len(text) <= MAX_SIGNATURE else f"({ast.unparse(_without_annotations(node.args))})", (), returns
    )


def _drop_self(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    for parameters in (node.args.posonlyargs, node.args.args):
        if parameters:
            if parameters[0].arg in ("self", "cls"):
                del parameters[0]
            return


def _without_annotations(args: ast.arguments) -> ast.arguments:
    """Return the arguments without annotations."""
    for parameter in (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg):
        if parameter is not None:
            parameter.annotation = None
    return args
