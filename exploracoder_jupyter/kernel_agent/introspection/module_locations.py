"""Finds where modules are without importing their packages, namespace packages included."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

CODE = (".py", ".so", ".pyd")
STUBS = "-stubs"
"""Ends the name of a folder of type stubs that is installed beside, or in place of, a package (PEP 561)."""
MOST_LOOKED_AT = 1_000


def find_spec(name: str, within: Sequence[str] | None) -> ModuleSpec | None:
    """The spec of a module; `within` lists the folders of its package, None for a module at the top.

    Of a namespace package within another the spec is made here: the finder would ask its parents for their folders, and
    they are not imported.
    """
    for finder in sys.meta_path:
        try:
            spec = finder.find_spec(name, within)
        except (ImportError, ValueError, AttributeError, KeyError):
            continue
        if spec is not None and not (within is not None and is_namespace(spec)):
            return spec
    return _namespace(name, within or ())


def _namespace(name: str, within: Sequence[str]) -> ModuleSpec | None:
    places = [os.path.join(root, name.rpartition(".")[2]) for root in within]
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [place for place in places if os.path.isdir(place)]
    return spec if spec.submodule_search_locations else None


def is_namespace(spec: ModuleSpec) -> bool:
    """Whether a spec is of a package without a file of its own."""
    return spec.submodule_search_locations is not None and not spec.has_location


def root(module: Any, name: str, modules: dict[str, Any]) -> str:
    """The path that all code of the library with this name begins with: its outermost package that has a file.

    What only lies in the same namespace may belong to others. `modules`: what is imported.
    """
    parts = name.split(".")
    for at in range(1, len(parts) + 1):
        known = modules.get(".".join(parts[:at]))
        if known is not None and hasattr(known, "__path__") and getattr(known, "__file__", None):
            return ".".join(parts[:at])
    return name if hasattr(module, "__path__") or len(parts) == 1 else ".".join(parts[:-1])


def unmarked_packages(places: Sequence[str]) -> Iterator[str]:
    """Names of the packages without a file of their own in these folders: folders that have modules somewhere."""
    for place in places:
        if not os.path.isdir(place):
            continue
        for name in sorted(os.listdir(place)):
            folder = os.path.join(place, name)
            if name.isidentifier() and os.path.isdir(folder) and not _is_marked(folder) and _has_code(folder):
                yield name


def _is_marked(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "__init__.py"))


def _has_code(folder: str) -> bool:
    for seen, (_, inner, names) in enumerate(os.walk(folder)):
        inner[:] = [name for name in inner if name.isidentifier() and name != "__pycache__"]
        if any(name.endswith(CODE) for name in names):
            return True
        if seen > MOST_LOOKED_AT:
            return False
    return False
