"""Describes how an object is called in one line: `networkx.Graph.add_edge(u_of_edge, v_of_edge, **attr): Add an edge.`

Runs no code of the object: only plain functions and classes have signatures, and defaults other than plain constants
are shown as `...`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType, WrapperDescriptorType
from typing import Any

from exploracoder_jupyter.kernel_agent.introspection.signatures import PlainText
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import class_dict, module_of, mro, type_path
from exploracoder_jupyter.kernel_agent.summaries.facts import truncate

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)
_CONSTANTS = (bool, int, float, type(None))
_USER_MODULES = ("__main__", "types")
"""Modules of definitions in the user's code; classes from `make_dataclass` have the module `types`."""
_MAX_SIGNATURE = 160
_MAX_DOC = 100


def describe_object(path: str, value: Any) -> str:
    """Describe the object at a path: signature and first line of documentation, or its type."""
    value = unwrap_function(value)
    if issubclass(type(value), ModuleType):
        return f"{path}: module"
    if not is_callable(value):
        computed = any("__get__" in class_dict(cls) for cls in mro(type(value)))
        return f"{path}: {'property' if computed else type_path(value)}"
    documentation = _docstring_line(value)
    return f"{path}{_signature(value)}" + (f": {documentation}" if documentation else "")


def unwrap_function(value: Any) -> Any:
    """Return the plain function within a method or a decorated function, otherwise the value itself."""
    if type(value) in (staticmethod, classmethod, MethodType):
        return value.__func__
    if not is_callable(value):
        with suppress(AttributeError):
            wrapped = inspect.getattr_static(value, "__wrapped__")
            return wrapped if type(wrapped) is FunctionType else value
    return value


def is_callable(value: Any) -> bool:
    """Return whether this is a function or class that can have a signature."""
    return type(value) in _FUNCTIONS or issubclass(type(value), type)


def _signature(value: Any) -> str:
    """Return the parameters without annotations; defaults in the user's code may be user data."""
    module = module_of(value) if issubclass(type(value), type) else getattr(value, "__module__", "")
    format_default = partial(_format_default, data=module in _USER_MODULES)
    return truncate(format_signature(_inspection_target(value), format_default), _MAX_SIGNATURE)


def _format_default(default: Any, *, data: bool) -> str:
    """Format a default that is a plain constant; with `data`, only None and booleans."""
    constant = type(default) in _CONSTANTS or (type(default) is str and len(default) <= 30)
    return repr(default) if constant and (not data or type(default) in (bool, type(None))) else "..."


def format_signature(
    function: Any,
    format_default: Callable[[Any], str],
    format_annotation: Callable[[Any], Any] = lambda _annotation: inspect.Parameter.empty,
) -> str:
    """Return a function's parameters without `self`, and its result; `(...)` if they are unknown."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError, AttributeError):
        return "(...)"
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    shown = []
    for parameter in parameters:
        default = parameter.default
        default = default if default is parameter.empty else PlainText(format_default(default))
        shown.append(parameter.replace(default=default, annotation=format_annotation(parameter.annotation)))
    return str(signature.replace(parameters=shown, return_annotation=format_annotation(signature.return_annotation)))


def _inspection_target(value: Any) -> Any:
    """Return the object to inspect: for a class its `__init__` or `__new__` if a function, so no property runs."""
    for cls in mro(value) if issubclass(type(value), type) else ():
        for name in ("__init__", "__new__"):
            found = class_dict(cls).get(name)
            found = found.__func__ if type(found) is staticmethod else found
            if type(found) is FunctionType:  # `__new__` is bound, which drops its first parameter whatever its name
                return found if name == "__init__" else MethodType(found, object)
    return value


def _docstring_line(value: Any) -> str:
    """Return the first line of the docstring, except for generated dataclass docstrings, which contain defaults."""
    is_class = issubclass(type(value), type)
    found = class_dict(value).get("__doc__") if is_class else value.__doc__
    text = found.strip() if isinstance(found, str) else ""
    if not text or (is_class and text.startswith(f"{type.__getattribute__(value, '__name__')}(")):
        return ""
    return truncate(text.splitlines()[0], _MAX_DOC)
