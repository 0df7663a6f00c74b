"""Locates modules without importing their packages, including namespace packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
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
        try:
            spec = finder.find_spec(name, package_folders)
        except (ImportError, ValueError, AttributeError, KeyError):
            continue
        if spec is not None and not (package_folders is not None and is_namespace(spec)):
            return spec
    return _namespace_spec(name, package_folders or ())


def _namespace_spec(name: str, package_folders: Sequence[str]) -> ModuleSpec | None:
    parents = [os.path.join(folder, name.rpartition(".")[2]) for folder in package_folders]
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [parent for parent in parents if os.path.isdir(parent)]
    return spec if spec.submodule_search_locations else None


def is_namespace(spec: ModuleSpec) -> bool:
    """Return whether a spec belongs to a package without its own file."""
    return spec.submodule_search_locations is not None and not spec.has_location


def library_root(module: Any, name: str, modules: dict[str, Any]) -> str:
    """Return the prefix of all paths of the library with this name: its outermost package that has a file.

    Other parts of the same namespace may belong to other libraries. `modules`: the imported modules.
    """
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        loaded = modules.get(".".join(parts[:length]))
        if loaded is not None and hasattr(loaded, "__path__") and getattr(loaded, "__file__", None):
            return ".".join(parts[:length])
    return name if hasattr(module, "__path__") or len(parts) == 1 else ".".join(parts[:-1])


def packages_without_init(parents: Sequence[str]) -> Iterator[str]:
    """Yield names of packages without `__init__.py` in these folders: folders that contain modules at any depth."""
    for parent in parents:
        if not os.path.isdir(parent):
            continue
        for name in sorted(os.listdir(parent)):
            folder = os.path.join(parent, name)
            if name.isidentifier() and os.path.isdir(folder) and not _has_init(folder) and _has_code(folder):
                yield name


def _has_init(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "__init__.py"))


def _has_code(folder: str) -> bool:
    for count, (_, subfolders, names) in enumerate(os.walk(folder)):
        subfolders[:] = [name for name in subfolders if name.isidentifier() and name != "__pycache__"]
        if any(name.endswith(CODE) for name in names):
            return True
        if count > MAX_FOLDERS:
            return False
    return False
