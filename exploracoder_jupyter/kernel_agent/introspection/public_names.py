"""Which files are public, which values belong to a library, and which of a module's names are public."""

from __future__ import annotations

import ast
import inspect
import os
import re
import site
import sysconfig
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import distributions
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.api_rows import (
    documentation,
    is_class,
    is_module,
    safe_getattr,
    string_attribute,
)

# Decides whether a file belongs to a publicly available library: the standard library, or installed from an index.
#
# Everything else counts as the user's own: the working directory and other folders on the import path, editable
# installations, and what was installed from a folder or a repository (which PEP 610 metadata records).

PACKAGER = "conda"
"""It builds every package from a folder, which its metadata records."""


def is_public(file: str) -> bool:
    """Return whether the file is publicly available, as far as its real location shows."""
    real = os.path.realpath(file)
    for folder in _folders(("purelib", "platlib")):
        if real.startswith(folder + os.sep):
            return _from_index(folder, os.path.relpath(real, folder).split(os.sep)[0])
    return any(real.startswith(folder + os.sep) for folder in _folders(("stdlib", "platstdlib")))


@cache
def _folders(kinds: Sequence[str]) -> Sequence[str]:
    """Return this interpreter's module folders of these kinds, including system-wide and per-user site packages."""
    found = [sysconfig.get_path(kind) for kind in kinds]
    if "purelib" in kinds:
        found += [*site.getsitepackages(), site.getusersitepackages()]
    return sorted({os.path.realpath(folder) for folder in found}, key=len, reverse=True)


@cache
def _from_index(folder: str, top: str) -> bool:
    """Whether no metadata says that the module or package of this file name comes from elsewhere than an index."""
    for about in distributions(path=[folder]):
        if about.read_text("direct_url.json") is not None and PACKAGER not in (about.read_text("INSTALLER") or ""):
            files = (about.read_text("RECORD") or "").splitlines()
            if any(line.split(",")[0].split("/")[0] == top for line in files):
                return False
    return True


# Decides which values belong to a library, and which of a module's names are meant for users.
#
# `__all__` lists what is public; without it, public is what the library itself defines without a leading
# underscore. Names missing from `__all__` are *unlisted*: they are public if documented and defined right there, or
# re-exported by a package, because such lists are often incomplete.

SKIPPED_MODULES = re.compile(
    r"_.*|.*_?tests?|test_.*|conftest|setup|versioneer|f2py|cli|scripts?|bench(marks?)?|examples?"
    r"|externals?|extern|vendor(ed)?|third_?party|__main__"
)
ALL_DECLARATION = re.compile(r"^__all__\b", re.MULTILINE)
TYPE_CHECKING_BLOCK = re.compile(r"^if (?:typing\.)?TYPE_CHECKING:\n((?:[ \t]+[^\n]*\n|[ \t]*\n)+)", re.MULTILINE)
RELATIVE_IMPORT = re.compile(r"^from \.", re.MULTILINE)
DEFINITION = re.compile(r"^(?:@|def |class |async )", re.MULTILINE)
MAX_TABLE_NAMES = 2_000
MAX_SOURCE = 1_000_000


