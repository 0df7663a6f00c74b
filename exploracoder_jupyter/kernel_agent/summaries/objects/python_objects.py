"""Functions, classes, modules, exceptions, and objects of classes that nothing else is known of.

Attributes are read where they are stored, and properties are named, not computed. Only an object's own `repr` is run:
this is for a process that may be spoilt (`apart`). Names of fields, attributes and methods are no data.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import import_path, type_path
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look, cut
from exploracoder_jupyter.kernel_agent.summaries.value_text import counted, has_plain_repr, structure

_LONGEST = 200
_MOST_METHODS = 12
_CONSTANT = re.compile(r"""b?'(?:\\.|[^'\\])*'|b?"(?:\\.|[^"\\])*"|(?<![\w.])-?\d[\w.]*""")
"""A text or number within an annotation, as in `typing.Literal['north', 2]`: data may have made it."""
_dict = type.__dict__["__dict__"].__get__
_bases = type.__dict__["__mro__"].__get__
_direct_bases = type.__dict__["__bases__"].__get__


class _Field(NamedTuple):
    name: str
    value: Any


def describe(value: Any, look: Look) -> Iterator[Fact]:
    """Facts on an object of any class."""
    kind = type(value)
    fields = _fields(value)
    for mark, what in _KINDS_OF_CLASS.items():
        if any(mark in _dict(cls) for cls in _bases(kind)):
            yield Fact(f"{what}, {counted(len(fields), 'field')}")
            break
    else:
        yield from _shown(value, len(fields))
    yield from _stored(fields, look)
    yield from _properties(kind)
    yield from _methods(kind, look)


_KINDS_OF_CLASS = {
    "__dataclass_fields__": "dataclass",
    "__attrs_attrs__": "attrs class",
    "__pydantic_fields__": "pydantic model",
    "__fields_set__": "pydantic model",
}


def _shown(value: Any, fields: int) -> Iterator[Fact]:
    """What the class itself shows of the object, unless that is nothing but its address."""
    if has_plain_repr(type(value)):
        yield Fact(counted(fields, "attribute") if fields else "")
        return
    try:
        text = repr(value)
    except Exception as error:
        yield Fact(f"its repr raises {cut(f'{type_path(error)}: {error}', _LONGEST)}", True, "")
        return
    yield Fact(cut(text, _LONGEST), shows=True)


def _fields(value: Any) -> list[_Field]:
    """Public attributes that are stored in the object, in its dict or in slots, in the order of their definition."""
    found = dict(_instance_dict(value))
    for cls in reversed(_bases(type(value))):
        for name, slot in _dict(cls).items():
            if type(slot) is MemberDescriptorType and type(name) is str:
                try:
                    found[name] = slot.__get__(value)
                except AttributeError:
                    continue
    return _public(found)


def _public(found: dict[Any, Any]) -> list[_Field]:
    return [_Field(name, item) for name, item in found.items() if type(name) is str and not name.startswith("_")]


def _instance_dict(value: Any) -> dict[Any, Any]:
    """The object's dict, as the interpreter keeps it: no code of the class is run."""
    for cls in _bases(type(value)):
        slot = _dict(cls).get("__dict__")
        if type(slot) is GetSetDescriptorType:
            held = slot.__get__(value)
            return held if type(held) is dict else {}
    return {}


def _stored(fields: list[_Field], look: Look) -> Iterator[Fact]:
    for field in fields[: look.columns]:
        yield Fact(f"{field.name} = {look.short(field.value)}", True, f"{field.name}: {structure(field.value)}")
    if len(fields) > look.columns:
        yield Fact(f"... {len(fields) - look.columns} more attributes")


def _own_members(kind: type) -> dict[str, Any]:
    """Public members of the class and of those that it is based on, the nearest first, but for the interpreter's."""
    found: dict[str, Any] = {}
    for cls in _bases(kind):
        if cls.__module__ in ("builtins", "typing", "abc") or cls.__module__.startswith("pydantic."):
            continue
        for name, member in _dict(cls).items():
            if type(name) is str and not name.startswith("_"):
                found.setdefault(name, member)
    return found


def _properties(kind: type) -> Iterator[Fact]:
    computed = ("property", "cached_property")
    names = [name for name, member in _own_members(kind).items() if type(member).__name__ in computed]
    if names:
        yield Fact(f"properties: {', '.join(names[:_MOST_METHODS])}{', ...' if len(names) > _MOST_METHODS else ''}")


def _methods(kind: type, look: Look) -> Iterator[Fact]:
    functions = {name: _function_of(member) for name, member in _own_members(kind).items()}
    found = [f"{name}{_signature(function, None)}" for name, function in islice(functions.items(), 200) if function]
    if found:
        more = f", ... {len(found) - _MOST_METHODS} more" if len(found) > _MOST_METHODS else ""
        yield Fact(f"methods: {', '.join(found[:_MOST_METHODS])}{more}")


