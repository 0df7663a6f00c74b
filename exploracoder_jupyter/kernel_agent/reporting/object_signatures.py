"""Describes how an object is called in one line: `networkx.Graph.add_edge(u_of_edge, v_of_edge, **attr): Add an edge.`

Runs no code of the object: only plain functions and classes have signatures, and defaults other than plain constants
are shown as `...`.
"""

from __future__ import annotations

import inspect
import sys
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType, WrapperDescriptorType
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import truncate

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)
_CONSTANTS = (bool, int, float, type(None))
_USER_MODULES = ("__main__", "types")
"""Modules of definitions in the user's code; classes from `make_dataclass` have the module `types`."""
_MAX_SIGNATURE = 160
_MAX_DOC = 100
_class_dict = type.__dict__["__dict__"].__get__
_mro = type.__dict__["__mro__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__


def describe_object(path: str, value: Any) -> str:
    """Describe the object at a path: signature and first line of documentation, or its type."""
    value = unwrap_function(value)
    if issubclass(type(value), ModuleType):
        return f"{path}: module"
    if not is_callable(value):
        return f"{path}: {'property' if _is_descriptor(value) else type_path(value)}"
    documentation = _docstring_line(value)
    return f"{path}{signature(value)}" + (f": {documentation}" if documentation else "")


def unwrap_function(value: Any) -> Any:
    """Return the plain function within a method or a decorated function, otherwise the value itself."""
    if type(value) in (staticmethod, classmethod, MethodType):
        return value.__func__
    if is_callable(value):
        return value
    with suppress(AttributeError):
        wrapped = inspect.getattr_static(value, "__wrapped__")
        return wrapped if type(wrapped) is FunctionType else value
    return value


def is_callable(value: Any) -> bool:
    """Return whether this is a function or class that can have a signature."""
    return type(value) in _FUNCTIONS or issubclass(type(value), type)


def signature(value: Any) -> str:
    """Return the parameters without annotations and without `self`; `(...)` if they are unknown."""
    try:
        parameters = list(inspect.signature(_inspection_target(value)).parameters.values())
    except (ValueError, TypeError, AttributeError):
        return "(...)"
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    shown = [_without_annotation(parameter, data=_module_of(value) in _USER_MODULES) for parameter in parameters]
    return truncate(str(inspect.Signature(shown)), _MAX_SIGNATURE)


def path_of(value: Any) -> str:
    """Return the shortest import path at which a function or class can be found."""
    module, name = _module_of(value), _qualified_name(value)
    if module in ("builtins", "__main__", ""):
        return name
    head, parts = name.partition(".")[0], module.split(".")
    defined = _module_attribute(sys.modules.get(module), head)
    for end in range(1, len(parts)):
        if defined is not None and _module_attribute(sys.modules.get(".".join(parts[:end])), head) is defined:
            return ".".join([*parts[:end], name])
    return f"{module}.{name}"


class _DefaultText:
    """A default value with a custom `repr`."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _without_annotation(parameter: inspect.Parameter, *, data: bool) -> inspect.Parameter:
    """Remove the annotation. With `data`, the default may contain user data, unless it is None or a boolean."""
    default = parameter.default
    if default is parameter.empty:
        return parameter.replace(annotation=parameter.empty)
    constant = type(default) in _CONSTANTS or (type(default) is str and len(default) <= 30)
    visible = constant and (not data or type(default) in (bool, type(None)))
    return parameter.replace(annotation=parameter.empty, default=_DefaultText(repr(default) if visible else "..."))


def _inspection_target(value: Any) -> Any:
    """Return the object to inspect: for a class its `__init__` or `__new__` if a function, so no property runs."""
    if not issubclass(type(value), type):
        return value
    for cls in _mro(value):
        for name in ("__init__", "__new__"):
            found = _class_dict(cls).get(name)
            found = found.__func__ if type(found) is staticmethod else found
            if type(found) is FunctionType:
                return found if name == "__init__" else _bind_first_parameter(found)
    return value


def _bind_first_parameter(function: FunctionType) -> Any:
    """Return `__new__` bound, which drops its first parameter whatever its name."""
    return MethodType(function, object)


def _is_descriptor(value: Any) -> bool:
    """Return whether this is a descriptor, whose attribute is computed rather than being this value."""
    return any("__get__" in _class_dict(cls) for cls in _mro(type(value)))


def _module_of(value: Any) -> str:
    module = _module(value) if issubclass(type(value), type) else getattr(value, "__module__", "")
    return module if isinstance(module, str) else ""


def _qualified_name(value: Any) -> str:
    return str(_qualname(value) if issubclass(type(value), type) else value.__qualname__)


def _module_attribute(module: Any, name: str) -> Any:
    return module.__dict__.get(name) if type(module) is ModuleType else None


def _docstring_line(value: Any) -> str:
    """Return the first line of the docstring, except for generated dataclass docstrings, which contain defaults."""
    is_class = issubclass(type(value), type)
    found = _class_dict(value).get("__doc__") if is_class else value.__doc__
    text = found.strip() if isinstance(found, str) else ""
    generated = is_class and text.startswith(f"{_qualified_name(value).rpartition('.')[2]}(")
    lines = [] if generated else text.splitlines()
    return truncate(lines[0], _MAX_DOC) if lines else ""
