"""Finds the values in a failing expression without running any of their code."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, FrameType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.failing_frames import UserFrame
from exploracoder_jupyter.kernel_agent.reporting.notebook_names import type_path
from exploracoder_jupyter.kernel_agent.summaries import forked_probe
from exploracoder_jupyter.kernel_agent.summaries.short_values import ShortFormatter

MISSING: Any = object()
"""Result where there is no value."""

_MAX_VALUES = 6
_MAX_CHARACTERS = 160
_CONTAINER_TYPES = (dict, list, tuple)
_KEY_TYPES = (str, int, bool, bytes, type(None))
_CODE_TYPES = (ModuleType, FunctionType, BuiltinFunctionType, MethodType, type)


def values_in_expression(user_frame: UserFrame) -> list[tuple[str, Any]]:
    """Return the names, attributes and items in the expression with their values: at most six, no functions."""
    found: dict[str, Any] = {}
    for node in failing_nodes(user_frame):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            value = resolve(node, user_frame.frame)
            if value is not MISSING and not issubclass(type(value), _CODE_TYPES):
                found.setdefault(ast.unparse(node), value)
    return list(found.items())[:_MAX_VALUES]


def describe_values(values: Sequence[Any]) -> dict[int, str]:
    """Describe each value in a few words, keyed by `id`. Unsafe code runs in a separate process."""
    by_id = {id(value): value for value in values}

    def send_description(value: Any, send: forked_probe.Send) -> None:
        send(ShortFormatter(apart=True, letters=_MAX_CHARACTERS)(value))

    results = forked_probe.run([partial(send_description, value) for value in by_id.values()])
    describe = ShortFormatter(apart=False, letters=_MAX_CHARACTERS)
    texts = {}
    for (key, value), result in zip(by_id.items(), results, strict=True):
        kind, text = type_path(value), result.pieces[0] if result.pieces else describe(value)
        texts[key] = text if text.startswith(kind) else f"{kind} {text}"
    return texts


def failing_nodes(user_frame: UserFrame) -> Iterator[ast.AST]:
    """Yield the nodes of the failing expression, outermost first, or those of its line if it cannot be parsed alone.

    If unpacking in an assignment failed, these are the nodes of the assigned value.
    """
    expression = _parse_first(f"({user_frame.expression}\n)", user_frame.expression)
    line = _parse_first(user_frame.line, f"{user_frame.line} pass")
    match line:
        case ast.Assign(targets=[target], value=value) | ast.For(target=target, iter=value) if expression:
            if ast.unparse(target) == ast.unparse(expression):
                expression = value
    node = expression or line
    return ast.walk(node) if node else iter(())


def _parse_first(*sources: str) -> ast.AST | None:
    for source in sources:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            if body := ast.parse(source).body:
                return body[0]
    return None


def resolve(node: ast.AST, frame: FrameType) -> Any:
    """Return the value of a name, attribute or item in this frame, or `MISSING` if unknown."""
    match node:
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name, MISSING))
        case ast.Attribute(value=owner, attr=name):
            owner_value = resolve(owner, frame)
            return MISSING if owner_value is MISSING else _stored_attribute(owner_value, name)
        case ast.Subscript(value=owner, slice=index):
            owner_value = resolve(owner, frame)
            key = index.value if isinstance(index, ast.Constant) else resolve(index, frame)
            if type(owner_value) in _CONTAINER_TYPES and type(key) in _KEY_TYPES:
                with suppress(KeyError, IndexError, TypeError):
                    return owner_value[key]
    return MISSING


def _stored_attribute(owner: Any, name: str) -> Any:
    """Return an attribute as stored in the instance or class, without running descriptors or `__getattr__`."""
    try:
        found = inspect.getattr_static(owner, name)
    except AttributeError:
        return MISSING
    if type(found) is MemberDescriptorType:
        with suppress(AttributeError):
            return found.__get__(owner)
        return MISSING
    if issubclass(type(found), (staticmethod, classmethod)):
        return found.__func__
    return MISSING if type(found) is property else found
