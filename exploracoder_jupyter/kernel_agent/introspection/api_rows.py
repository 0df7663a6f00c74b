"""The rows of public objects in the output of the walk, and the objects found, each once with all its paths."""

from __future__ import annotations

import enum
import inspect
import re
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.signatures import (
    UNKNOWN_SIGNATURES,
    CallSignature,
    call_signature,
    property_type,
)
from exploracoder_jupyter.kernel_agent.reporting.bounded_output import attempt

# The row of one public object of a library in the output of the walk.
#
# Objects are never trusted: classes and modules are recognized by their type, attributes may raise anything,
# representations may contain addresses, docstrings may not be text.

Rank = tuple[int, int, bool, bool, int]  # lower is better
MAX_DOC = 20_000
DEPRECATION = re.compile(r"^\.\. deprecated::[^\n]*\n?(?:[ \t]+[^\n]*\n?|[ \t]*\n)*", re.MULTILINE)
"""Removed from the docstring of an `__init__`, as it is not the class that is deprecated."""
LISTED, UNLISTED, RELATED, INTERNAL = range(4)
"""How public a path is: listed; unlisted but meant for users; related, that is, returned by calls or mentioned in
documentation; internal, as some module contains the object for its own use.
"""
MAX_INTERNAL_PATHS = 5
MAX_VALUES = 200


@dataclass(eq=False)
class PublicObject:
    """One public object and the paths by which it can be reached."""

    value: Any
    """Kept alive: rows are keyed by identity."""
    kind: str
    doc: str
    call: CallSignature
    paths: list[tuple[Rank, str]] = field(default_factory=list)
    pinned: str = ""
    """The path under which its members were listed, and which it therefore keeps."""
    foreign: bool = False
    """Whether it is a member that a class inherits from another library."""

    @property
    def path(self) -> str:
        """The path that names the object."""
        return self.pinned or min(self.paths)[1]

    def row(self, other_paths: Iterable[str], weight: Callable[[str], int]) -> dict[str, Any]:
        """Return the row to print; `other_paths` are further paths of the object.

        Among equally good paths the one with the higher weight names it.
        """
        ranked = sorted(self.paths, key=lambda entry: (*entry[0][:4], -weight(entry[1]), entry[0][4], entry[1]))
        public_paths = [self.pinned, *(path for rank, path in ranked if rank[0] < INTERNAL)]
        internal_paths = [path for rank, path in ranked if rank[0] == INTERNAL]
        path = next(filter(None, public_paths))
        aliases = {*public_paths, *other_paths, definition_path(self.value)} - {path, ""}
        values = enum_values(self.value)
        call = CallSignature() if values else self.call  # nobody creates a value of an enum by its names and module
        return {
            "path": path,
            "kind": self.kind,
            "signature": call.signature,
            "parameters": call.parameters,
            "returns": self.call.returns,
            "doc": self.doc[:MAX_DOC],
            "aliases": sorted(aliases),
            "internal_paths": sorted(internal_paths, key=len)[:MAX_INTERNAL_PATHS],
            "deprecated": string_attribute(self.value, "__deprecated__"),
            "foreign": self.foreign,
            "values": values,
        }


def enum_values(value: Any) -> list[str]:
    """Return the names of the values of an enum; none for anything else."""
    if not (is_class(value) and issubclass(type(value), enum.EnumMeta)):
        return []
    names: list[Any] = attempt(list, safe_getattr(value, "__members__") or (), default=[])
    return [name for name in names if isinstance(name, str)][:MAX_VALUES]


def safe_getattr(value: Any, name: str) -> Any:
    """Return an attribute of any object; None if there is none or if getting it raises anything."""
    return attempt(getattr, value, name, default=None)


def string_attribute(value: Any, name: str) -> str | None:
    """Return an attribute if it is a string, otherwise None: some objects return an object for any name."""
    found = safe_getattr(value, name)
    return found if isinstance(found, str) else None


def definition_path(value: Any) -> str:
    """Return where an object claims to be defined, as types and tracebacks show it; empty if unknown."""
    module, name = string_attribute(value, "__module__"), string_attribute(value, "__qualname__")
    return f"{module}.{name}" if module and name is not None and "<" not in name else ""


def is_public_path(path: str) -> bool:
    """Return whether no part of a dotted path is marked as private."""
    return not path.startswith("_") and "._" not in path


def is_class(value: Any) -> bool:
    """Return whether it is a class, by its type: a proxy's `__class__` may be wrong."""
    return issubclass(type(value), type)


def is_module(value: Any) -> bool:
    """Return whether it is a module, including lazy ones."""
    return issubclass(type(value), types.ModuleType)


