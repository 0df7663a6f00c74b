"""The values in a failing expression, found without running any code of theirs."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, FrameType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.failing_frames import Place
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import forked_probe
from exploracoder_jupyter.kernel_agent.summaries.short_values import Short

NOTHING: Any = object()
"""What is found where there is nothing."""

_MOST = 6
_LETTERS = 160
_CONTAINERS = (dict, list, tuple)
_KEYS = (str, int, bool, bytes, type(None))
_CODE = (ModuleType, FunctionType, BuiltinFunctionType, MethodType, type)


def values_at(place: Place) -> list[tuple[str, Any]]:
    """Names, attributes and items in the expression, with their values; at most six, and no functions."""
    found: dict[str, Any] = {}
    for node in nodes_at(place):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            value = resolve(node, place.frame)
            if value is not NOTHING and not isinstance_exactly(value, _CODE):
                found.setdefault(ast.unparse(node), value)
    return list(found.items())[:_MOST]


def tell(values: Sequence[Any]) -> dict[int, str]:
    """Each value in a few words, by its `id`. What could do harm is run in a process of its own."""
    different = {id(value): value for value in values}
    said = forked_probe.run([partial(_say, value) for value in different.values()])
    here = Short(apart=False, letters=_LETTERS)
    texts = (one.pieces[0] if one.pieces else here(value) for one, value in zip(said, different.values(), strict=True))
    return {key: _with_type(value, text) for (key, value), text in zip(different.items(), texts, strict=True)}


def _say(value: Any, say: forked_probe.Say) -> None:
    say(Short(apart=True, letters=_LETTERS)(value))


def _with_type(value: Any, text: str) -> str:
    kind = type_path(value)
    return text if text.startswith(kind) else f"{kind} {text}"


def nodes_at(place: Place) -> Iterator[ast.AST]:
    """The parts of the failing expression, the outermost first; of its line where that cannot be read by itself.

    Where what is assigned could not be unpacked, it is the assigned value.
    """
    expression, line = _parsed(f"({place.expression}\n)", place.expression), _parsed(place.line, f"{place.line} pass")
    match line:
        case ast.Assign(targets=[target], value=value) | ast.For(target=target, iter=value) if expression:
            if ast.unparse(target) == ast.unparse(expression):
                expression = value
    node = expression or line
    return ast.walk(node) if node else iter(())


def _parsed(*sources: str) -> ast.AST | None:
    """The first statement of the first source that can be read."""
    for source in sources:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            if body := ast.parse(source).body:
                return body[0]
    return None


def resolve(node: ast.AST, frame: FrameType) -> Any:
    """What a name, an attribute of one or an item of one is in this frame; `NOTHING` where that is not known."""
    match node:
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name, NOTHING))
        case ast.Attribute(value=owner, attr=name):
            held = resolve(owner, frame)
            return NOTHING if held is NOTHING else attribute(held, name)
        case ast.Subscript(value=owner, slice=index):
            held, key = resolve(owner, frame), _key(index, frame)
            return _item(held, key)
        case _:
            return NOTHING


def attribute(owner: Any, name: str) -> Any:
    """An attribute as it is stored in the instance or its class, not what a descriptor or `__getattr__` makes of it."""
    try:
        found = inspect.getattr_static(owner, name)
    except AttributeError:
        return NOTHING
    if type(found) is MemberDescriptorType:
        with suppress(AttributeError):
            return found.__get__(owner)
        return NOTHING
    if isinstance_exactly(found, (staticmethod, classmethod)):
        return found.__func__
    return NOTHING if type(found) is property else found


def isinstance_exactly(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether it is an instance by its type; what it says of its class is not asked."""
    return any(issubclass(type(value), kind) for kind in kinds)


def _key(node: ast.AST, frame: FrameType) -> Any:
    key = node.value if isinstance(node, ast.Constant) else resolve(node, frame)
    return key if type(key) in _KEYS else NOTHING


def _item(owner: Any, key: Any) -> Any:
    if key is NOTHING or type(owner) not in _CONTAINERS:
        return NOTHING
    with suppress(KeyError, IndexError, TypeError):
        return owner[key]
    return NOTHING
