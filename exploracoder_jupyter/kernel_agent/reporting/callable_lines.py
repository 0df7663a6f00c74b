"""How something is called, in one line: `networkx.Graph.add_edge(u_of_edge, v_of_edge, **attr): Add an edge.`

Nothing of the object's own code is run: what is neither a plain function nor a class has no signature, and a default
that is no plain constant is `...`.
"""

from __future__ import annotations

import inspect
import sys
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType, WrapperDescriptorType
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import cut

_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)
_CONSTANTS = (bool, int, float, type(None))
_MADE = ("__main__", "types")
"""Modules of what the user's code defines; the second is given to classes that `make_dataclass` makes."""
_LONGEST = 160
_LONGEST_DOC = 100
_own = type.__dict__["__dict__"].__get__
_bases = type.__dict__["__mro__"].__get__
_qualname = type.__dict__["__qualname__"].__get__
_module = type.__dict__["__module__"].__get__


def line_on(path: str, value: Any) -> str:
    """What the path leads to: a signature and the first line of its documentation, or a type."""
    value = function_in(value)
    if issubclass(type(value), ModuleType):
        return f"{path}: module"
    if not is_callable(value):
        return f"{path}: {'property' if _computes(value) else type_path(value)}"
    documentation = _documentation(value)
    return f"{path}{signature(value)}" + (f": {documentation}" if documentation else "")


def function_in(value: Any) -> Any:
    """The plain function within a method or a decorated one; else the value."""
    if type(value) in (staticmethod, classmethod, MethodType):
        return value.__func__
    if is_callable(value):
        return value
    with suppress(AttributeError):
        wrapped = inspect.getattr_static(value, "__wrapped__")
        return wrapped if type(wrapped) is FunctionType else value
    return value


def is_callable(value: Any) -> bool:
    """Whether it is a function or a class, of which a signature can be told."""
    return type(value) in _FUNCTIONS or issubclass(type(value), type)


def signature(value: Any) -> str:
    """Its parameters without annotations, and without `self`; `(...)` where they are not known."""
    try:
        parameters = list(inspect.signature(_plain(value)).parameters.values())
    except (ValueError, TypeError, AttributeError):
        return "(...)"
    if parameters and parameters[0].name in ("self", "cls"):
        del parameters[0]
    shown = [_bare(parameter, data=_home(value) in _MADE) for parameter in parameters]
    return cut(str(inspect.Signature(shown)), _LONGEST)


def path_of(value: Any) -> str:
    """Import path of a function or class, the shortest under which it is found."""
    module, name = _home(value), _name(value)
    if module in ("builtins", "__main__", ""):
        return name
    head, parts = name.partition(".")[0], module.split(".")
    own = _held(sys.modules.get(module), head)
    for end in range(1, len(parts)):
        if own is not None and _held(sys.modules.get(".".join(parts[:end])), head) is own:
            return ".".join([*parts[:end], name])
    return f"{module}.{name}"


class _Written:
    """A default as it is to be written."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _bare(parameter: inspect.Parameter, *, data: bool) -> inspect.Parameter:
    """Without its annotation. `data`: its default may hold some, unless it is None or a truth value."""
    default = parameter.default
    if default is parameter.empty:
        return parameter.replace(annotation=parameter.empty)
    constant = type(default) in _CONSTANTS or (type(default) is str and len(default) <= 30)
    told = constant and (not data or type(default) in (bool, type(None)))
    return parameter.replace(annotation=parameter.empty, default=_Written(repr(default) if told else "..."))


def _plain(value: Any) -> Any:
    """What is inspected: of a class its `__init__` or `__new__` if that is a function, so that no property is asked."""
    if not issubclass(type(value), type):
        return value
    for cls in _bases(value):
        for name in ("__init__", "__new__"):
            found = _own(cls).get(name)
            found = found.__func__ if type(found) is staticmethod else found
            if type(found) is FunctionType:
                return found if name == "__init__" else _without_first(found)
    return value


def _without_first(function: FunctionType) -> Any:
    """A `__new__` as it is called; its first parameter has many names."""
    return MethodType(function, object)


def _computes(value: Any) -> bool:
    """Whether it is a descriptor, so that an attribute is not this value but what it makes."""
    return any("__get__" in _own(cls) for cls in _bases(type(value)))


def _home(value: Any) -> str:
    module = _module(value) if issubclass(type(value), type) else getattr(value, "__module__", "")
    return module if isinstance(module, str) else ""


def _name(value: Any) -> str:
    return str(_qualname(value) if issubclass(type(value), type) else value.__qualname__)


def _held(module: Any, name: str) -> Any:
    return module.__dict__.get(name) if type(module) is ModuleType else None


def _documentation(value: Any) -> str:
    """Its first line; none of what dataclasses write there by themselves, which holds values of defaults."""
    is_class = issubclass(type(value), type)
    found = _own(value).get("__doc__") if is_class else value.__doc__
    text = found.strip() if isinstance(found, str) else ""
    made = is_class and text.startswith(f"{_name(value).rpartition('.')[2]}(")
    lines = [] if made else text.splitlines()
    return cut(lines[0], _LONGEST_DOC) if lines else ""
