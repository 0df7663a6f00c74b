"""Collects the public objects found, each once, with all paths by which it can be reached."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.api_row import (
    PublicObject,
    definition_path,
    documentation,
    string_attribute,
)
from exploracoder_jupyter.kernel_agent.introspection.call_signatures import (
    UNKNOWN_SIGNATURES,
    CallSignature,
    call_signature,
    property_type,
)

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
