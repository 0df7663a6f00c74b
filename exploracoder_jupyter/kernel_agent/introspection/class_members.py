"""Lists the public members of a class: its own, inherited ones, and those that instances provide dynamically."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.introspection.api_row import (
    documentation,
    is_class,
    safe_getattr,
    string_attribute,
)
from exploracoder_jupyter.kernel_agent.introspection.public_names import Scope

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
