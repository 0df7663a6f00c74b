"""Walks the public API of an installed library, or of one that has only stubs, in the interpreter that will use
it.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.api_rows import (
    MAX_DOC,
    documentation,
    is_public_path,
    string_attribute,
)
from exploracoder_jupyter.kernel_agent.introspection.locations import STUBS, has_code, library_root
from exploracoder_jupyter.kernel_agent.introspection.object_walker import ApiWalker
from exploracoder_jupyter.kernel_agent.introspection.public_names import SKIPPED_MODULES, Scope
from exploracoder_jupyter.kernel_agent.introspection.signatures import (
    INIT_FILE,
    CallSignature,
    Stub,
    constructor,
    definitions_by_name,
    find_definition,
    read_stub,
    signature_in_stubs,
    stub_call_signature,
)
from exploracoder_jupyter.kernel_agent.reporting.bounded_output import silence_standard_streams, time_limit

# Lists the API of a library of which only type stubs are installed, in the same rows as the walk.
#
# Stubs are parsed and never run. A folder `NAME-stubs`, a folder `NAME` with only `.pyi` files, and a file
# `NAME.pyi` count (PEP 561).

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
    declared = stub_call_signature(call) if call is not None else CallSignature()
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


# Walks the public API of an installed library, in the interpreter that will run the code.
#
# The program, with arguments such as `sklearn --seconds 120`, imports the library and its public submodules. It
# prints lines of JSON: `{"imported": true}` after the import of the library, `{"progress": n}` during the walk,
# `{"loading": name}` before each module it imports, one `{"api": {...}}` per public object, and finally
# `{"library": {...}}`; or `{"error": "import", ...}` with exit status 3, where `missing` lists the paths that the
# error names and that do not exist here.

_PATH = re.compile(r"(?<![\w/.~])~?/[^\s'\",:;()]*[^\s'\",:;().]")
_MAX_DETAIL, _MAX_PATHS = 4000, 5
MAX_UNIMPORTED = 100


def walk(
    name: str,
    *,
    seconds: float,
    import_seconds: float = 120.0,
    emit: Callable[[Mapping[str, Any]], None],
    beside: Sequence[str] = (),
    without: Sequence[str] = (),
) -> bool:
    """Walk one library and emit its rows; returns False if it cannot be imported.

    `import_seconds`: how long the import of the library itself may take. `beside`: other top-level modules whose
    objects belong to the library. `without`: modules not to import.
    """
    began, limit = time.monotonic(), min(seconds, import_seconds)
    try:
        with time_limit(limit):
            module = importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")
        if missing and _walk_stubs(name, emit):
            return True
        late = isinstance(error, TimeoutError) and time.monotonic() - began >= limit
        why = f"its import did not end within {limit:g} s" if late else f"{type(error).__name__}: {error}"
        paths = _missing_paths(error)
        emit({"error": "import", "library": name, "detail": why, **({"missing": paths} if paths else {})})
        return False
    emit({"imported": True})
    scope = Scope(name, beside, root=library_root(module, name))
    walker = ApiWalker(scope, seconds=seconds, emit=emit, without=without)
    walker.run(module)
    if not walker.catalogue.objects and _walk_stubs(name, emit):
        return True
    walker.catalogue.fill_signatures(signature_in_stubs)
    for row in walker.catalogue.rows():
        emit({"api": row})
    version, doc = string_attribute(module, "__version__") or "", documentation(module)[:MAX_DOC]
    gaps = {"unimported": list(walker.unimported.items())[:MAX_UNIMPORTED], "cut": walker.truncated}
    emit({"library": {"name": name, "version": version, "doc": doc, **gaps}})
    return True


def _missing_paths(error: BaseException) -> list[str]:
    """Return the paths that an error names and that are not there; they may exist outside of this process's view."""
    named = [getattr(error, "filename", None), *_PATH.findall(str(error)[:_MAX_DETAIL])]
    paths = (os.path.expanduser(path) for path in named if isinstance(path, str))
    return [path for path in dict.fromkeys(paths) if os.path.isabs(path) and not os.path.exists(path)][:_MAX_PATHS]


def _walk_stubs(name: str, emit: Callable[[Mapping[str, Any]], None]) -> bool:
    """Emit rows from the type stubs of a library that has no code; returns False if there are none."""
    rows = list(stub_rows(name))
    for row in rows:
        emit({"api": row})
    if rows:
        emit({"library": {"name": name, "stubs": True}})
    return bool(rows)


def main() -> int:
    """Walk the libraries with these import names; returns exit status 3 if one cannot be imported."""
    parser = argparse.ArgumentParser(description="Print the public API of libraries as lines of JSON.")
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--beside", action="append", default=[], help="another module of the same distribution")
    parser.add_argument("--without", action="append", default=[], help="a module that is not to be imported")
    parser.add_argument("--seconds", type=float, default=180.0, help="for each library")
    parser.add_argument("--import-seconds", type=float, default=120.0, help="for the import of the library itself")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with silence_standard_streams() as stream:

        def emit(row: Mapping[str, Any]) -> None:
            stream.write(json.dumps(row) + "\n")
            stream.flush()

        arguments = {name: value for name, value in vars(options).items() if name != "libraries"} | {"emit": emit}
        results = [walk(name, **arguments) for name in options.libraries]
    return 0 if all(results) else 3


if __name__ == "__main__":
    os._exit(main())  # skips the library's threads, exit handlers and finalizers
