"""Which values belong to a library, and which of a module's names are meant for users.

`__all__` says what is public; without it, what the library itself defines and does not mark with an underscore. Names
that `__all__` leaves out are *unlisted*: public where they are documented and defined right there, or handed on by a
package, because many a list is incomplete.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import textwrap
from contextlib import suppress
from functools import cache

from exploracoder_jupyter.kernel_agent.introspection.api_row import (
    attribute,
    documentation,
    is_class,
    is_module,
    string,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

SKIPPED = re.compile(
    r"_.*|.*_?tests?|test_.*|conftest|setup|versioneer|f2py|cli|scripts?|bench(marks?)?|examples?"
    r"|externals?|extern|vendor(ed)?|third_?party|__main__"
)
DECLARATION = re.compile(r"^__all__\b", re.MULTILINE)
GUARDED = re.compile(r"^if (?:typing\.)?TYPE_CHECKING:\n((?:[ \t]+[^\n]*\n|[ \t]*\n)+)", re.MULTILINE)
HANDED_ON = re.compile(r"^from \.", re.MULTILINE)
DEFINITION = re.compile(r"^(?:@|def |class |async )", re.MULTILINE)
MOST_DECLARED = 2_000
LARGEST_SOURCE = 1_000_000


class Scope:
    """The bounds of one library."""

    def __init__(self, name: str, beside: Sequence[str] = (), *, root: str | None = None) -> None:
        """`root`: what the library's paths begin with, where that is not the first part of its name."""
        self.name = name
        self.tops = {top.lstrip("_") for top in (root or name.partition(".")[0], *beside)}

    def ours(self, value: Any) -> bool:
        """Whether this library defines it; objects that do not say belong to the module they are found in."""
        home = string(value, "__name__" if is_module(value) else "__module__")
        if not home:
            return callable(value) and not is_class(value)
        return self.holds(home)

    def holds(self, path: str) -> bool:
        """Whether a dotted path begins in this library."""
        parts = path.lstrip("_").split(".")
        return any(".".join(parts[:at]) in self.tops for at in range(1, len(parts) + 1))

    def listed(self, module: Any) -> list[str] | None:
        """What `__all__` names; None without one."""
        declared = attribute(module, "__all__")
        if not isinstance(declared, (list, tuple)):
            return None
        return [name for name in declared if isinstance(name, str)]

    def offered(self, module: Any) -> dict[str, Any]:
        """The public names of a module with what they mean: those of `__all__`, or those meant for users."""
        listed = self.listed(module)
        if listed is not None:
            return {name: attribute(module, name) for name in listed if _shown(name)}
        values = {name: attribute(module, name) for name in [*_names(module), *_promised(module)] if _shown(name)}
        return self._exported(module, values)

    def unlisted(self, module: Any) -> dict[str, Any]:
        """Names of a module that its `__all__` leaves out and that are meant for users all the same.

        Its own classes, whose objects people meet; documented functions where the list is no list (it is empty), where
        it is not kept up by tools (compiled modules), and where a package hands them on.
        """
        listed = self.listed(module)
        if listed is None:
            return {}
        rest = {name: attribute(module, name) for name in _names(module) if name not in listed and _shown(name)}
        package, here = attribute(module, "__path__") is not None, string(module, "__name__")
        lax = package or not listed or not (string(module, "__file__") or "").endswith(".py")
        homes = {name: string(value, "__module__") for name, value in rest.items()}
        own = {name for name, home in homes.items() if home and (home == here or (package and self.holds(home)))}
        return {
            name: rest[name]
            for name in sorted(own)
            if is_class(rest[name]) or (lax and callable(rest[name]) and documentation(rest[name]))
        }

    def held(self, module: Any) -> Iterator[tuple[str, Any]]:
        """What a module holds for its own use; users write such paths too."""
        for name in _names(module):
            value = attribute(module, name) if _shown(name) else None
            if callable(value) and not is_module(value):
                yield name, value

    def hands_on(self, module: Any) -> bool:
        """Whether a module offers what others of the library define: all that it offers, if it is no package."""
        offered = [value for value in self.offered(module).values() if not is_module(value) and self.ours(value)]
        own = any(string(value, "__module__") == string(module, "__name__") for value in offered)
        return bool(offered) and (not own or attribute(module, "__path__") is not None)

    def _exported(self, module: Any, values: dict[str, Any]) -> dict[str, Any]:
        """Those names of a module without `__all__` that are meant for users.

        What a package, or a module that defines nothing itself, takes from elsewhere in the library it hands on; any
        other module imports it for its own use.
        """
        here, package = str(attribute(module, "__name__")), attribute(module, "__path__") is not None
        ours = {name: value for name, value in values.items() if value is not None and self.ours(value)}
        inner = {name: value for name, value in ours.items() if not is_module(value)}
        own = {name: value for name, value in inner.items() if _defined(value, here)}
        modules = {name: value for name, value in ours.items() if is_module(value)}
        if not (package and here == self.name):
            modules = {name: value for name, value in modules.items() if value.__name__.startswith(here + ".")}
        return {**modules, **(inner if package or not own else own)}


def _defined(value: Any, module: str) -> bool:
    """Whether a module defines it, or gives it its documentation (compiled functions have none of their own place)."""
    return string(value, "__module__") in (module, "", None) or (inspect.isbuiltin(value) and bool(value.__doc__))


def meant_for_users(folders: list[str], name: str) -> bool:
    """Whether the source of a submodule says so, by an `__all__` or by doing nothing but hand on what it imports from
    beside it. It is not imported for that.
    """
    for folder in folders:
        for file in (f"{name}.py", os.path.join(name, "__init__.py")):
            with suppress(OSError, ValueError), open(os.path.join(folder, file), encoding="utf-8") as stream:
                text = stream.read(LARGEST_SOURCE)
                facade = HANDED_ON.search(text) and not DEFINITION.search(text) and file == f"{name}.py"
                return bool(facade or DECLARATION.search(text))
    return False


def _shown(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_")


def _names(module: Any) -> list[str]:
    try:
        return [name for name in dir(module) if isinstance(name, str)]
    except Exception:
        return [name for name in vars(module) if isinstance(name, str)]


def _promised(module: Any) -> Iterator[str]:
    """Names that a module with a `__getattr__` of its own may make when they are asked for: those in its tables, and
    those that it imports for type checkers only.
    """
    inner = vars(module)
    if "__getattr__" not in inner or "__dir__" in inner:
        return
    for value in list(inner.values()):
        if type(value) in (dict, list, tuple, set, frozenset) and len(value) <= MOST_DECLARED:
            yield from (key for key in value if isinstance(key, str))
    yield from for_type_checkers(string(module, "__file__") or "")


@cache
def for_type_checkers(file: str) -> Mapping[str, str]:
    """Names that a source file imports for type checkers only, with the modules they come from."""
    found: dict[str, str] = {}
    if not file.endswith(".py"):
        return found
    with suppress(OSError, SyntaxError, ValueError), open(file, encoding="utf-8") as stream:
        for block in GUARDED.findall(stream.read(LARGEST_SOURCE)):
            imports = (node for node in ast.parse(textwrap.dedent(block)).body if isinstance(node, ast.ImportFrom))
            found.update({alias.asname or alias.name: node.module or "" for node in imports for alias in node.names})
    return found
