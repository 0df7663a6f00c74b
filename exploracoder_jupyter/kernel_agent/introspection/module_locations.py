"""Locates modules without importing their packages, including namespace packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from itertools import islice
from typing import Any

CODE = (".py", ".so", ".pyd")
STUBS = "-stubs"
"""Suffix of a folder of type stubs that is installed beside, or in place of, a package (PEP 561)."""
MAX_FOLDERS = 1_000


def find_spec(name: str, package_folders: Sequence[str] | None) -> ModuleSpec | None:
    """Return the spec of a module; `package_folders` lists the folders of its package, None for a top-level module.

    Specs of nested namespace packages are created here: the standard finder would look up the folders of their parents,
    which are not imported.
    """
    for finder in sys.meta_path:
        with suppress(ImportError, ValueError, AttributeError, KeyError):
            spec = finder.find_spec(name, package_folders)
            if spec is not None and not (package_folders is not None and is_namespace(spec)):
                return spec
    parents = [os.path.join(folder, name.rpartition(".")[2]) for folder in package_folders or ()]
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [parent for parent in parents if os.path.isdir(parent)]
    return spec if spec.submodule_search_locations else None


def is_namespace(spec: ModuleSpec) -> bool:
    """Return whether a spec belongs to a package without its own file."""
    return spec.submodule_search_locations is not None and not spec.has_location


def library_root(module: Any, name: str) -> str:
    """Return the prefix of all paths of the library with this name: its outermost package that has a file.

    Other parts of the same namespace may belong to other libraries.
    """
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        loaded = sys.modules.get(".".join(parts[:length]))
        if loaded is not None and hasattr(loaded, "__path__") and getattr(loaded, "__file__", None):
            return ".".join(parts[:length])
    return name if hasattr(module, "__path__") or len(parts) == 1 else ".".join(parts[:-1])


def packages_without_init(parents: Sequence[str]) -> Iterator[str]:
    """Yield names of packages without `__init__.py` in these folders: folders that contain modules at any depth."""
    for parent in filter(os.path.isdir, parents):
        for name in sorted(os.listdir(parent)):
            folder = os.path.join(parent, name)
            if name.isidentifier() and not os.path.exists(os.path.join(folder, "__init__.py")) and has_code(folder):
                yield name


def has_code(folder: str) -> bool:
    """Return whether there are modules in a folder, at any depth."""
    for _, subfolders, names in islice(os.walk(folder), MAX_FOLDERS):
        subfolders[:] = [name for name in subfolders if name.isidentifier() and name != "__pycache__"]
        if any(name.endswith(CODE) for name in names):
            return True
    return False


def module_origin(name: str) -> str:
    """Return the file, or the folder without one, from which a top-level module is imported or was; empty if unknown.

    Relative to the working directory if it is below that, which has another path in some siblings. Siblings run the
    source of this function, where this package is not: it has to import what it needs.
    """
    import importlib.util
    import os

    try:
        spec = importlib.util.find_spec(name)
        path = (spec.origin or next(iter(spec.submodule_search_locations or ()), "")) if spec else ""
        inside = os.path.relpath(path, os.getcwd()) if os.path.isabs(path) else path
    except (ImportError, ValueError, AttributeError, OSError):
        return ""
    return path if inside.startswith(os.pardir) else inside
