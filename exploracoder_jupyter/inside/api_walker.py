"""Finds the public objects of a library, breadth first over its modules and classes.

An object has one row however often it is reachable: the shortest of its best public paths names it, the others are its
aliases. What is listed as public is best (`api_scope`), then what is not listed but documented, then what is only got
from calls or named in documentation (`api_related`). A package whose `__all__` names submodules means that its other
submodules are private, if they have no `__all__` of their own and no documentation speaks of them. Everything that
touches the library is guarded: its code may print, exit, hang, warn or answer any attribute.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
import types
from collections import deque
from contextlib import suppress

from exploracoder_jupyter.inside.api_called import UNTOLD, Called, called, got
from exploracoder_jupyter.inside.api_members import functional, members
from exploracoder_jupyter.inside.api_related import mentioned, returned
from exploracoder_jupyter.inside.api_row import Found, attribute, documentation, home, is_class, is_module, string
from exploracoder_jupyter.inside.api_scope import SKIPPED, Scope, meant_for_users
from exploracoder_jupyter.inside.api_stubs import Stubs
from exploracoder_jupyter.inside.guards import limited

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

DEEPEST = 7
MOST = 40_000
"""Objects, so that a library that makes classes without end has an end."""
MOST_MODULE_PATHS = 6
MOST_MENTIONED = 500
MENTIONED = 3
"""So many paths that begin with a package show that it is spoken of."""
ROUNDS = 3
MODULE_SECONDS = 30.0
LISTED, UNLISTED, RELATED, SPARE = range(4)
CALLABLE = ("function", "method", "class")


class Walk:
    """Breadth first over modules and classes, so that shorter paths are met first."""

    def __init__(
        self, scope: Scope, *, seconds: float, say: Callable[[Mapping[str, Any]], None], without: Sequence[str] = ()
    ) -> None:
        self.scope = scope
        self.deadline = time.monotonic() + seconds
        self.say = say
        self.said = time.monotonic()
        self.without = without
        self.found: dict[int, Found] = {}
        self.seen: dict[int, str] = {}
        self.modules: set[str] = set()
        self.other_modules: dict[str, list[str]] = {}
        self.queue: deque[tuple[str, Any, int]] = deque()
        self.later: deque[tuple[str, Any, int]] = deque()
        self.private: dict[str, str] = {}
        self.mentions: dict[str, int] = {}
        self.tried: set[str] = set()
        self.spare: list[tuple[str, Any]] = []
        self.docs: list[str] = []
        self.skipped = 0
        self.cut = False

    def run(self, module: types.ModuleType) -> None:
        """Walk from this module; stops at the deadline with what it has."""
        self.queue.append((self.scope.name, module, LISTED))
        with limited(self.deadline - time.monotonic()), suppress(TimeoutError):
            self._drain()
            self.queue, self.later = self.later, deque()
            self._drain()
            for _ in range(ROUNDS):
                before = len(self.found)
                self._relate()
                self._drain()
                if len(self.found) == before:
                    break
        self.cut = self.cut or time.monotonic() > self.deadline
        for path, value in self.spare:
            known = self.found.get(id(value))
            if known and path not in (old for _, old in known.paths):
                self._add(path, value, known.kind, SPARE)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One row per object; methods that differ in nothing but their class are one object."""
        twins: dict[tuple[str, ...], dict[str, Any]] = {}
        for found in self.found.values():
            row = found.row([other for _, path in found.paths for other in self._elsewhere(path)])
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

    def _drain(self) -> None:
        while self.queue and not self.cut:
            path, node, tier = self.queue.popleft()
            path = self.found[id(node)].path if id(node) in self.found else path
            if is_module(node) and id(node) in self.seen:
                self._also(self.seen[id(node)], path)
            if id(node) in self.seen or path.count(".") >= DEEPEST:
                continue
            self.seen[id(node)] = path
            (self._module if is_module(node) else self._class)(path, node, tier)
            self.cut = time.monotonic() > self.deadline or len(self.found) > MOST
            if time.monotonic() - self.said > 0.2:
                self.said = time.monotonic()
                self.say({"progress": len(self.found)})

    def _also(self, path: str, other: str) -> None:
        known = self.other_modules.setdefault(path, [])
        if other not in (path, *known) and path != self.scope.name and len(known) < MOST_MODULE_PATHS:
            known.append(other)

    def _elsewhere(self, path: str) -> Iterator[str]:
        """The paths of something that are due to other paths of the modules it is in."""
        parent, _, name = path.rpartition(".")
        for other in self.other_modules.get(parent, ()):
            yield f"{other}.{name}"
        if parent in self.modules:
            yield from (f"{other}.{name}" for other in self._elsewhere(parent))

    def _module(self, path: str, module: Any, tier: int) -> None:
        self.modules.add(path)
        self.docs.append(documentation(module))
        full = string(module, "__name__")
        if full and full != path:
            self._also(path, full)
        for name, value in self.scope.offered(module).items():
            if not (SKIPPED.fullmatch(name) and is_module(value)):
                self._offer(f"{path}.{name}", value, tier, listed=self.scope.listed(module) is not None)
        for name, value in self.scope.unlisted(module).items():
            self._offer(f"{path}.{name}", value, max(tier, UNLISTED), listed=False)
        self.spare += [(f"{path}.{name}", value) for name, value in self.scope.spare(module)]
        self._submodules(path, module, tier)

    def _submodules(self, path: str, module: Any, tier: int) -> None:
        here, full = attribute(module, "__path__"), string(module, "__name__")
        if here is None or full is None:
            return
        below = [name for _, name, _ in pkgutil.iter_modules(list(here)) if not SKIPPED.fullmatch(name)]
        listed = self.scope.listed(module) or ()
        values = {name: attribute(module, name) for name in below if name in listed}
        told = [name for name, value in values.items() if value is None or is_module(value)]
        for name in told or below:
            loaded = self._load(f"{full}.{name}")
            if loaded is not None:
                self.queue.append((f"{path}.{name}", loaded, tier))
        for name in sorted({*below} - {*told}) if told else ():
            self.private[f"{full}.{name}"] = f"{path}.{name}"
            loaded = (
                self._load(f"{full}.{name}") if meant_for_users(list(here), name) else sys.modules.get(f"{full}.{name}")
            )
            if loaded is not None and (self.scope.listed(loaded) is not None or self._facade(loaded)):
                self.later.append((f"{path}.{name}", loaded, UNLISTED))

    def _facade(self, module: Any) -> bool:
        """Whether a module, no package, is there to hand on what others define."""
        return attribute(module, "__path__") is None and self.scope.hands_on(module)

    def _load(self, full: str) -> types.ModuleType | None:
        if full in sys.modules:
            return sys.modules[full]
        if full in self.without:
            self.skipped += 1
            return None
        self.say({"loading": full})
        try:
            with limited(min(self.deadline - time.monotonic(), MODULE_SECONDS)):
                return importlib.import_module(full)
        except KeyboardInterrupt:
            raise
        except BaseException:
            self.skipped += 1
            return None
        finally:
            self.say({"loading": ""})

    def _offer(self, path: str, value: Any, tier: int, *, listed: bool) -> None:
        later = self.later if tier else self.queue
        if value is None:
            return
        if is_module(value):
            if self.scope.ours(value) or (listed and path.count(".") == 1):  # `os.path`
                later.append((path, value, tier))
        elif is_class(value):
            self._add(path, value, "class", tier)
            if self.scope.ours(value):
                later.append((path, value, tier))
        elif type(value).__module__ == "typing":
            return
        elif callable(value):
            self._add(path, value, "function", tier)
        elif listed and self.scope.ours(type(value)):
            self._add(path, value, "constant", tier)

    def _class(self, path: str, owner: Any, tier: int) -> None:
        for member in members(owner, self.scope):
            inner = f"{path}.{member.name}"
            self._add(inner, member.value, member.kind, tier, inherited=member.inherited, bound=member.bound)
            if member.kind == "class":
                self.queue.append((inner, member.value, tier))
        for name, made in functional(owner, self.scope):
            self._add(f"{path}.{name}", made, "class", RELATED)

    def _relate(self) -> None:
        """Offer what calls give and documentation names, as far as it is not known yet."""
        known = {path for found in self.found.values() for _, path in found.paths} | self.tried
        for path, cls in returned(list(self.found.values()), self.scope, self._load):
            if path not in known and not self.cut:
                self._offer(path, cls, RELATED, listed=False)
        docs = [*self.docs, *(found.doc for found in self.found.values())]
        for path in [path for path in mentioned(docs, self.scope) if path not in known][:MOST_MENTIONED]:
            if not self.cut:
                self.tried.add(path)
                self._follow(path)
        self.queue, self.later = self.later, deque()

    def _follow(self, path: str) -> None:
        """Offer what a dotted path means: a class or a function. A module right in a public package is offered whole:
        documentation speaks of it, so it is not private though it is not listed. A package has to hand on something.
        """
        parts = path.split(".")
        value: Any = sys.modules.get(parts[0])
        for at in range(1, len(parts)):
            if SKIPPED.fullmatch(parts[at]):
                return
            full, inner = ".".join(parts[: at + 1]), attribute(value, parts[at])
            value = self._load(full) if inner is None and is_module(value) else inner
            if full in self.private and is_module(value):
                self.mentions[full] = self.mentions.get(full, 0) + 1
                package = attribute(value, "__path__") is not None
                if not package or (self.mentions[full] >= MENTIONED and self.scope.hands_on(value)):
                    self.later.append((self.private[full], value, UNLISTED))
        if value is not None and not is_module(value) and self.scope.ours(value):
            self._offer(path, value, RELATED, listed=False)

    def _add(
        self, path: str, value: Any, kind: str, tier: int, *, inherited: bool = False, bound: bool = False
    ) -> None:
        found = self.found.get(id(value))
        name = path.rpartition(".")[2]
        if found is None:
            doc = documentation(value)
            found = self.found[id(value)] = Found(value, kind, doc, _called(value, kind, doc, name, bound=bound))
        other_name = string(value, "__name__") not in (name, None)
        found.paths.append(((tier, path.count(".") + inherited, inherited, other_name, len(found.paths)), path))


def _called(value: Any, kind: str, doc: str, name: str, *, bound: bool) -> Called:
    if kind in CALLABLE:
        return called(value, doc, string(value, "__name__") or name, bound=bound)
    return got(value) if kind == "property" else Called()
