"""Functions, classes, modules, exceptions, and objects of classes without a describer.

Attributes are read where they are stored; properties are named, not computed. Only an object's own `repr` is run, so
this belongs in a process that may be damaged (`forked_probe`). The names of fields, attributes and methods are not
data.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import import_path, type_path
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions
from exploracoder_jupyter.kernel_agent.summaries.value_text import describe_structure, format_count, has_plain_repr

_MAX_LENGTH = 200
_MAX_METHODS = 12
_LITERAL = re.compile(r"""b?'(?:\\.|[^'\\])*'|b?"(?:\\.|[^"\\])*"|(?<![\w.])-?\d[\w.]*""")
"""A string or number literal within an annotation, as in `typing.Literal['north', 2]`: it may come from data."""
_dict = type.__dict__["__dict__"].__get__
_bases = type.__dict__["__mro__"].__get__
_direct_bases = type.__dict__["__bases__"].__get__


class _Field(NamedTuple):
    name: str
    value: Any


def describe(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe an object of any class."""
    kind = type(value)
    fields = _fields(value)
    for marker, kind_name in _CLASS_MARKERS.items():
        if any(marker in _dict(cls) for cls in _bases(kind)):
            yield Fact(f"{kind_name}, {format_count(len(fields), 'field')}")
            break
    else:
        yield from _repr_fact(value, len(fields))
    yield from _field_facts(fields, options)
    yield from _property_fact(kind)
    yield from _method_fact(kind, options)


_CLASS_MARKERS = {
    "__dataclass_fields__": "dataclass",
    "__attrs_attrs__": "attrs class",
    "__pydantic_fields__": "pydantic model",
    "__fields_set__": "pydantic model",
}


def _repr_fact(value: Any, fields: int) -> Iterator[Fact]:
    """Describe the object by its `repr`, unless that shows only its address."""
    if has_plain_repr(type(value)):
        yield Fact(format_count(fields, "attribute") if fields else "")
        return
    try:
        text = repr(value)
    except Exception as error:
        yield Fact(f"its repr raises {truncate(f'{type_path(error)}: {error}', _MAX_LENGTH)}", True, "")
        return
    yield Fact(truncate(text, _MAX_LENGTH), shows=True)


def _fields(value: Any) -> list[_Field]:
    """Return the public attributes stored in the object's dict or slots, in the order of their definition."""
    attributes = dict(_instance_dict(value))
    for cls in reversed(_bases(type(value))):
        for name, slot in _dict(cls).items():
            if type(slot) is MemberDescriptorType and type(name) is str:
                try:
                    attributes[name] = slot.__get__(value)
                except AttributeError:
                    continue
    return _public_fields(attributes)


def _public_fields(attributes: dict[Any, Any]) -> list[_Field]:
    return [_Field(name, item) for name, item in attributes.items() if type(name) is str and not name.startswith("_")]


def _instance_dict(value: Any) -> dict[Any, Any]:
    """Return the object's dict as the interpreter stores it, without running code of the class."""
    for cls in _bases(type(value)):
        slot = _dict(cls).get("__dict__")
        if type(slot) is GetSetDescriptorType:
            attributes = slot.__get__(value)
            return attributes if type(attributes) is dict else {}
    return {}


def _field_facts(fields: list[_Field], options: SummaryOptions) -> Iterator[Fact]:
    for field in fields[: options.columns]:
        yield Fact(
            f"{field.name} = {options.short(field.value)}", True, f"{field.name}: {describe_structure(field.value)}"
        )
    if len(fields) > options.columns:
        yield Fact(f"... {len(fields) - options.columns} more attributes")


def _public_members(kind: type) -> dict[str, Any]:
    """Return the public members of the class and its bases, the nearest first, except those of the interpreter.

    Protocols are left out too: they declare what an object may have, and their methods do nothing.
    """
    members: dict[str, Any] = {}
    for cls in _bases(kind):
        if "_is_protocol" in _dict(cls) and _dict(cls)["_is_protocol"] is True:
            continue
        if cls.__module__ in ("builtins", "typing", "abc") or cls.__module__.startswith("pydantic."):
            continue
        for name, member in _dict(cls).items():
            if type(name) is str and not name.startswith("_"):
                members.setdefault(name, member)
    return members


def _property_fact(kind: type) -> Iterator[Fact]:
    computed = ("property", "cached_property")
    names = [name for name, member in _public_members(kind).items() if type(member).__name__ in computed]
    if names:
        yield Fact(f"properties: {', '.join(names[:_MAX_METHODS])}{', ...' if len(names) > _MAX_METHODS else ''}")


def _method_fact(kind: type, options: SummaryOptions) -> Iterator[Fact]:
    functions = {name: _unwrap_function(member) for name, member in _public_members(kind).items()}
    methods = [
        f"{name}{_format_signature(function, None)}" for name, function in islice(functions.items(), 200) if function
    ]
    if methods:
        more = f", ... {len(methods) - _MAX_METHODS} more" if len(methods) > _MAX_METHODS else ""
        yield Fact(f"methods: {', '.join(methods[:_MAX_METHODS])}{more}")


def _unwrap_function(member: Any) -> Callable[..., Any] | None:
    function = member.__func__ if type(member) in (classmethod, staticmethod) else member
    return function if type(function) is FunctionType and not _is_stub(function) else None


def _is_stub(function: FunctionType) -> bool:
    """Return whether a function only declares what subclasses may have: abstract, or it raises NotImplementedError."""
    return bool(getattr(function, "__isabstractmethod__", False)) or function.__code__.co_names == (
        "NotImplementedError",
    )


def _format_signature(function: Callable[..., Any], options: SummaryOptions | None) -> str:
    """Format the parameters without `self`. Defaults are shown only if `options` is given: a default can be data."""
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        _format_parameter(parameter, options)
        for name, parameter in signature.parameters.items()
        if name not in ("self", "cls")
    ]
    return str(
        signature.replace(parameters=parameters, return_annotation=_format_annotation(signature.return_annotation))
    )


