"""The public objects that were found, each once, with all the paths by which it is reachable."""

from __future__ import annotations

import re
from collections import Counter

from exploracoder_jupyter.kernel_agent.introspection.api_row import Found, documentation, home, string
from exploracoder_jupyter.kernel_agent.introspection.call_signatures import UNTOLD, Called, called, got

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from exploracoder_jupyter.kernel_agent.introspection.stub_signatures import Stubs

CALLABLE = ("function", "method", "class")
MOST_MODULE_PATHS = 6
NAME = re.compile(r"[A-Z]\w+")


class Catalogue:
    """Objects by identity; modules by path."""

    def __init__(self) -> None:
        self.found: dict[int, Found] = {}
        self._modules: dict[str, list[str]] = {}

    def path(self, value: Any) -> str:
        """The path that names an object so far; empty when it was not found."""
        found = self.found.get(id(value))
        return found.path if found else ""

    def add(self, path: str, value: Any, kind: str, tier: int, *, inherited: bool = False, bound: bool = False) -> None:
        """Note that an object is reachable by this path; `tier` says how public that is, less is more."""
        found = self.found.get(id(value))
        name = path.rpartition(".")[2]
        if found is None:
            doc = documentation(value)
            found = self.found[id(value)] = Found(value, kind, doc, _called(value, kind, doc, name, bound=bound))
        other_name = string(value, "__name__") not in (name, None)
        found.paths.append(((tier, path.count(".") + inherited, inherited, other_name, len(found.paths)), path))

    def also(self, path: str, value: Any, kind: str, tier: int) -> None:
        """Note another path of an object, if it was found at all."""
        known = self.found.get(id(value))
        if known and path not in (old for _, old in known.paths):
            self.add(path, value, kind, tier)

    def pin(self, value: Any, path: str) -> None:
        """Let an object keep this path, because its members are listed under it."""
        if id(value) in self.found:
            self.found[id(value)].pinned = path

    def module(self, path: str, other: str) -> None:
        """Note a module, and by which other path it is reachable."""
        known = self._modules.setdefault(path, [])
        if other not in (path, *known) and len(known) < MOST_MODULE_PATHS:
            known.append(other)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per object; methods that differ in nothing but their class are one object.

        What several classes share is named after the one that documentation speaks of most.
        """
        twins: dict[tuple[str, ...], dict[str, Any]] = {}
        spoken = Counter(word for found in self.found.values() for word in set(NAME.findall(found.doc)))
        for found in self.found.values():
            others = [other for _, path in found.paths for other in self._elsewhere(path)]
            row = found.row(others, lambda path: spoken[path.split(".")[-2]])
            if not row["doc"] or row["kind"] not in ("method", "property"):
                yield row
                continue
            key = (row["path"].rpartition(".")[2], row["signature"], row["doc"])
            first = twins.setdefault(key, row)
            if first is not row:
                first["aliases"] += [row["path"], *row["aliases"]]
        yield from twins.values()

    def fill(self, stubs: Stubs) -> None:
        """Take from stubs how things are called of which nothing else says it."""
        for found in self.found.values():
            if found.kind in CALLABLE and found.called.signature in UNTOLD:
                paths = filter(None, [home(found.value), *(path for _, path in sorted(found.paths))])
                told = (stubs.called(path) for path in paths)
                found.called = next((one for one in told if one.signature), found.called)

    def _elsewhere(self, path: str) -> Iterator[str]:
        """The paths of something that are due to other paths of the modules it is in."""
        parent, _, name = path.rpartition(".")
        for other in self._modules.get(parent, ()):
            yield f"{other}.{name}"
        if parent in self._modules:
            yield from (f"{other}.{name}" for other in self._elsewhere(parent))


def _called(value: Any, kind: str, doc: str, name: str, *, bound: bool) -> Called:
    if kind in CALLABLE:
        return called(value, doc, (name, string(value, "__name__") or name), bound=bound)
    return got(value) if kind == "property" else Called()
