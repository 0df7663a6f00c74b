"""Names of libraries for the page's completion: what the user has imported, and what is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType

from exploracoder_jupyter.ipython_extension.tab_completion import installed_names
from exploracoder_jupyter.protocol.form_messages import LibraryNames

_IMPORTABLE = (type, FunctionType, BuiltinFunctionType)
_NOT_LIBRARIES = frozenset({"__main__", "builtins", "IPython", "exploracoder_jupyter"})


def library_names(request: int, namespace: Mapping[str, object]) -> LibraryNames:
    """Return the names for a kernel with these variables."""
    imported = {name for value in list(namespace.values()) for name in _origin(value)} - _NOT_LIBRARIES
    standard = {name for name in sys.stdlib_module_names if not name.startswith("_")}
    return LibraryNames(
        request=request,
        imported=sorted(imported, key=str.lower),
        installed=sorted({*installed_names(), *standard}, key=str.lower),
    )


def _origin(value: object) -> Iterator[str]:
    """Yield the top-level package of a module, class or function, without running code of the user's objects."""
    if isinstance(value, ModuleType):
        name = object.__getattribute__(value, "__dict__").get("__name__")
    elif type(value) in _IMPORTABLE:
        name = value.__module__
    else:
        return
    root = name.partition(".")[0] if isinstance(name, str) else ""
    if root and not root.startswith("_"):
        yield root
