"""Lists the API of a library of which only type stubs are installed, in the same rows as the walk.

Stubs are parsed and never run. A folder `NAME-stubs`, a folder `NAME` with only `.pyi` files, and a file
`NAME.pyi` count (PEP 561).
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.api_row import MAX_DOC, is_public_path
from exploracoder_jupyter.kernel_agent.introspection.call_signatures import CallSignature
from exploracoder_jupyter.kernel_agent.introspection.module_locations import STUBS, has_code
from exploracoder_jupyter.kernel_agent.introspection.public_names import SKIPPED_MODULES
from exploracoder_jupyter.kernel_agent.introspection.stub_signatures import (
    INIT_FILE,
    Stub,
    call_signature,
    constructor,
    definitions_by_name,
    find_definition,
    read_stub,
)

MAX_FILES = 2_000


def stub_path(name: str) -> str:
    """Return the folder or file with the stubs of a library; empty if there are none, or there is code with them."""
    top, *rest = name.split(".")
    for root in sys.path:
        for base in (top + STUBS, top):
            location = os.path.join(root, base, *rest)
            if os.path.isfile(location + ".pyi") and not os.path.isfile(location + ".py"):
                return location + ".pyi"
            if os.path.isdir(location) and any(_files(location, name)) and not has_code(location):
                return location
    return ""


def stub_rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each public object in the stubs of the library with this name."""
    location = stub_path(name)
    files = [(name, location)] if location.endswith(".pyi") else _files(location, name) if location else ()
    stubs = {module: stub for module, file in islice(files, MAX_FILES) if (stub := read_stub(module, file))}
    paths: dict[tuple[str, str], list[str]] = {}
    for module, stub in stubs.items():
        for exported in _public_names(stub) if is_public_path(module) else ():
            if found := find_definition(stubs.get, module, exported):
                paths.setdefault(found, []).append(f"{module}.{exported}")
    for (module, original_name), known_paths in paths.items():
        path, *others = sorted(known_paths, key=lambda item: (item.count("."), item))
        aliases = sorted({*others, f"{module}.{original_name}"} - {path})
        yield from _rows(path, stubs[module].names[original_name], aliases)


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


def _public_names(stub: Stub) -> list[str]:
    """Return the names in `__all__`; without one, definitions and explicitly re-exported names."""
    for node in stub.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            with suppress(ValueError):
                return [name for name in ast.literal_eval(node.value) if isinstance(name, str)]  # type: ignore[attr-defined]
    imports = [item for node in stub.body if isinstance(node, ast.ImportFrom) for item in node.names]
    public = {item.asname for item in imports if item.asname == item.name}
    public |= {name for name, node in stub.names.items() if not isinstance(node, ast.ImportFrom)}
    return [name for name in stub.names if name in public and not name.startswith("_")]


def _rows(path: str, node: ast.stmt, aliases: list[str]) -> Iterator[dict[str, Any]]:
    if not isinstance(node, ast.ClassDef):
        yield _row(path, "function", node, node, aliases)
        return
    yield _row(path, "class", constructor(node), node, aliases)
    for name, member in definitions_by_name(node.body).items():
        if name.startswith("_") or isinstance(member, ast.ImportFrom):
            continue
        if isinstance(member, ast.ClassDef):
            yield from _rows(f"{path}.{name}", member, [])
        else:
            decorators = map(ast.unparse, getattr(member, "decorator_list", []))
            kind = "property" if any("property" in decorator for decorator in decorators) else "method"
            yield _row(f"{path}.{name}", kind, member, member, [])
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if not name.startswith("_"):
                row = _row(f"{path}.{name}", "property", None, statement, [])
                yield {**row, "returns": ast.unparse(annotation)}


def _row(path: str, kind: str, call: ast.stmt | None, statement: ast.stmt, aliases: list[str]) -> dict[str, Any]:
    documented = isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    doc = ast.get_docstring(statement) if documented else ""  # type: ignore[arg-type]
    declared = call_signature(call) if call is not None else CallSignature()
    return {
        "path": path,
        "kind": kind,
        "signature": declared.signature if kind != "property" else "",
        "parameters": (),
        "returns": declared.returns,
        "doc": (doc or "")[:MAX_DOC],
        "aliases": aliases,
        "internal_paths": [],
        "deprecated": None,
    }