class Scope:
    """The boundaries of one library."""

    def __init__(self, name: str, beside: Sequence[str] = (), *, root: str | None = None) -> None:
        """`root`: the prefix of the library's paths, if that is not the first part of its name."""
        self.name = name
        self.top_level_names = {top.lstrip("_") for top in (root or name.partition(".")[0], *beside)}

    def defines(self, value: Any) -> bool:
        """Whether this library defines it; objects without `__module__` belong to the module they are found in."""
        defining_module = string_attribute(value, "__name__" if is_module(value) else "__module__")
        if not defining_module:
            return callable(value) and not is_class(value)
        return self.contains(defining_module)

    def contains(self, path: str) -> bool:
        """Whether a dotted path starts in this library."""
        parts = path.lstrip("_").split(".")
        return any(".".join(parts[:length]) in self.top_level_names for length in range(1, len(parts) + 1))

    def declared_names(self, module: Any) -> list[str] | None:
        """Return the names in `__all__`; None without one."""
        declared = safe_getattr(module, "__all__")
        listed = isinstance(declared, (list, tuple))
        return [name for name in declared if isinstance(name, str)] if listed else None

    def public_names(self, module: Any) -> dict[str, Any]:
        """Return the public names of a module with their values: those in `__all__`, or those meant for users."""
        declared_names = self.declared_names(module)
        if declared_names is not None:
            return _public_values(module, declared_names)
        return self._default_exports(module, _public_values(module, [*_attribute_names(module), *_lazy_names(module)]))

    def undeclared_names(self, module: Any) -> dict[str, Any]:
        """Return names missing from a module's `__all__` that are meant for users nevertheless.

        These are its own classes, whose instances users meet, and documented functions if the list is empty, is not
        maintained by tools (compiled modules), or the module is a package that re-exports them.
        """
        declared_names = self.declared_names(module)
        if declared_names is None:
            return {}
        package, own_name = safe_getattr(module, "__path__") is not None, string_attribute(module, "__name__")
        compiled = not (string_attribute(module, "__file__") or "").endswith(".py")
        functions = package or compiled or not declared_names
        found = {}
        undeclared = sorted({*_attribute_names(module)}.difference(declared_names))
        for name, value in _public_values(module, undeclared).items():
            home = string_attribute(value, "__module__")
            own = home and (home == own_name or (package and self.contains(home)))
            if own and (is_class(value) or (functions and callable(value) and documentation(value))):
                found[name] = value
        return found

    def internal_callables(self, module: Any) -> Iterator[tuple[str, Any]]:
        """Yield the callables that a module contains for its own use; users write such paths, too."""
        for name, value in _public_values(module, _attribute_names(module)).items():
            if callable(value) and not is_module(value):
                yield name, value

    def reexports(self, module: Any) -> bool:
        """Whether a module re-exports definitions of other modules: exclusively, unless it is a package."""
        values = [value for value in self.public_names(module).values() if not is_module(value) and self.defines(value)]
        own = any(string_attribute(value, "__module__") == string_attribute(module, "__name__") for value in values)
        return bool(values) and (not own or safe_getattr(module, "__path__") is not None)

    def _default_exports(self, module: Any, values: dict[str, Any]) -> dict[str, Any]:
        """Return the names of a module without `__all__` that are meant for users.

        A package, or a module without definitions, re-exports what it imports from elsewhere in the library; any other
        module imports it for its own use.
        """
        own_name, package = str(safe_getattr(module, "__name__")), safe_getattr(module, "__path__") is not None
        modules, inner, own = {}, {}, {}
        for name, value in values.items():
            if value is None or not self.defines(value):
                continue
            if is_module(value):
                if (package and own_name == self.name) or value.__name__.startswith(f"{own_name}."):
                    modules[name] = value
                continue
            inner[name] = value
            documented = inspect.isbuiltin(value) and value.__doc__  # compiled functions have no `__module__`
            if documented or string_attribute(value, "__module__") in (own_name, "", None):
                own[name] = value
        return modules | (inner if package or not own else own)


def looks_public(folders: list[str], name: str) -> bool:
    """Return whether the source of a submodule, which is not imported, indicates that it is public.

    It does if it has an `__all__`, or only re-exports what it imports from sibling modules.
    """
    for folder in folders:
        for file in (f"{name}.py", os.path.join(name, "__init__.py")):
            with suppress(OSError, ValueError), open(os.path.join(folder, file), encoding="utf-8-sig") as stream:
                text = stream.read(MAX_SOURCE)
                facade = RELATIVE_IMPORT.search(text) and not DEFINITION.search(text) and file == f"{name}.py"
                return bool(facade or ALL_DECLARATION.search(text))
    return False


def _public_values(module: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of those names that are identifiers without a leading underscore."""
    return {name: safe_getattr(module, name) for name in names if name.isidentifier() and not name.startswith("_")}


def _attribute_names(module: Any) -> list[str]:
    try:
        names = dir(module)
    except Exception:
        names = list(vars(module))
    return [name for name in names if isinstance(name, str)]


def _lazy_names(module: Any) -> Iterator[str]:
    """Yield names that a module's `__getattr__` may create on demand.

    These are the names in its tables, and those that it imports for type checkers only.
    """
    inner = vars(module)
    if "__getattr__" not in inner or "__dir__" in inner:
        return
    for value in list(inner.values()):
        if type(value) in (dict, list, tuple, set, frozenset) and len(value) <= MAX_TABLE_NAMES:
            yield from (key for key in value if isinstance(key, str))
    yield from type_checking_imports(string_attribute(module, "__file__") or "")


@cache
def type_checking_imports(file: str) -> Mapping[str, str]:
    """Return the names that a source file imports for type checkers only, with the modules they come from."""
    found: dict[str, str] = {}
    if not file.endswith(".py"):
        return found
    with suppress(OSError, SyntaxError, ValueError), open(file, encoding="utf-8-sig") as stream:
        for block in TYPE_CHECKING_BLOCK.findall(stream.read(MAX_SOURCE)):
            imports = (node for node in ast.parse(textwrap.dedent(block)).body if isinstance(node, ast.ImportFrom))
            found.update({alias.asname or alias.name: node.module or "" for node in imports for alias in node.names})
    return found
