"""Parameters of an API, from all that is known of them: the code, a written signature, the docstring."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from exploracoder_jupyter.core.types import Parameter

Told = Sequence[tuple[str, str, str]]
"""Name with its stars, type, default: as a walker tells parameters."""


def parameters(told: Told, signature: str, said: Sequence[Parameter]) -> tuple[Parameter, ...]:
    """The parameters in the order of the call, each with what the docstring says of it.

    `told` is what the code says; without it the signature's text is read. What only the docstring names comes last: it
    goes into `**kwargs`, or nothing else is known of the call.
    """
    called = [Parameter(*one) for one in told] or written(signature)
    about = {name: one for one in said for name in [one.name.lstrip("*")]}
    merged = [_with(one, about.pop(one.name.lstrip("*"), None)) for one in called]
    open_ended = not called or any(one.name.startswith("**") for one in called)
    return (*merged, *(about.values() if open_ended else ()))


def returns(told: str, said: str) -> str:
    """The type of the result with what the docstring says of it; the docstring's own type is often the better one."""
    if not told or not said or said.startswith(told):
        return said or told
    return f"{told}. {said}"


def written(signature: str) -> list[Parameter]:
    """The parameters of a signature that is text: read as Python where it is Python, else by its commas."""
    inner = _inner(signature)
    for text in (inner, re.sub(r"[\[\]]", "", inner)):
        try:
            tree = ast.parse(f"def f({text}): ...").body[0]
        except (SyntaxError, ValueError):
            continue
        return list(_parsed(tree.args)) if isinstance(tree, ast.FunctionDef) else []
    parts = (part.strip().partition("=") for part in re.split(r",(?![^(\[{]*[)\]}])", re.sub(r"[\[\]]", "", inner)))
    return [
        Parameter(name.split()[-1], "", default.strip()) for name, _, default in parts if re.search(r"\w\s*$", name)
    ]


def _inner(signature: str) -> str:
    """What stands between the outer parentheses."""
    depth = 0
    for at, sign in enumerate(signature):
        depth += (sign in "([{") - (sign in ")]}")
        if not depth:
            return signature[1:at]
    return signature[1:]


def _with(one: Parameter, said: Parameter | None) -> Parameter:
    if said is None:
        return one
    return replace(one, type=said.type or one.type, about=said.about)


def _parsed(args: ast.arguments) -> Iterator[Parameter]:
    places = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(places) - len(args.defaults)), *args.defaults]
    yield from (_parameter(place, "", default) for place, default in zip(places, defaults, strict=True))
    if args.vararg:
        yield _parameter(args.vararg, "*", None)
    for place, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(place, "", default)
    if args.kwarg:
        yield _parameter(args.kwarg, "**", None)


def _parameter(place: ast.arg, stars: str, default: ast.expr | None) -> Parameter:
    kind = ast.unparse(place.annotation) if place.annotation else ""
    return Parameter(stars + place.arg, kind, ast.unparse(default) if default else "")
