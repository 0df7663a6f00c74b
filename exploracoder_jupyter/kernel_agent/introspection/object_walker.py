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

from exploracoder_jupyter.kernel_agent.introspection.api_catalogue import Catalogue
from exploracoder_jupyter.kernel_agent.introspection.api_row import (
    HELD,
    LISTED,
    RELATED,
    UNLISTED,
    attribute,
    documentation,
    is_class,
    is_module,
    string,
)
from exploracoder_jupyter.kernel_agent.introspection.api_scope import SKIPPED, Scope, meant_for_users
from exploracoder_jupyter.kernel_agent.introspection.class_members import functional, members
from exploracoder_jupyter.kernel_agent.introspection.module_locations import unmarked_packages
from exploracoder_jupyter.kernel_agent.introspection.related_types import mentioned, returned
from exploracoder_jupyter.kernel_agent.reporting.call_guards import time_limit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

DEEPEST = 7
MOST = 40_000
"""Objects, so that a library that makes classes without end has an end."""
MOST_MENTIONED = 500
MENTIONED = 3
"""So many paths that begin with a package show that it is spoken of."""
ROUNDS = 3
MODULE_SECONDS = 30.0


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
        self.known = Catalogue()
        self.seen: dict[int, str] = {}
        self.queue: deque[tuple[str, Any, int]] = deque()
        self.later: deque[tuple[str, Any, int]] = deque()
        self.private: dict[str, str] = {}
        self.mentions: dict[str, int] = {}
        self.tried: set[str] = set()
        self.held: list[tuple[str, Any]] = []
        self.docs: list[str] = []
        self.skipped = 0
        self.cut = False

    def run(self, module: types.ModuleType) -> None:
        """Walk from this module; stops at the deadline with what it has."""
        self.queue.append((self.scope.name, module, LISTED))
        with time_limit(self.deadline - time.monotonic()), suppress(TimeoutError):
            self._drain()
            self.queue, self.later = self.later, deque()
            self._drain()
            for _ in range(ROUNDS):
                before = len(self.known.found)
                self._relate()
                self._drain()
                if len(self.known.found) == before:
                    break
        self.cut = self.cut or time.monotonic() > self.deadline
        self._functional()
        for path, value in self.held:
            self.known.also(path, value, "", HELD)

    def _functional(self) -> None:
        """Add the names under which classes make objects of others: of the library, or found in it."""
        for found in [one for one in self.known.found.values() if one.kind == "class"]:
            for name, made in functional(found.value):
                add = self.known.add if self.scope.ours(made) else self.known.also
                add(f"{found.path}.{name}", made, "class", RELATED)

    def _drain(self) -> None:
        while self.queue and not self.cut:
            path, node, tier = self.queue.popleft()
            path = self.known.path(node) or path
            if is_module(node) and id(node) in self.seen and self.seen[id(node)] != self.scope.name:
                self.known.module(self.seen[id(node)], path)
            if id(node) in self.seen or path.count(".") >= DEEPEST:
                continue
            self.seen[id(node)] = path
            self.known.pin(node, path)
            (self._module if is_module(node) else self._class)(path, node, tier)
            self.cut = time.monotonic() > self.deadline or len(self.known.found) > MOST
            if time.monotonic() - self.said > 0.2:
                self.said = time.monotonic()
                self.say({"progress": len(self.known.found)})

    def _module(self, path: str, module: Any, tier: int) -> None:
        self.docs.append(documentation(module))
        self.known.module(path, string(module, "__name__") or path)
        for name, value in self.scope.offered(module).items():
            if not (SKIPPED.fullmatch(name) and is_module(value)):
                self._offer(f"{path}.{name}", value, tier, listed=self.scope.listed(module) is not None)
        for name, value in self.scope.unlisted(module).items():
            self._offer(f"{path}.{name}", value, max(tier, UNLISTED), listed=False)
        self.held += [(f"{path}.{name}", value) for name, value in self.scope.held(module)]
        self._submodules(path, module, tier)

    def _submodules(self, path: str, module: Any, tier: int) -> None:
        here, full = attribute(module, "__path__"), string(module, "__name__")
        if here is None or full is None:
            return
        below = [name for name in _below(module, list(here)) if not SKIPPED.fullmatch(name)]
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
            with time_limit(min(self.deadline - time.monotonic(), MODULE_SECONDS)):
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
            self.known.add(path, value, "class", tier)
            if self.scope.ours(value):
                later.append((path, value, tier))
        elif type(value).__module__ == "typing":
            return
        elif callable(value):
            self.known.add(path, value, "function", tier)
        elif listed and self.scope.ours(type(value)):
            self.known.add(path, value, "constant", tier)

    def _class(self, path: str, owner: Any, tier: int) -> None:
        for member in members(owner, self.scope):
            inner = f"{path}.{member.name}"
            inherited = member.home is not owner and bool(self.known.path(member.home))  # else nobody sees it elsewhere
            self.known.add(inner, member.value, member.kind, tier, inherited=inherited, bound=member.bound)
            if member.kind == "class":
                self.queue.append((inner, member.value, tier))

    def _relate(self) -> None:
        """Offer what calls give and documentation names, as far as it is not known yet."""
        known = {path for found in self.known.found.values() for _, path in found.paths} | self.tried
        for path, cls in returned(list(self.known.found.values()), self.scope, self._load):
            if path not in known and not self.cut:
                self._offer(path, cls, RELATED, listed=False)
        docs = [*self.docs, *(found.doc for found in self.known.found.values())]
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


def _below(module: Any, places: list[str]) -> list[str]:
    """Names of the submodules of a package; a namespace package has packages of its own kind in it, too."""
    marked = [name for _, name, _ in pkgutil.iter_modules(places)]
    inner = [] if string(module, "__file__") else unmarked_packages(places)
    return list(dict.fromkeys([*marked, *inner]))
