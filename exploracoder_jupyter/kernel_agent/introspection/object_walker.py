"""Finds the public objects of a library, breadth first over its modules and classes.

An object has one row however many paths reach it: the shortest of its best public paths names it, the others are its
aliases. Paths listed as public are best (`public_names`), then unlisted but documented ones, then those only returned
by calls or mentioned in documentation (`related_types`). If the `__all__` of a package names submodules, its other
submodules are private, unless they have an `__all__` or documentation mentions them. Everything that touches the
library is guarded: its code may print, exit, hang, warn or provide any attribute.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
import types
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.api_catalogue import Catalogue
from exploracoder_jupyter.kernel_agent.introspection.api_row import (
    INTERNAL,
    LISTED,
    RELATED,
    UNLISTED,
    documentation,
    is_class,
    is_module,
    safe_getattr,
    string_attribute,
)
from exploracoder_jupyter.kernel_agent.introspection.class_members import functional_forms, members
from exploracoder_jupyter.kernel_agent.introspection.module_locations import packages_without_init
from exploracoder_jupyter.kernel_agent.introspection.public_names import SKIPPED_MODULES, Scope, looks_public
from exploracoder_jupyter.kernel_agent.introspection.related_types import mentioned_paths, returned_classes
from exploracoder_jupyter.kernel_agent.reporting.call_guards import attempt, time_limit

MAX_DEPTH = 7
MAX_OBJECTS = 40_000
"""Objects; stops at libraries that create classes endlessly."""
MAX_MENTIONED = 500
MIN_MENTIONS = 3
"""Mentioned paths within a package that show that documentation refers to it."""
MAX_ROUNDS = 3
MODULE_SECONDS = 30.0
MAX_REASON = 200
"""Characters of the reason why a module cannot be imported."""
_NO_MODULE = "does not define module export function"
"""What the import system says of a compiled library that is not a Python module."""


class ApiWalker:
    """Walks modules and classes breadth first, so that shorter paths come first."""

    def __init__(
        self, scope: Scope, *, seconds: float, emit: Callable[[Mapping[str, Any]], None], without: Sequence[str] = ()
    ) -> None:
        self.scope = scope
        self.deadline = time.monotonic() + seconds
        self.emit = emit
        self.last_progress = time.monotonic()
        self.without = without
        self.catalogue = Catalogue()
        self.visited: dict[int, str] = {}
        self.queue: deque[tuple[str, Any, int]] = deque()
        self.deferred: deque[tuple[str, Any, int]] = deque()
        self.private: dict[str, str] = {}
        self.mentions: Counter[str] = Counter()
        self.followed: set[str] = set()
        self.internal_callables: list[tuple[str, Any]] = []
        self.docs: list[str] = []
        self.unimported: dict[str, str] = {}
        """Why modules of the library could not be imported, by their names."""
        self.truncated = False

    def run(self, module: types.ModuleType) -> None:
        """Walk from this module; stops at the deadline with what has been found."""
        self.queue.append((self.scope.name, module, LISTED))
        with time_limit(self.deadline - time.monotonic()), suppress(TimeoutError):
            self._process_queue()
            self.queue, self.deferred = self.deferred, deque()
            self._process_queue()
            for _ in range(MAX_ROUNDS):
                previous_count = len(self.catalogue.objects)
                self._add_related()
                self._process_queue()
                if len(self.catalogue.objects) == previous_count:
                    break
        self.truncated = self.truncated or time.monotonic() > self.deadline
        for entry in [entry for entry in self.catalogue.objects.values() if entry.kind == "class"]:
            for name, created in functional_forms(entry.value):  # of classes in the library, or found in it
                add = self.catalogue.add if self.scope.defines(created) else self.catalogue.add_alias
                add(f"{entry.path}.{name}", created, "class", RELATED)
        for path, value in self.internal_callables:
            self.catalogue.add_alias(path, value, "", INTERNAL)

    def _process_queue(self) -> None:
        while self.queue and not self.truncated:
            path, node, tier = self.queue.popleft()
            path = self.catalogue.path(node) or path
            if is_module(node) and id(node) in self.visited and self.visited[id(node)] != self.scope.name:
                self.catalogue.add_module(self.visited[id(node)], path)
            if id(node) in self.visited or path.count(".") >= MAX_DEPTH:
                continue
            self.visited[id(node)] = path
            self.catalogue.pin_path(node, path)
            (self._visit_module if is_module(node) else self._visit_class)(path, node, tier)
            self.truncated = time.monotonic() > self.deadline or len(self.catalogue.objects) > MAX_OBJECTS
            if time.monotonic() - self.last_progress > 0.2:
                self.last_progress = time.monotonic()
                self.emit({"progress": len(self.catalogue.objects)})

    def _visit_module(self, path: str, module: Any, tier: int) -> None:
        self.docs.append(documentation(module))
        self.catalogue.add_module(path, string_attribute(module, "__name__") or path)
        for name, value in self.scope.public_names(module).items():
            if not (SKIPPED_MODULES.fullmatch(name) and is_module(value)):
                self._add(f"{path}.{name}", value, tier, listed=self.scope.declared_names(module) is not None)
        for name, value in self.scope.undeclared_names(module).items():
            self._add(f"{path}.{name}", value, max(tier, UNLISTED), listed=False)
        self.internal_callables += [(f"{path}.{name}", value) for name, value in self.scope.internal_callables(module)]
        self._visit_submodules(path, module, tier)

    def _visit_submodules(self, path: str, module: Any, tier: int) -> None:
        folders, full_name = safe_getattr(module, "__path__"), string_attribute(module, "__name__")
        if folders is None or full_name is None:
            return
        found = [name for _, name, _ in pkgutil.iter_modules(list(folders))]
        if not string_attribute(module, "__file__"):  # namespace packages may contain further namespace packages
            found += packages_without_init(list(folders))
        submodules = [name for name in dict.fromkeys(found) if not SKIPPED_MODULES.fullmatch(name)]
        listed = self.scope.declared_names(module) or ()
        values = {name: safe_getattr(module, name) for name in submodules if name in listed}
        listed_modules = [name for name, value in values.items() if value is None or is_module(value)]
        for name in listed_modules or submodules:
            loaded = self._load(f"{full_name}.{name}")
            if loaded is not None:
                self.queue.append((f"{path}.{name}", loaded, tier))
        for name in sorted({*submodules} - {*listed_modules}) if listed_modules else ():
            self.private[f"{full_name}.{name}"] = f"{path}.{name}"
            load = self._load if looks_public(list(folders), name) else sys.modules.get
            loaded = load(f"{full_name}.{name}")
            if loaded is None:
                continue
            facade = safe_getattr(loaded, "__path__") is None and self.scope.reexports(loaded)
            if facade or self.scope.declared_names(loaded) is not None:
                self.deferred.append((f"{path}.{name}", loaded, UNLISTED))

    def _load(self, full_name: str) -> types.ModuleType | None:
        if full_name in sys.modules:
            return sys.modules[full_name]
        if full_name in self.without:
            self.unimported[full_name] = "it ends the interpreter"
            return None
        if full_name in self.unimported:
            return None
        self.emit({"loading": full_name})
        try:
            with time_limit(min(self.deadline - time.monotonic(), MODULE_SECONDS)):
                return importlib.import_module(full_name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a module may exit
            text = attempt("{0.__class__.__name__}: {0}".format, error, default=type(error).__name__)
            absent = isinstance(error, ModuleNotFoundError) and f"{full_name}.".startswith(f"{error.name}.")
            if not absent and _NO_MODULE not in text:
                self.unimported[full_name] = " ".join(text.split())[:MAX_REASON]
            return None
        finally:
            self.emit({"loading": ""})

    def _add(self, path: str, value: Any, tier: int, *, listed: bool) -> None:
        queue = self.deferred if tier else self.queue
        if value is None:
            return
        if is_module(value):
            if self.scope.defines(value) or (listed and path.count(".") == 1):  # such as `os.path`
                queue.append((path, value, tier))
        elif is_class(value):
            self.catalogue.add(path, value, "class", tier)
            if self.scope.defines(value):
                queue.append((path, value, tier))
        elif type(value).__module__ == "typing":
            return
        elif callable(value):
            self.catalogue.add(path, value, "function", tier)
        elif listed and self.scope.defines(type(value)):
            self.catalogue.add(path, value, "constant", tier)

    def _visit_class(self, path: str, owner: Any, tier: int) -> None:
        for member in members(owner, self.scope):
            nested = f"{path}.{member.name}"
            # Inherited only if the base is public itself; otherwise users do not see the member elsewhere.
            inherited = member.defining_class is not owner and bool(self.catalogue.path(member.defining_class))
            self.catalogue.add(nested, member.value, member.kind, tier, inherited=inherited, bound=member.bound)
            if not self.scope.defines(member.defining_class):
                self.catalogue.mark_foreign(member.value)
            if member.kind == "class":
                self.queue.append((nested, member.value, tier))

    def _add_related(self) -> None:
        """Add what calls return and documentation mentions, unless it is known already."""
        known = {path for entry in self.catalogue.objects.values() for _, path in entry.paths} | self.followed
        for path, cls in returned_classes(list(self.catalogue.objects.values()), self.scope, self._load):
            if path not in known and not self.truncated:
                self._add(path, cls, RELATED, listed=False)
        docs = [*self.docs, *(entry.doc for entry in self.catalogue.objects.values())]
        for path in [path for path in mentioned_paths(docs, self.scope) if path not in known][:MAX_MENTIONED]:
            if not self.truncated:
                self.followed.add(path)
                self._add_mentioned(path)
        self.queue, self.deferred = self.deferred, deque()

    def _add_mentioned(self, path: str) -> None:
        """Add what a dotted path refers to: a class or a function.

        A module directly in a public package is added entirely: documentation mentions it, so it is not private even
        though it is not listed. A package must also re-export something.
        """
        parts = path.split(".")
        value: Any = sys.modules.get(parts[0])
        for index in range(1, len(parts)):
            if SKIPPED_MODULES.fullmatch(parts[index]):
                return
            full_name, nested = ".".join(parts[: index + 1]), safe_getattr(value, parts[index])
            value = self._load(full_name) if nested is None and is_module(value) else nested
            if full_name in self.private and is_module(value):
                self.mentions[full_name] += 1
                package = safe_getattr(value, "__path__") is not None
                if not package or (self.mentions[full_name] >= MIN_MENTIONS and self.scope.reexports(value)):
                    self.deferred.append((self.private[full_name], value, UNLISTED))
        if value is not None and not is_module(value) and self.scope.defines(value):
            self._add(path, value, RELATED, listed=False)
