"""Finds objects of a library that users meet without importing them.

These are the types that its calls return, and the paths that its documentation mentions.
"""

from __future__ import annotations

import re
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.api_row import (
    PublicObject,
    definition_path,
    is_class,
    is_public_path,
    safe_getattr,
    string_attribute,
)
from exploracoder_jupyter.kernel_agent.introspection.public_names import Scope, type_checking_imports

RETURNS_SECTION = re.compile(r"^Returns\n-+\n(.*)|^:rtype:(.*)", re.MULTILINE)
WORD = re.compile(r"[A-Za-z]\w+")


def mentioned_paths(docs: Iterable[str], scope: Scope) -> list[str]:
    """Return the library's public dotted paths that these texts mention, most frequent first."""
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(scope.top_level_names)))})(?:\.[A-Za-z]\w*)+")
    counts = Counter(path for doc in docs for path in set(pattern.findall(doc)))
    return sorted((path for path in counts if is_public_path(path)), key=lambda path: (-counts[path], path))


def returned_classes(
    objects: Sequence[PublicObject], scope: Scope, load: Callable[[str], types.ModuleType | None]
) -> Iterator[tuple[str, Any]]:
    """Yield the library's classes that these APIs declare to return, each with a public path.

    Includes their base classes if a package re-exports them. `load` imports the modules that define the classes.
    """
    names: set[str] = set()
    for found in objects:
        sections = ("".join(groups) for groups in RETURNS_SECTION.findall(found.doc))
        names.update(word for text in (found.call.returns, *sections) for word in WORD.findall(text))
    sources = {string_attribute(found.value, "__module__") for found in objects if not is_class(found.value)}
    files = {string_attribute(sys.modules.get(source or ""), "__file__") or "" for source in sources}
    imported = [item for file in files for item in type_checking_imports(file).items() if item[0] in names]
    for module in sorted({module for _, module in imported if scope.contains(module) and is_public_path(module)}):
        load(module)
    public_classes = _public_classes(scope)
    counts = Counter(cls.__name__ for cls, _ in public_classes.values())
    for cls, path in sorted(public_classes.values(), key=lambda entry: str(entry[0].__name__)):
        if cls.__name__ in names and counts[cls.__name__] == 1:
            yield path, cls
            bases = [public_classes[id(base)] for base in cls.__mro__[1:] if id(base) in public_classes]
            yield from ((outer, base) for base, outer in bases if outer != definition_path(base))


def _public_classes(scope: Scope) -> dict[int, tuple[Any, str]]:
    """Map the identity of the library's classes in loaded modules to the class and its shortest public path.

    Only paths through the defining module or a package around it count: other modules import the class for their own
    use.
    """
    found: dict[int, tuple[Any, str]] = {}
    for module_name, module in list(sys.modules.items()):
        if not scope.contains(module_name) or not is_public_path(module_name):
            continue
        for name, value in list((safe_getattr(module, "__dict__") or {}).items()):
            if not is_class(value) or name.startswith("_") or string_attribute(value, "__name__") != name:
                continue
            path = f"{module_name}.{name}"
            if f"{value.__module__}.".startswith(f"{module_name}."):
                known = found.get(id(value), (value, path))[1]
                found[id(value)] = (value, min(path, known, key=lambda candidate: (candidate.count("."), candidate)))
    return found