def documentation(value: Any) -> str:
    """Return the object's own cleaned docstring, not its type's. A class includes that of its `__init__`."""
    doc = _clean_docstring(safe_getattr(value, "__doc__"))
    if not is_class(value):
        return "" if doc == _clean_docstring(type.__doc__) else doc
    init_doc = DEPRECATION.sub("", _clean_docstring(safe_getattr(value.__dict__.get("__init__"), "__doc__")))
    if init_doc in doc or init_doc.startswith("Initialize self."):
        return doc
    return f"{doc}\n\n{init_doc}".strip()


def _clean_docstring(doc: Any) -> str:
    return inspect.cleandoc(doc).encode("utf-8", "replace").decode() if isinstance(doc, str) else ""


# Collects the public objects found, each once, with all paths by which it can be reached.

CALLABLE_KINDS = ("function", "method", "class")
MAX_MODULE_PATHS = 6
CLASS_NAME = re.compile(r"[A-Z]\w+")


class Catalogue:
    """Objects by identity; modules by path."""

    def __init__(self) -> None:
        self.objects: dict[int, PublicObject] = {}
        self._modules: dict[str, list[str]] = {}

    def path(self, value: Any) -> str:
        """Return the path that currently names an object; empty if it was not found."""
        entry = self.objects.get(id(value))
        return entry.path if entry else ""

    def add(self, path: str, value: Any, kind: str, tier: int, *, inherited: bool = False, bound: bool = False) -> None:
        """Record that an object is reachable by this path; a lower `tier` means more public."""
        entry = self.objects.get(id(value))
        name = path.rpartition(".")[2]
        if entry is None:
            doc, call = documentation(value), CallSignature()
            if kind in CALLABLE_KINDS:
                call = call_signature(value, doc, (name, string_attribute(value, "__name__") or name), bound=bound)
            elif kind == "property":
                call = property_type(value)
            entry = self.objects[id(value)] = PublicObject(value, kind, doc, call)
        other_name = string_attribute(value, "__name__") not in (name, None)
        entry.paths.append(((tier, path.count(".") + inherited, inherited, other_name, len(entry.paths)), path))

    def add_alias(self, path: str, value: Any, kind: str, tier: int) -> None:
        """Record another path of an object that was already found."""
        known = self.objects.get(id(value))
        if known and path not in (old for _, old in known.paths):
            self.add(path, value, kind, tier)

    def mark_foreign(self, value: Any) -> None:
        """Record that an object is a member which a class inherits from another library."""
        if id(value) in self.objects:
            self.objects[id(value)].foreign = True

    def pin_path(self, value: Any, path: str) -> None:
        """Fix an object's path, because its members are listed under it."""
        if id(value) in self.objects:
            self.objects[id(value)].pinned = path

    def add_module(self, path: str, other: str) -> None:
        """Record a module and another path by which it is reachable."""
        known = self._modules.setdefault(path, [])
        if other not in (path, *known) and len(known) < MAX_MODULE_PATHS:
            known.append(other)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one row per object; methods that differ only in their class are one object.

        A method that several classes share is named after the class that documentation mentions most.
        """
        shared: dict[tuple[str, ...], dict[str, Any]] = {}
        mentions = Counter(word for entry in self.objects.values() for word in set(CLASS_NAME.findall(entry.doc)))
        for entry in self.objects.values():
            others = [other for _, path in entry.paths for other in self._module_aliases(path)]
            row = entry.row(others, lambda path: mentions[path.split(".")[-2]])
            if not row["doc"] or row["kind"] not in ("method", "property"):
                yield row
                continue
            key = (row["path"].rpartition(".")[2], row["signature"], row["doc"])
            first = shared.setdefault(key, row)
            if first is not row:
                first["aliases"] += [row["path"], *row["aliases"]]
        yield from shared.values()

    def fill_signatures(self, find: Callable[[str], CallSignature]) -> None:
        """Take signatures that are unknown otherwise from what this finds at one of the paths."""
        for entry in self.objects.values():
            if entry.kind in CALLABLE_KINDS and entry.call.signature in UNKNOWN_SIGNATURES:
                paths = filter(None, [definition_path(entry.value), *(path for _, path in sorted(entry.paths))])
                entry.call = next((call for call in map(find, paths) if call.signature), entry.call)

    def _module_aliases(self, path: str) -> Iterator[str]:
        """Yield the paths of an object that result from other paths of its modules."""
        parent, _, name = path.rpartition(".")
        for other in self._modules.get(parent, ()):
            yield f"{other}.{name}"
        if parent in self._modules:
            yield from (f"{other}.{name}" for other in self._module_aliases(parent))
