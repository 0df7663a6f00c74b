"""Lists the API of a library of which only type stubs are installed, in rows like those of the walk.

Stubs are parsed and never run. A folder `NAME-stubs`, a folder `NAME` with nothing but `.pyi` files, and a file
`NAME.pyi` count (PEP 561).
"""

from __future__ import annotations

import ast
import os
import sys
from contextlib import suppress
from typing import NamedTuple

from exploracoder_jupyter.kernel_agent.introspection.api_row import LONGEST_DOC, public
from exploracoder_jupyter.kernel_agent.introspection.api_scope import SKIPPED
from exploracoder_jupyter.kernel_agent.introspection.module_locations import STUBS
from exploracoder_jupyter.kernel_agent.introspection.stub_signatures import DEEPEST, LARGEST, by_name, called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_FILES = 2_000
MARK = "__init__.pyi"


class Stub(NamedTuple):
    """One stub file, parsed."""

    package: str
    """What relative imports in it start from."""
    names: dict[str, ast.stmt]
    offered: list[str]


def stub_place(name: str) -> str:
    """The folder or file with the stubs of a library; empty where there are none, or code lies beside them."""
    top, *rest = name.split(".")
    for root in sys.path:
        for base in (top + STUBS, top):
            place = os.path.join(root, base, *rest)
            if os.path.isfile(place + ".pyi") and not os.path.isfile(place + ".py"):
                return place + ".pyi"
            if os.path.isdir(place) and any(_files(place, name)) and not _has_code(place):
                return place
    return ""


def stub_rows(name: str) -> Iterator[dict[str, Any]]:
    """A row for each public object that the stubs of the library with this name describe."""
    place = stub_place(name)
    files = [(name, place)] if place.endswith(".pyi") else [*_files(place, name)] if place else []
    stubs = {module: stub for module, file in files[:MOST_FILES] if (stub := _stub(module, file))}
    paths: dict[tuple[str, str], list[str]] = {}
    for module, stub in stubs.items():
        for offered in stub.offered if public(module) else ():
            found = _home(stubs, module, offered)
            if found:
                paths.setdefault(found, []).append(f"{module}.{offered}")
    for (module, inner), known in paths.items():
        path, *others = sorted(known, key=lambda one: (one.count("."), one))
        yield from _rows(path, stubs[module].names[inner], sorted({*others, f"{module}.{inner}"} - {path}))


def _has_code(folder: str) -> bool:
    return any(name.endswith((".py", ".so", ".pyd")) for _, _, names in os.walk(folder) for name in names)


def _files(place: str, name: str) -> Iterator[tuple[str, str]]:
    """Modules with their files, packages before what is in them."""
    for folder, inner, files in os.walk(place):
        inner[:] = sorted(one for one in inner if one.isidentifier() and not SKIPPED.fullmatch(one.lstrip("_")))
        below = os.path.relpath(folder, place)
        package = ".".join([name, *(below.split(os.sep) if below != os.curdir else [])])
        for file in sorted(files, key=lambda one: (one != MARK, one)):
            stem, ending = os.path.splitext(file)
            if ending == ".pyi":
                yield (package if file == MARK else f"{package}.{stem}"), os.path.join(folder, file)


def _stub(module: str, file: str) -> Stub | None:
    with (
        suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError),
        open(file, encoding="utf-8") as stream,
    ):
        tree = ast.parse(stream.read(LARGEST))
        package = module if file.endswith(MARK) else module.rpartition(".")[0]
        return Stub(package, by_name(tree.body), _offered(tree))
    return None


def _offered(tree: ast.Module) -> list[str]:
    """The names in `__all__`; without one, what is defined, and what is imported under its own name again."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            with suppress(ValueError):
                return [name for name in ast.literal_eval(node.value) if isinstance(name, str)]  # type: ignore[attr-defined]
    names = by_name(tree.body)
    again = {one.asname for node in tree.body if isinstance(node, ast.ImportFrom) for one in node.names if _again(one)}
    shown = [name for name, node in names.items() if not isinstance(node, ast.ImportFrom) or name in again]
    return [name for name in shown if not name.startswith("_")]


def _again(alias: ast.alias) -> bool:
    return alias.asname == alias.name


def _home(stubs: dict[str, Stub], module: str, name: str, depth: int = 0) -> tuple[str, str] | None:
    """The module that defines a name, and the name there."""
    stub = stubs.get(module)
    node = stub.names.get(name) if stub else None
    if stub is None or node is None or depth > DEEPEST:
        return None
    if not isinstance(node, ast.ImportFrom):
        return module, name
    meant = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
    return _home(stubs, _named(node, stub.package), meant, depth + 1)


def _named(node: ast.ImportFrom, package: str) -> str:
    above = package.split(".")
    base = above[: len(above) - node.level + 1] if node.level else []
    return ".".join([*base, *filter(None, [node.module])])


def _rows(path: str, node: ast.stmt, aliases: list[str]) -> Iterator[dict[str, Any]]:
    if not isinstance(node, ast.ClassDef):
        yield _row(path, "function", node, node, aliases)
        return
    members = by_name(node.body)
    yield _row(path, "class", members.get("__init__") or members.get("__new__"), node, aliases)
    for name, member in members.items():
        if not name.startswith("_") and not isinstance(member, ast.ImportFrom):
            if isinstance(member, ast.ClassDef):
                yield from _rows(f"{path}.{name}", member, [])
            else:
                yield _row(f"{path}.{name}", "property" if _is_property(member) else "method", member, member, [])
    for told in node.body:
        if isinstance(told, ast.AnnAssign) and isinstance(told.target, ast.Name) and not told.target.id.startswith("_"):
            row = _row(f"{path}.{told.target.id}", "property", None, None, [])
            yield {**row, "returns": ast.unparse(told.annotation)}


def _is_property(node: ast.stmt) -> bool:
    return any("property" in ast.unparse(mark) for mark in getattr(node, "decorator_list", []))


def _row(path: str, kind: str, call: ast.stmt | None, told: ast.stmt | None, aliases: list[str]) -> dict[str, Any]:
    documented = isinstance(told, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    doc = ast.get_docstring(told) if documented else ""  # type: ignore[arg-type]
    how = called(call) if call is not None else None
    return {
        "path": path,
        "kind": kind,
        "signature": how.signature if how and kind != "property" else "",
        "parameters": (),
        "returns": how.returns if how else "",
        "doc": (doc or "")[:LONGEST_DOC],
        "aliases": aliases,
        "held": [],
        "deprecated": None,
    }