def _format_parameter(parameter: Any, options: SummaryOptions | None) -> Any:
    default = (
        parameter.default
        if parameter.default is parameter.empty
        else _Verbatim(options.short(parameter.default) if options else "...")
    )
    return parameter.replace(default=default, annotation=_format_annotation(parameter.annotation))


class _Verbatim(str):
    """A string whose `repr` is the string itself."""

    def __repr__(self) -> str:
        return str(self)


def _format_annotation(annotation: Any) -> Any:
    if annotation is getattr(sys.modules.get("inspect"), "_empty", None):
        return annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__qualname__", None) or str(annotation)
    return _Verbatim(truncate(_LITERAL.sub("...", text), 60))


def _describe_function(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    name = import_path(value, str(getattr(value, "__qualname__", "?")), getattr(value, "__module__", None))
    yield Fact(f"{name}{_format_signature(value, options)}", True, f"{name}{_format_signature(value, None)}")
    yield from _doc_fact(value)


def _doc_fact(value: Any) -> Iterator[Fact]:
    """Yield the first paragraph of the docstring, unless it is a dataclass's generated one, which contains values."""
    doc = getattr(value, "__doc__", None)
    if type(doc) is str and doc.strip() and not doc.startswith(f"{getattr(value, '__name__', '')}("):
        yield Fact(truncate(doc.strip().split("\n\n")[0], _MAX_LENGTH))


def _describe_partial(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(f"of {getattr(value.func, '__qualname__', None) or options.short(value.func)}")
    keywords = [f"{name}={options.short(item)}" for name, item in value.keywords.items()]
    arguments = ", ".join([*map(options.short, value.args), *keywords])
    yield Fact(
        f"given: {arguments}", True, f"given: {', '.join([*map(describe_structure, value.args), *value.keywords])}"
    )


def _describe_class(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    bases = [_class_path(cls) for cls in _direct_bases(value) if cls is not object]
    bases_text = f", based on {', '.join(bases[:3])}" if bases else ""
    yield Fact(f"{_class_path(value)}{_format_signature(value, None)}{bases_text}")
    yield from _doc_fact(value)
    yield from _class_field_fact(value)
    yield from _property_fact(value)
    yield from _method_fact(value, options)


def _class_path(cls: type) -> str:
    return import_path(cls, cls.__qualname__, cls.__module__)


def _class_field_fact(value: Any) -> Iterator[Fact]:
    declared = _dict(value).get("__annotations__") or {}
    fields = [f"{name}: {_format_annotation(kind)!r}" for name, kind in islice(declared.items(), _MAX_METHODS)]
    if fields:
        yield Fact(f"fields: {', '.join(fields)}{', ...' if len(declared) > len(fields) else ''}")


def describe_module(value: ModuleType, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a module by its name and version. Harmless in any process if the type is exactly `ModuleType`."""
    attributes = ModuleType.__getattribute__(value, "__dict__")
    name, version = attributes.get("__name__"), attributes.get("__version__")
    yield Fact(f"{name} {version}" if type(version) is str else f"{name}")


def _describe_exception(value: BaseException, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(truncate(str(value), 2 * _MAX_LENGTH) or "no message", True, "")
    yield from _field_facts(_public_fields(_instance_dict(value)), options)
    if value.__cause__ is not None:
        yield Fact(f"caused by {type_path(value.__cause__)}")


def fingerprint(value: Any) -> str | None:
    """Return a hash of the identities of the attributes of an object whose class is defined in the notebook.

    None for objects of other classes, whose private state may change by merely being examined.
    """
    if _dict(type(value)).get("__module__") != "__main__":
        return None
    attributes = _instance_dict(value)
    return f"#{hash((*attributes, *map(id, attributes.values())))}" if len(attributes) <= _MAX_LENGTH else None


_FUNCTIONS = ("function", "builtin_function_or_method", "method", "method_descriptor", "wrapper_descriptor")
FAMILY = TypeFamily(
    {
        **{f"builtins.{name}": _describe_function for name in _FUNCTIONS},
        "functools.partial": _describe_partial,
        "builtins.type": _describe_class,
        "builtins.module": describe_module,
        "builtins.BaseException": _describe_exception,
    }
)
