"""Lists the API of a library of which only type stubs are installed, in the same rows as the walk.

Stubs are parsed and never run. A folder `NAME-stubs`, a folder `NAME` with nothing but `.pyi` files, and a file
`NAME.pyi` count (PEP 561).
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.introspection.api_row import MAX_DOC, is_public_path
from exploracoder_jupyter.kernel_agent.introspection.module_locations import STUBS
from exploracoder_jupyter.kernel_agent.introspection.public_names import SKIPPED_MODULES
from exploracoder_jupyter.kernel_agent.introspection.stub_signatures import (
    MAX_FILE_SIZE,
    MAX_IMPORT_DEPTH,
    call_signature,
    definitions_by_name,
)

MAX_FILES = 2_000
INIT_FILE = "__init__.pyi"


class Stub(NamedTuple):
    """A parsed stub file."""

    package: str
    """The package that its relative imports start from."""
    names: dict[str, ast.stmt]
    public_names: list[str]


def stub_path(name: str) -> str:
    """Return the folder or file with the stubs of a library; empty if there are none, or there is code with them."""
    top, *rest = name.split(".")
    for root in sys.path:
        for base in (top + STUBS, top):
            location = os.path.join(root, base, *rest)
            if os.path.isfile(location + ".pyi") and not os.path.isfile(location + ".py"):
                return location + ".pyi"
            if os.path.isdir(location) and any(_files(location, name)) and not _has_code(location):
                return location
    return ""


def stub_rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each public object in the stubs of the library with this name."""
    location = stub_path(name)
    files = [(name, location)] if location.endswith(".pyi") else [*_files(location, name)] if location else []
    stubs = {module: stub for module, file in files[:MAX_FILES] if (stub := _stub(module, file))}
    paths: dict[tuple[str, str], list[str]] = {}
    for module, stub in stubs.items():
        for exported in stub.public_names if is_public_path(module) else ():
            found = _find_definition(stubs, module, exported)
            if found:
                paths.setdefault(found, []).append(f"{module}.{exported}")
    for (module, original_name), known_paths in paths.items():
        path, *others = sorted(known_paths, key=lambda item: (item.count("."), item))
        yield from _rows(
            path, stubs[module].names[original_name], sorted({*others, f"{module}.{original_name}"} - {path})
        )


def _has_code(folder: str) -> bool:
    return any(name.endswith((".py", ".so", ".pyd")) for _, _, names in os.walk(folder) for name in names)


def _files(location: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield modules with their files, packages before their content."""
    for folder, subfolders, files in os.walk(location):
        subfolders[:] = sorted(
            item for item in subfolders if item.isidentifier() and not SKIPPED_MODULES.fullmatch(item.lstrip("_"))
        )
        relative = os.path.relpath(folder, location)
        package = ".".join([name, *(relative.split(os.sep) if relative != os.curdir else [])])
        for file in sorted(files, key=lambda item: (item != INIT_FILE, item)):
            stem, suffix = os.path.splitext(file)
            if suffix == ".pyi":
                yield (package if file == INIT_FILE else f"{package}.{stem}"), os.path.join(folder, file)


def _stub(module: str, file: str) -> Stub | None:
    with (
        suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError),
        open(file, encoding="utf-8") as stream,
    ):
        tree = ast.parse(stream.read(MAX_FILE_SIZE))
        package = module if file.endswith(INIT_FILE) else module.rpartition(".")[0]
        return Stub(package, definitions_by_name(tree.body), _public_names(tree))
    return None


def _public_names(tree: ast.Module) -> list[str]:
    """Return the names in `__all__`; without one, definitions and explicitly re-exported names."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            with suppress(ValueError):
                return [name for name in ast.literal_eval(node.value) if isinstance(name, str)]  # type: ignore[attr-defined]
    names = definitions_by_name(tree.body)
    reexported = {
        item.asname
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for item in node.names
        if _is_reexport(item)
    }
    candidates = [name for name, node in names.items() if not isinstance(node, ast.ImportFrom) or name in reexported]
    return [name for name in candidates if not name.startswith("_")]


def _is_reexport(alias: ast.alias) -> bool:
    return alias.asname == alias.name


def _find_definition(stubs: dict[str, Stub], module: str, name: str, depth: int = 0) -> tuple[str, str] | None:
    """Return the module that defines a name, and the name there."""
    stub = stubs.get(module)
    node = stub.names.get(name) if stub else None
    if stub is None or node is None or depth > MAX_IMPORT_DEPTH:
        return None
    if not isinstance(node, ast.ImportFrom):
        return module, name
    original = next(alias.name for alias in node.names if (alias.asname or alias.name) == name)
    return _find_definition(stubs, _imported_module(node, stub.package), original, depth + 1)


def _imported_module(node: ast.ImportFrom, package: str) -> str:
    parents = package.split(".")
    base = parents[: len(parents) - node.level + 1] if node.level else []
    return ".".join([*base, *filter(None, [node.module])])


def _rows(path: str, node: ast.stmt, aliases: list[str]) -> Iterator[dict[str, Any]]:
    if not isinstance(node, ast.ClassDef):
        yield _row(path, "function", node, node, aliases)
        return
    members = definitions_by_name(node.body)
    yield _row(path, "class", members.get("__init__") or members.get("__new__"), node, aliases)
    for name, member in members.items():
        if not name.startswith("_") and not isinstance(member, ast.ImportFrom):
            if isinstance(member, ast.ClassDef):
                yield from _rows(f"{path}.{name}", member, [])
            else:
                yield _row(f"{path}.{name}", "property" if _is_property(member) else "method", member, member, [])
    for statement in node.body:
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and not statement.target.id.startswith("_")
        ):
            row = _row(f"{path}.{statement.target.id}", "property", None, None, [])
            yield {**row, "returns": ast.unparse(statement.annotation)}


def _is_property(node: ast.stmt) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in getattr(node, "decorator_list", []))


def _row(path: str, kind: str, call: ast.stmt | None, statement: ast.stmt | None, aliases: list[str]) -> dict[str, Any]:
    documented = isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    doc = ast.get_docstring(statement) if documented else ""  # type: ignore[arg-type]
    call_info = call_signature(call) if call is not None else None
    return {
        "path": path,
        "kind": kind,
        "signature": call_info.signature if call_info and kind != "property" else "",
        "parameters": (),
        "returns": call_info.returns if call_info else "",
        "doc": (doc or "")[:MAX_DOC],
        "aliases": aliases,
        "internal_paths": [],
        "deprecated": None,
    }