def _function_of(member: Any) -> Callable[..., Any] | None:
    inner = member.__func__ if type(member) in (classmethod, staticmethod) else member
    return inner if type(inner) is FunctionType else None


def _signature(function: Callable[..., Any], look: Look | None) -> str:
    """Parameters without `self`, with their defaults only where a look is given: a default can be data."""
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    given = [_parameter(one, look) for name, one in signature.parameters.items() if name not in ("self", "cls")]
    return str(signature.replace(parameters=given, return_annotation=_annotation(signature.return_annotation)))


def _parameter(one: Any, look: Look | None) -> Any:
    default = one.default if one.default is one.empty else _Words(look.short(one.default) if look else "...")
    return one.replace(default=default, annotation=_annotation(one.annotation))


class _Words(str):
    """Words that are written as they are."""

    def __repr__(self) -> str:
        return str(self)


def _annotation(found: Any) -> Any:
    if found is getattr(sys.modules.get("inspect"), "_empty", None):
        return found
    written = found if isinstance(found, str) else getattr(found, "__qualname__", None) or str(found)
    return _Words(cut(_CONSTANT.sub("...", written), 60))


def _function(value: Any, look: Look) -> Iterator[Fact]:
    name = import_path(value, str(getattr(value, "__qualname__", "?")), getattr(value, "__module__", None))
    yield Fact(f"{name}{_signature(value, look)}", True, f"{name}{_signature(value, None)}")
    yield from _purpose(value)


def _purpose(value: Any) -> Iterator[Fact]:
    """The first paragraph of its documentation; what dataclasses write there by themselves holds values."""
    doc = getattr(value, "__doc__", None)
    if type(doc) is str and doc.strip() and not doc.startswith(f"{getattr(value, '__name__', '')}("):
        yield Fact(cut(doc.strip().split("\n\n")[0], _LONGEST))


def _partial(value: Any, look: Look) -> Iterator[Fact]:
    yield Fact(f"of {getattr(value.func, '__qualname__', None) or look.short(value.func)}")
    named = [f"{name}={look.short(item)}" for name, item in value.keywords.items()]
    given = ", ".join([*map(look.short, value.args), *named])
    yield Fact(f"given: {given}", True, f"given: {', '.join([*map(structure, value.args), *value.keywords])}")


def _class(value: Any, look: Look) -> Iterator[Fact]:
    bases = [_class_path(cls) for cls in _direct_bases(value) if cls is not object]
    based = f", based on {', '.join(bases[:3])}" if bases else ""
    yield Fact(f"{_class_path(value)}{_signature(value, None)}{based}")
    yield from _purpose(value)
    yield from _class_fields(value)
    yield from _properties(value)
    yield from _methods(value, look)


def _class_path(cls: type) -> str:
    return import_path(cls, cls.__qualname__, cls.__module__)


def _class_fields(value: Any) -> Iterator[Fact]:
    declared = _dict(value).get("__annotations__") or {}
    fields = [f"{name}: {_annotation(kind)!r}" for name, kind in islice(declared.items(), _MOST_METHODS)]
    if fields:
        yield Fact(f"fields: {', '.join(fields)}{', ...' if len(declared) > len(fields) else ''}")


def module(value: ModuleType, look: Look) -> Iterator[Fact]:
    """A module by its name and version. Harmless anywhere for one that is exactly a module."""
    known = ModuleType.__getattribute__(value, "__dict__")
    name, version = known.get("__name__"), known.get("__version__")
    yield Fact(f"{name} {version}" if type(version) is str else f"{name}")


def _exception(value: BaseException, look: Look) -> Iterator[Fact]:
    yield Fact(cut(str(value), 2 * _LONGEST) or "no message", True, "")
    yield from _stored(_public(_instance_dict(value)), look)
    if value.__cause__ is not None:
        yield Fact(f"caused by {type_path(value.__cause__)}")


def fingerprint(value: Any) -> str | None:
    """Which objects an object of the user's own class holds; nothing of others, which may change what they keep to
    themselves when they are merely looked at."""
    if _dict(type(value)).get("__module__") != "__main__":
        return None
    held = _instance_dict(value)
    return f"#{hash((*held, *map(id, held.values())))}" if len(held) <= _LONGEST else None


_FUNCTIONS = ("function", "builtin_function_or_method", "method", "method_descriptor", "wrapper_descriptor")
FAMILY = Family(
    {
        **{f"builtins.{name}": _function for name in _FUNCTIONS},
        "functools.partial": _partial,
        "builtins.type": _class,
        "builtins.module": module,
        "builtins.BaseException": _exception,
    }
)
