"""Finds the public objects of a library, breadth first over its modules and classes, and what users meet without
importing.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
import time
import types
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.introspection.api_rows import (
    INTERNAL,
    LISTED,
    RELATED,
    UNLISTED,
    Catalogue,
    PublicObject,
    definition_path,
    documentation,
    is_class,
    is_module,
    is_public_path,
    safe_getattr,
    string_attribute,
)
from exploracoder_jupyter.kernel_agent.introspection.locations import packages_without_init
from exploracoder_jupyter.kernel_agent.introspection.public_names import (
    SKIPPED_MODULES,
    Scope,
    looks_public,
    type_checking_imports,
)
from exploracoder_jupyter.kernel_agent.reporting.bounded_output import attempt, time_limit

# Lists the public members of a class: its own, inherited ones, and those that instances provide dynamically.

MAX_TABLE_SIZE = 1_000


class Member(NamedTuple):
    """A public name of a class."""

    name: str
    value: Any
    kind: str
    defining_class: Any
    """The class that defines it: the same class, or a base class."""
    bound: bool = False
    """Whether it is a function whose first parameter is supplied by the call."""


def members(owner: Any, scope: Scope) -> Iterator[Member]:
    """Yield what users reach through a class and its instances; from foreign base classes only documented methods."""
    mro = type.mro(owner) if type(owner) is type else list(owner.__mro__)
    seen: set[str] = set()
    for defining_class in mro:
        if defining_class is object:
            continue
        is_own = scope.defines(defining_class)
        for name in list(defining_class.__dict__):
            if isinstance(name, str) and name.isidentifier() and not name.startswith("_") and name not in seen:
                seen.add(name)
                found = _member(defining_class, owner, name, scope)
                if found and (is_own or (found.kind == "method" and documentation(found.value))):
                    yield found


def functional_forms(owner: Any) -> Iterator[tuple[str, Any]]:
    """Yield names by which instances create objects of other classes: `pipe.map(...)` for `Mapper(pipe, ...)`.

    Such a class has a table of factories by name, and provides these names through `__getattr__`.
    """
    own = owner.__dict__
    if "__getattr__" not in own and "__getattr__" not in type(owner).__dict__:
        return
    for table in list(own.values()):
        if type(table) is dict and len(table) <= MAX_TABLE_SIZE:
            for name, factory in list(table.items()):
                created = _created_class(factory)
                if isinstance(name, str) and name.isidentifier() and created is not None:
                    yield name, created


def _member(defining_class: Any, owner: Any, name: str, scope: Scope) -> Member | None:
    definition = defining_class.__dict__[name]
    if isinstance(definition, (staticmethod, classmethod)):
        return Member(name, definition.__func__, "method", defining_class, isinstance(definition, classmethod))
    if inspect.isroutine(definition) and callable(definition):
        return Member(name, definition, "method", defining_class, inspect.isfunction(definition))
    if isinstance(definition, property) or inspect.isdatadescriptor(definition):
        return Member(name, definition, "property", defining_class)
    value = safe_getattr(owner, name)
    if is_class(value):
        return Member(name, value, "class", defining_class) if scope.defines(value) else None
    if callable(value):
        shown = value if string_attribute(value, "__doc__") else definition
        return Member(name, shown, "method", defining_class, inspect.isfunction(shown))
    return Member(name, definition, "property", defining_class) if hasattr(type(definition), "__get__") else None


def _created_class(factory: Any) -> Any:
    if is_class(factory):
        return factory
    if isinstance(factory, functools.partial):
        return next((argument for argument in (factory.func, *factory.args) if is_class(argument)), None)
    wrapped = safe_getattr(factory, "__wrapped__")
    return wrapped if is_class(wrapped) else None


# Finds objects of a library that users meet without importing them.
#
# These are the types that its calls return, and the paths that its documentation mentions.

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


# Finds the public objects of a library, breadth first over its modules and classes.
#
# An object has one row however many paths reach it: the shortest of its best public paths names it, the others are
# its aliases. Paths listed as public are best (`public_names`), then unlisted but documented ones, then those only
# returned by calls or mentioned in documentation (`object_walker`). If the `__all__` of a package names submodules,
# its other submodules are private, unless they have an `__all__` or documentation mentions them. Everything that
# touches the library is guarded: its code may print, exit, hang, warn or provide any attribute.

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
