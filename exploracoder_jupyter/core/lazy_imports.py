"""Lazy import of a package's public names on first access (PEP 562).

For packages whose users need different parts: accessing one name does not import the modules of the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_getattr(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return a `__getattr__` for the package; `homes` maps names to its modules, e.g. `{"Order": "order"}`.

    The returned function raises AttributeError for any other name, and ImportError where a module's own code raises
    AttributeError.
    """

    def get_attribute(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            home = import_module(f"{package}.{homes[name]}")
        except AttributeError as error:  # `from package import name` would hide it, as it does for a missing name
            raise ImportError(f"{package}.{homes[name]} cannot be imported: {error}") from error
        # Set the names of all modules loaded by now: importing a module has set the package's attribute of the same
        # name to the module itself, which would hide an object that shares its name.
        for exported, module_name in homes.items():
            if hasattr(module := sys.modules.get(f"{package}.{module_name}"), exported):
                setattr(sys.modules[package], exported, getattr(module, exported))
        return getattr(home, name)

    return get_attribute
