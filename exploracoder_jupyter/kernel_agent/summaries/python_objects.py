"""Functions, classes, modules, exceptions, and objects of classes without a describer.

Attributes are read where they are stored; properties are named, not computed. Only an object's own `repr` is run, so
this belongs in a process that may be damaged (`forked_probe`). The names of fields, attributes and methods are not
data.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator
from itertools import islice
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.signatures import PlainText
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import class_dict, import_path, mro, type_path
from exploracoder_jupyter.kernel_agent.reporting.signature_hints import format_signature
from exploracoder_jupyter.kernel_agent.summaries.display_objects import shown_as_html
from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, SummaryOptions, TypeFamily, format_list, truncate
from exploracoder_jupyter.kernel_agent.summaries.value_text import describe_structure, format_count, has_plain_repr

_MAX_LENGTH = 200
_MAX_METHODS = 12
_LITERAL = re.compile(r"""b?'(?:\\.|[^'\\])*'|b?"(?:\\.|[^"\\])*"|(?<![\w.])-?\d[\w.]*""")
"""A string or number literal within an annotation, as in `typing.Literal['north', 2]`: it may come from data."""
_direct_bases = type.__dict__["__bases__"].__get__


def describe(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe an object of any class."""
    kind = type(value)
    fields = stored_fields(value)
    markers = [marker for marker in _CLASS_MARKERS if any(marker in class_dict(cls) for cls in mro(kind))]
    if markers:
        yield Fact(f"{_CLASS_MARKERS[markers[0]]}, {format_count(len(fields), 'field')}")
    else:
        yield _repr_fact(value, len(fields))
    yield from shown_as_html(value)
    yield from field_facts(fields, options)
    yield from _member_facts(kind)


_CLASS_MARKERS = {
    "__dataclass_fields__": "dataclass",
    "__attrs_attrs__": "attrs class",
    "__pydantic_fields__": "pydantic model",
    "__fields_set__": "pydantic model",
}


def _repr_fact(value: Any, fields: int) -> Fact:
    """Describe the object by its `repr`, unless that shows only its address."""
    if has_plain_repr(type(value)):
        return Fact(format_count(fields, "attribute") if fields else "")
    try:
        return Fact(truncate(repr(value), _MAX_LENGTH), shows=True)
    except Exception as error:
        return Fact(f"its repr raises {truncate(f'{type_path(error)}: {error}', _MAX_LENGTH)}", True, "")


def stored_fields(value: Any) -> dict[str, Any]:
    """Return the public attributes stored in the object's dict or slots, in the order of their definition."""
    attributes = dict(_instance_dict(value))
    for cls in reversed(mro(type(value))):
        for name, slot in class_dict(cls).items() if "__slots__" in class_dict(cls) else ():
            if type(slot) is MemberDescriptorType and type(name) is str:
                with contextlib.suppress(AttributeError):
                    attributes[name] = slot.__get__(value)
    return {name: item for name, item in attributes.items() if type(name) is str and not name.startswith("_")}


def _instance_dict(value: Any) -> dict[Any, Any]:
    """Return the object's dict as the interpreter stores it, without running code of the class."""
    for cls in mro(type(value)):
        slot = class_dict(cls).get("__dict__")
        if type(slot) is GetSetDescriptorType:
            attributes = slot.__get__(value)
            return attributes if type(attributes) is dict else {}
    return {}


def field_facts(fields: dict[str, Any], options: SummaryOptions) -> Iterator[Fact]:
    """Describe attributes by their values."""
    for name, value in islice(fields.items(), options.columns):
        yield Fact(f"{name} = {options.short(value)}", True, f"{name}: {describe_structure(value)}")
    if len(fields) > options.columns:
        yield Fact(f"... {len(fields) - options.columns} more attributes")


def _public_members(kind: type) -> dict[str, Any]:
    """Return the public members of the class and its bases, the nearest first, except those of the interpreter.

    Protocols are left out too: they declare what an object may have, and their methods do nothing.
    """
    members: dict[str, Any] = {}
    for cls in mro(kind):
        if "_is_protocol" in class_dict(cls) and class_dict(cls)["_is_protocol"] is True:
            continue
        if cls.__module__ in ("builtins", "typing", "abc") or cls.__module__.startswith("pydantic."):
            continue
        for name, member in class_dict(cls).items():
            if type(name) is str and not name.startswith("_"):
                members.setdefault(name, member)
    return members


def _member_facts(kind: type) -> Iterator[Fact]:
    members = _public_members(kind)
    computed = ("property", "cached_property")
    names = [name for name, member in members.items() if type(member).__name__ in computed]
    if names:
        yield Fact(f"properties: {format_list(names, _MAX_METHODS)}")
    functions = {name: _unwrap_function(member) for name, member in islice(members.items(), 200)}
    methods = [f"{name}{_format_signature(function, None)}" for name, function in functions.items() if function]
    if methods:
        yield Fact(f"methods: {format_list(methods, _MAX_METHODS)}")


def _unwrap_function(member: Any) -> Callable[..., Any] | None:
    """Return a method's function, unless it only declares what subclasses may have."""
    function = member.__func__ if type(member) in (classmethod, staticmethod) else member
    if type(function) is not FunctionType or getattr(function, "__isabstractmethod__", False):
        return None
    return None if function.__code__.co_names == ("NotImplementedError",) else function


def _format_signature(function: Callable[..., Any], options: SummaryOptions | None) -> str:
    """Format the parameters without `self`. Defaults are shown only if `options` is given: a default can be data."""
    return format_signature(function, options.short if options else lambda _default: "...", _format_annotation)


def _format_annotation(annotation: Any) -> Any:
    if annotation is inspect.Parameter.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__qualname__", None) or str(annotation)
    return PlainText(truncate(_LITERAL.sub("...", text), 60))


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
    kinds = ", ".join([*map(describe_structure, value.args), *value.keywords])
    yield Fact(f"given: {arguments}", True, f"given: {kinds}")


def _describe_class(value: Any, options: SummaryOptions) -> Iterator[Fact]:
    bases = [_class_path(cls) for cls in _direct_bases(value) if cls is not object]
    bases_text = f", based on {', '.join(bases[:3])}" if bases else ""
    yield Fact(f"{_class_path(value)}{_format_signature(value, None)}{bases_text}")
    yield from _doc_fact(value)
    declared = class_dict(value).get("__annotations__") or {}
    if declared:
        fields = [f"{name}: {_format_annotation(kind)!r}" for name, kind in islice(declared.items(), 200)]
        yield Fact(f"fields: {format_list(fields, _MAX_METHODS)}")
    yield from _member_facts(value)


def _class_path(cls: type) -> str:
    return import_path(cls, cls.__qualname__, cls.__module__)


def describe_module(value: ModuleType, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a module by its name and version. Harmless in any process if the type is exactly `ModuleType`."""
    attributes = ModuleType.__getattribute__(value, "__dict__")
    name, version = attributes.get("__name__"), attributes.get("__version__")
    yield Fact(f"{name} {version}" if type(version) is str else f"{name}")


def _describe_exception(value: BaseException, options: SummaryOptions) -> Iterator[Fact]:
    yield Fact(truncate(str(value), 2 * _MAX_LENGTH) or "no message", True, "")
    yield from field_facts(stored_fields(value), options)
    if value.__cause__ is not None:
        yield Fact(f"caused by {type_path(value.__cause__)}")


def fingerprint(value: Any) -> str | None:
    """Return a hash of the identities of the attributes of an object whose class is defined in the notebook.

    None for objects of other classes, whose private state may change by merely being examined.
    """
    if class_dict(type(value)).get("__module__") != "__main__":
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
