"""Names of a package that are imported when they are first asked for (PEP 562).

For packages of which one use needs little and another much: who asks for one name does not wait for the others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def importing(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A `__getattr__` for the package: `homes` says which of its modules has a name, e.g. `{"Order": "order"}`.

    It raises AttributeError for any other name.
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(f"{package}.{homes[name]}")
        for known, where in homes.items():  # of all that came with it: one that is called like its module is now that
            if hasattr(module := sys.modules.get(f"{package}.{where}"), known):
                setattr(sys.modules[package], known, getattr(module, known))
        return getattr(home, name)

    return find
