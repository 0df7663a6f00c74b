"""What users get to see of a library without importing it: the types that its calls give, the paths that its
documentation names.
"""

from __future__ import annotations

import re
import sys

from exploracoder_jupyter.kernel_agent.introspection.api_row import attribute, home, is_class, public, string
from exploracoder_jupyter.kernel_agent.introspection.api_scope import for_type_checkers

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from exploracoder_jupyter.kernel_agent.introspection.api_row import Found
    from exploracoder_jupyter.kernel_agent.introspection.api_scope import Scope

RETURNED = re.compile(r"^Returns\n-+\n(.*)|^:rtype:(.*)", re.MULTILINE)
WORD = re.compile(r"[A-Za-z]\w+")


def mentioned(docs: Iterable[str], scope: Scope) -> list[str]:
    """Public dotted paths of the library that these texts name, the often named first."""
    counts: dict[str, int] = {}
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(scope.tops)))})(?:\.[A-Za-z]\w*)+")
    for doc in docs:
        for path in set(pattern.findall(doc)):
            counts[path] = counts.get(path, 0) + 1
    return sorted((path for path in counts if public(path)), key=lambda path: (-counts[path], path))


def returned(
    founds: Sequence[Found], scope: Scope, load: Callable[[str], types.ModuleType | None]
) -> Iterator[tuple[str, Any]]:
    """Classes of the library that these APIs say they return, each under a public path; also those they are derived
    from, where a package hands them on. `load` imports the modules that define them.
    """
    names = {word for found in founds for text in _results(found) for word in WORD.findall(text)}
    for module in sorted(_sources(founds, names, scope)):
        load(module)
    homes = _homes(scope)
    classes: dict[str, dict[int, Any]] = {}
    for cls, _ in homes.values():
        classes.setdefault(cls.__name__, {})[id(cls)] = cls
    for name in sorted(names & classes.keys()):
        if len(classes[name]) == 1:
            (cls,) = classes[name].values()
            yield homes[id(cls)][1], cls
            bases = [homes[id(base)] for base in cls.__mro__[1:] if id(base) in homes]
            yield from ((path, base) for base, path in bases if path != home(base))


def _sources(founds: Iterable[Found], names: set[str], scope: Scope) -> set[str]:
    """Modules that the files of these APIs import some of these names from, for type checkers only."""
    modules = {string(found.value, "__module__") for found in founds if not is_class(found.value)}
    files = {string(sys.modules.get(module or ""), "__file__") or "" for module in modules}
    imported = (item for file in sorted(files) for item in for_type_checkers(file).items())
    return {module for name, module in imported if name in names and scope.holds(module) and public(module)}


def _results(found: Found) -> Iterator[str]:
    yield found.called.returns
    for said in RETURNED.finditer(found.doc):
        yield said.group(1) or said.group(2) or ""


def _homes(scope: Scope) -> dict[int, tuple[Any, str]]:
    """The library's classes in its loaded modules: by identity, with the shortest public path of each.

    A path counts that leads to the module that defines the class, or to a package around it: others import it for
    their own use.
    """
    found: dict[int, tuple[Any, str]] = {}
    for module_name, module in list(sys.modules.items()):
        if not scope.holds(module_name) or not public(module_name):
            continue
        for name, value in list((attribute(module, "__dict__") or {}).items()):
            if not is_class(value) or name.startswith("_") or string(value, "__name__") != name:
                continue
            path = f"{module_name}.{name}"
            if f"{value.__module__}.".startswith(f"{module_name}."):
                known = found.get(id(value), (value, path))[1]
                found[id(value)] = (value, min(path, known, key=lambda one: (one.count("."), one)))
    return found
