"""Merges what the code, a written signature and the docstring say about an API's parameters and result."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import Parameter

ParameterRow = Sequence[tuple[str, str, str]]
"""Name with its stars, type and default of each parameter, as the API walker prints them."""


def merge_parameters(rows: ParameterRow, signature: str, documented: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """Return the parameters in call order, each with its description from the docstring.

    `rows` come from the code; if there are none, the text of `signature` is parsed instead. Parameters that only the
    docstring mentions come last. They are included only if the call accepts `**kwargs` or its parameters are unknown.
    """
    called = [Parameter(*row) for row in rows] or parse_signature(signature)
    about = {one.name.lstrip("*"): one for one in documented}
    merged = []
    for one in called:
        more = about.pop(one.name.lstrip("*"), None)
        merged.append(replace(one, type=more.type or one.type, about=more.about) if more else one)
    open_ended = not called or any(one.name.startswith("**") for one in called)
    return (*merged, *(about.values() if open_ended else ()))


def merge_returns(type_: str, documented: str) -> str:
    """Combine the result's type from the code with its description in the docstring.

    If the docstring starts with the type, it is returned as it is: its own type is often the better one.
    """
    if not type_ or not documented or documented.startswith(type_):
        return documented or type_
    return f"{type_}. {documented}"


def parse_signature(signature: str) -> list[Parameter]:
    """Parse the parameters of a signature given as text: as Python if possible, otherwise by splitting at commas."""
    inner = _inside_parentheses(signature)
    for text in (inner, re.sub(r"[\[\]]", "", inner)):
        for node in parse_python(f"def f({text}): ...").body:
            return list(_from_arguments(node.args)) if isinstance(node, ast.FunctionDef) else []
    parts = (part.strip().partition("=") for part in re.split(r",(?![^(\[{]*[)\]}])", re.sub(r"[\[\]]", "", inner)))
    return [
        Parameter(name.split()[-1], "", default.strip()) for name, _, default in parts if re.search(r"\w\s*$", name)
    ]


def _inside_parentheses(signature: str) -> str:
    depth = 0
    for at, sign in enumerate(signature):
        depth += (sign in "([{") - (sign in ")]}")
        if not depth:
            return signature[1:at]
    return signature[1:]


def _from_arguments(args: ast.arguments) -> Iterator[Parameter]:
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(args.defaults)), *args.defaults]
    yield from (_parameter(argument, "", default) for argument, default in zip(positional, defaults, strict=True))
    if args.vararg:
        yield _parameter(args.vararg, "*", None)
    for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(argument, "", default)
    if args.kwarg:
        yield _parameter(args.kwarg, "**", None)


def _parameter(argument: ast.arg, stars: str, default: ast.expr | None) -> Parameter:
    kind = ast.unparse(argument.annotation) if argument.annotation else ""
    return Parameter(stars + argument.arg, kind, ast.unparse(default) if default else "")
