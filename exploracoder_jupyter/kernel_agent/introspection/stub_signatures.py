"""Signatures from the type stubs that lie beside a library, for what cannot be asked how it is called.

Stubs are read as text and never run: `name.pyi` beside the module, or in a distribution `NAME-stubs`.
"""

from __future__ import annotations

import ast
import os
import sys
from contextlib import suppress

from exploracoder_jupyter.kernel_agent.introspection.call_signatures import LONGEST_SIGNATURE, Called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 2_000_000
DEEPEST = 5


class Stubs:
    """The stubs of one library, each file read when it is first asked for."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, ast.stmt]] = {}

    def called(self, path: str) -> Called:
        """How the stubs say that the function, method or class of this path is called; empty when they do not."""
        parts = path.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            if self._read(".".join(parts[:cut])):
                node = self._find(".".join(parts[:cut]), parts[cut:])
                return called(node) if node else Called()
        return Called()

    def _find(self, module: str, names: list[str], depth: int = 0) -> ast.stmt | None:
        """The definition of dotted names in a module, followed through imports."""
        node = self._read(module).get(names[0])
        if isinstance(node, ast.ImportFrom) and depth < DEEPEST:
            meant = next(alias.name for alias in node.names if (alias.asname or alias.name) == names[0])
            return self._find(_absolute(node, module), [meant, *names[1:]], depth + 1)
        for name in names[1:]:
            node = by_name(node.body).get(name) if isinstance(node, ast.ClassDef) else None
        if isinstance(node, ast.ClassDef):
            inner = by_name(node.body)
            return inner.get("__init__") or inner.get("__new__")
        return node

    def _read(self, module: str) -> dict[str, ast.stmt]:
        if module not in self._files:
            self._files[module] = {}
            for file in _places(module):
                with suppress(OSError, SyntaxError, ValueError, RecursionError), open(file, encoding="utf-8") as stream:
                    self._files[module] = by_name(ast.parse(stream.read(LARGEST)).body)
                    break
        return self._files[module]


def _places(module: str) -> Iterator[str]:
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if isinstance(file, str):
        folder, name = os.path.split(file)
        yield os.path.join(folder, name.partition(".")[0] + ".pyi")
    top, _, rest = module.partition(".")
    below = os.path.join(f"{top}-stubs", *rest.split(".")) if rest else f"{top}-stubs"
    for root in sys.path:
        yield os.path.join(root, below, "__init__.pyi")
        yield os.path.join(root, f"{below}.pyi")


def _absolute(node: ast.ImportFrom, module: str) -> str:
    """The module that an import names; a relative one is read as if it stood in a module, not in a package."""
    if not node.level:
        return node.module or ""
    package = module.split(".")[: -node.level]
    return ".".join([*package, *filter(None, [node.module])])


def by_name(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Definitions by name; of several for one name that with the most parameters."""
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.ImportFrom):
            found.update({alias.asname or alias.name: node for alias in node.names})
        elif isinstance(node, ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            known = found.get(node.name)
            if not isinstance(known, ast.FunctionDef) or _size(node.args) > _size(known.args):
                found[node.name] = node
        elif isinstance(node, ast.If):
            found.update(by_name(node.body))
    return found


def _size(args: ast.arguments) -> int:
    return len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)


def called(node: ast.stmt) -> Called:
    """How a function is called that is defined so; its node loses `self`."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return Called()
    _drop_self(node)
    returns = ast.unparse(node.returns) if node.returns and node.name not in ("__init__", "__new__") else ""
    text = f"({ast.unparse(node.args)})"
    return Called(text if len(text) <= LONGEST_SIGNATURE else f"({ast.unparse(_bare(node.args))})", (), returns)


def _drop_self(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    for places in (node.args.posonlyargs, node.args.args):
        if places:
            if places[0].arg in ("self", "cls"):
                del places[0]
            return


def _bare(args: ast.arguments) -> ast.arguments:
    """The same without annotations."""
    for place in (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg):
        if place is not None:
            place.annotation = None
    return args
