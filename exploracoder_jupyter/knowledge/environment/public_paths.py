"""Decides which definitions of a distribution are public, and under which path each is imported.

A definition is often written in a private module and imported by the package (`from ._frame import DataFrame`): its
path is then the shortest public one. Vendored packages, test suites, programs and private modules have none, so what is
only in them does not appear. Members that a class inherits are listed once, under the class nearest to the top.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import NOT_LIBRARIES
from exploracoder_jupyter.kernel_agent.introspection.public_names import SKIPPED_MODULES
from exploracoder_jupyter.knowledge.environment.syntax_reading import Definition, ModuleSyntax

_NOT_READ = re.compile(r"tests?|testsuite|test_.*|.*_tests|conftest|_?vendor(ed)?|_?third_?party|typeshed|externals?")
_MAX_DEPTH = 12
"""Imports that are followed from one name."""


@dataclass(frozen=True, slots=True)
class PublicApi:
    """A definition under its public path."""

    path: str
    kind: str
    signature: str
    summary: str
    opening: str


def merge_modules(modules: Sequence[ModuleSyntax]) -> dict[str, ModuleSyntax]:
    """Return the modules by dotted name. What only a stub names is added to the module: there is a compiled part."""
    merged: dict[str, ModuleSyntax] = {}
    for module in modules:
        name = ".".join(module.name)
        known = merged.setdefault(name, module)
        if known is module:
            continue
        for inner, definition in module.definitions.items():
            if inner not in known.imports:
                known.definitions.setdefault(inner, definition)
        for inner, source in module.imports.items():
            known.imports.setdefault(inner, source)
        known.stars += module.stars
        known.declared = known.declared or module.declared
    return merged


def public_apis(modules: Mapping[str, ModuleSyntax]) -> list[PublicApi]:
    """Return the public definitions of a distribution, each under one path, with the members of classes."""
    paths: dict[int, list[str]] = defaultdict(list)
    homes: dict[int, tuple[str, Definition]] = {}
    resolver = _Resolver(modules)
    for name in modules:
        if not is_public(name):
            continue
        for public in resolver.public_names(name):
            if found := resolver.resolve(name, public):
                home, definition = found
                paths[id(definition)].append(f"{name}.{public}" if definition.name else name)
                homes[id(definition)] = (home, definition)
    shortest = {key: min(found, key=_rank) for key, found in paths.items()}
    owners = _owners(resolver, homes, shortest)
    found_apis: dict[str, PublicApi] = {}
    for key, path in shortest.items():
        definition = homes[key][1]
        found_apis.setdefault(path, _api(path, definition))
    for key, (_, definition) in [*homes.items(), *resolver.hidden_bases.items()]:
        owner = owners.get(key)
        for member in definition.members if owner else ():
            path = f"{owner}.{member.name}"
            known = found_apis.get(path)
            if known is None or (member.summary and not known.summary):
                found_apis[path] = _api(path, member)
    return list(found_apis.values())


def is_public(module: str) -> bool:
    """Return whether a module's dotted name is that of a module for users."""
    top, *inner = module.split(".")
    return not NOT_LIBRARIES.match(top) and not any(SKIPPED_MODULES.fullmatch(part) for part in (top, *inner))


def is_read(module: Sequence[str]) -> bool:
    """Return whether a module may contain what is public: not test suites and others' packages inside of this one.

    Private modules are read, because packages import from them.
    """
    return not any(_NOT_READ.fullmatch(part) for part in module)


def _api(path: str, definition: Definition) -> PublicApi:
    return PublicApi(path, definition.kind, definition.signature, definition.summary, definition.opening)


def _rank(path: str) -> tuple[int, int, str]:
    return path.count("."), len(path), path


class _Resolver:
    """Follows imports between the modules of one distribution."""

    def __init__(self, modules: Mapping[str, ModuleSyntax]) -> None:
        self._modules = modules
        self._known: dict[tuple[str, str], tuple[str, Definition] | None] = {}
        self.hidden_bases: dict[int, tuple[str, Definition]] = {}
        """Bases of public classes that have no public path of their own."""

    def public_names(self, name: str, depth: int = 0) -> list[str]:
        """Return the names that a module offers: those it declares, or those that are meant for users."""
        module = self._modules[name]
        names: Iterator[str]
        if module.declared is not None:
            names = iter([*module.declared, *(self._starred(module, depth) if module.is_package else ())])
        else:
            own = [*module.definitions]
            if module.is_package or not own:
                tops = name.partition(".")[0]
                own += [local for local, (source, _) in module.imports.items() if source.partition(".")[0] == tops]
                own += self._starred(module, depth)
            names = iter(own)
        return [one for one in dict.fromkeys(names) if not one.startswith("_")]

    def _starred(self, module: ModuleSyntax, depth: int) -> list[str]:
        inner = (source for source in module.stars if source in self._modules and depth < _MAX_DEPTH)
        return [name for source in inner for name in self.public_names(source, depth + 1)]

    def resolve(self, module: str, name: str) -> tuple[str, Definition] | None:
        """Return the module and the definition that a name in a module stands for, within the distribution."""
        key = (module, name)
        if key not in self._known:
            self._known[key] = None  # while it is looked for: imports may be circular
            self._known[key] = self._find(module, name)
        return self._known[key]

    def _find(self, name: str, local: str) -> tuple[str, Definition] | None:
        module = self._modules.get(name)
        if module is None:
            return None
        if definition := module.definitions.get(local):
            return name, definition
        if local in module.imports:
            source, original = module.imports[local]
            return self.resolve(source, original) if original else None
        for source in module.stars:
            if source in self._modules and self._exports(source, local) and (found := self.resolve(source, local)):
                return found
        return None

    def _exports(self, module: str, name: str) -> bool:
        """Return whether a star import of a module brings this name."""
        declared = self._modules[module].declared
        return not name.startswith("_") if declared is None else name in declared

    def base(self, module: str, dotted: str) -> tuple[str, Definition] | None:
        """Return the class that a class in this module names as its base."""
        head, _, rest = dotted.partition(".")
        if not rest:
            return self.resolve(module, head)
        source = self._modules[module].imports.get(head) if module in self._modules else None
        if source is None:
            return None
        inner = ".".join(filter(None, source))
        middle, _, last = rest.rpartition(".")
        return self.resolve(f"{inner}.{middle}" if middle else inner, last)


def _owners(
    resolver: _Resolver, homes: Mapping[int, tuple[str, Definition]], shortest: Mapping[int, str]
) -> dict[int, str]:
    """Return under which path the members of each class are listed: its own, or that of a descendant nearer the top."""
    owners = {key: shortest[key] for key, (_, definition) in homes.items() if definition.kind == "class"}
    for key, (home, definition) in homes.items():
        if definition.kind != "class":
            continue
        pending, seen = [(home, definition)], {key}
        while pending:
            module, one = pending.pop()
            for dotted in one.bases:
                base = resolver.base(module, dotted)
                if base is None or id(base[1]) in seen or base[1].kind != "class":
                    continue
                seen.add(id(base[1]))
                pending.append(base)
                known = owners.get(id(base[1]))
                if known is None or _depth_rank(shortest[key]) < _depth_rank(known):
                    owners[id(base[1])] = shortest[key]
                if id(base[1]) not in homes:
                    resolver.hidden_bases[id(base[1])] = base
    return owners


def _depth_rank(path: str) -> int:
    return path.count(".")
