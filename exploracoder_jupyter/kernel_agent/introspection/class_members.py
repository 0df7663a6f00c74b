"""The public members of a class: its own, those it inherits, and those that its instances answer to by name."""

from __future__ import annotations

import functools
import inspect
from typing import NamedTuple

from exploracoder_jupyter.kernel_agent.introspection.api_row import attribute, documentation, is_class, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from exploracoder_jupyter.kernel_agent.introspection.api_scope import Scope

MOST_FUNCTIONAL = 1_000


class Member(NamedTuple):
    """A public name of a class."""

    name: str
    value: Any
    kind: str
    home: Any
    """The class that has it: the same, or one that it is derived from."""
    bound: bool = False
    """Whether it is a function whose first parameter the call fills."""


def members(owner: Any, scope: Scope) -> Iterator[Member]:
    """What users reach by a class and its instances; of bases from elsewhere the documented methods alone."""
    lineage = type.mro(owner) if type(owner) is type else list(owner.__mro__)
    taken: set[str] = set()
    for home in lineage:
        if home is object:
            continue
        ours = scope.ours(home)
        for name in list(home.__dict__):
            if isinstance(name, str) and name.isidentifier() and not name.startswith("_") and name not in taken:
                taken.add(name)
                found = _member(home, owner, name, scope)
                if found and (ours or (found.kind == "method" and documentation(found.value))):
                    yield found


def functional(owner: Any) -> Iterator[tuple[str, Any]]:
    """Names under which instances make objects of other classes: `pipe.map(...)` for `Mapper(pipe, ...)`.

    Such a class has a table of makers by name, and answers to these names by `__getattr__`.
    """
    own = owner.__dict__
    if "__getattr__" not in own and "__getattr__" not in type(owner).__dict__:
        return
    for table in list(own.values()):
        if type(table) is dict and len(table) <= MOST_FUNCTIONAL:
            for name, maker in list(table.items()):
                made = _made(maker)
                if isinstance(name, str) and name.isidentifier() and made is not None:
                    yield name, made


def _member(home: Any, owner: Any, name: str, scope: Scope) -> Member | None:
    raw = home.__dict__[name]
    if isinstance(raw, (staticmethod, classmethod)):
        return Member(name, raw.__func__, "method", home, isinstance(raw, classmethod))
    if inspect.isroutine(raw) and callable(raw):
        return Member(name, raw, "method", home, inspect.isfunction(raw))
    if isinstance(raw, property) or inspect.isdatadescriptor(raw):
        return Member(name, raw, "property", home)
    value = attribute(owner, name)
    if is_class(value):
        return Member(name, value, "class", home) if scope.ours(value) else None
    if callable(value):
        shown = value if string(value, "__doc__") else raw
        return Member(name, shown, "method", home, inspect.isfunction(shown))
    return Member(name, raw, "property", home) if hasattr(type(raw), "__get__") else None


def _made(maker: Any) -> Any:
    """The class whose objects a maker makes; None when it is not known."""
    if is_class(maker):
        return maker
    if isinstance(maker, functools.partial):
        return next((given for given in (maker.func, *maker.args) if is_class(given)), None)
    wrapped = attribute(maker, "__wrapped__")
    return wrapped if is_class(wrapped) else None
