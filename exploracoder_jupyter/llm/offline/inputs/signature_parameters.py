"""Parses the parameters of an API from its signature, with types and descriptions as its documentation gives them."""

from __future__ import annotations

import ast
import doctest
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.llm.offline.inputs.code_names import called_names
from exploracoder_jupyter.text.python_code import parse_python

Kind = Literal["positional", "keyword", "varargs", "varkeywords"]
_MUTATOR_NAME = re.compile(
    r"(?:add|append|insert|update|remove|discard|extend|push|set|put|clear|sort|reverse|register|del)(?:_|$)"
)
_ROLE = re.compile(r":r?type:\s*:(?:py:)?class:`~?([\w.]+)`")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a call, excluding the receiver."""

    name: str
    kind: Kind
    required: bool
    default: str = ""
    type: str = ""
    """Annotation or documented type, in lower case; empty if unknown."""
    text: str = ""
    """Its description in the documentation."""


@lru_cache(maxsize=4096)
def parse_parameters(api: ApiDoc) -> tuple[Parameter, ...]:
    """Return the parameters without `self` and `cls`; empty if the signature is unknown."""
    arguments = _parse_signature(api.signature)
    if arguments is None:
        return ()
    names = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [*[None] * (len(names) - len(arguments.defaults)), *arguments.defaults]
    parameters = [
        _make_parameter(arg, "positional", default, api) for arg, default in zip(names, defaults, strict=True)
    ]
    if arguments.vararg:
        parameters.append(_make_parameter(arguments.vararg, "varargs", None, api))
    for arg, kw_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(_make_parameter(arg, "keyword", kw_default, api))
    if arguments.kwarg:
        parameters.append(_make_parameter(arguments.kwarg, "varkeywords", None, api))
    return tuple(p for i, p in enumerate(parameters) if not (i == 0 and p.name in ("self", "cls")))


def return_type(api: ApiDoc) -> str:
    """Return the documented type of the result; empty if unknown, for alternatives, and for prose."""
    if api.kind == "class":
        return api.path
    annotation = api.signature.rpartition("->")[2].strip("'\" ") if "->" in api.signature else ""
    role = _ROLE.search(api.description)
    type_ = annotation or api.returns.partition(". ")[0] or (role.group(1) if role else "")
    return type_ if re.fullmatch(r"[\w.\[\], ]+", type_) and " or " not in type_ and len(type_.split()) <= 3 else ""


@lru_cache(maxsize=4096)
def mutates(api: ApiDoc) -> bool:
    """Return whether a method changes its object and returns nothing, according to its documentation."""
    if re.search(r"->\s*None\b", api.signature):
        return True
    outputs = _doctest_outputs(api)
    calls = [output for code, output in outputs if api.name in called_names(parse_python(code))]
    if calls and any(output for _, output in outputs):
        return not any(calls)
    documents_return = re.search(r"\breturns?\b|->", f"{api.signature} {api.description}", re.IGNORECASE)
    return not documents_return and bool(_MUTATOR_NAME.match(api.name))


def _doctest_outputs(api: ApiDoc) -> list[tuple[str, str]]:
    """Return the expressions of the API's doctests, with their outputs."""
    try:
        examples = doctest.DocTestParser().get_examples(api.description) if ">>>" in api.description else []
    except ValueError:
        return []
    return [
        (example.source, example.want.strip())
        for example in examples
        if any(isinstance(node, ast.Expr) for node in parse_python(example.source).body)
    ]


def _make_parameter(arg: ast.arg, kind: Kind, default: ast.expr | None, api: ApiDoc) -> Parameter:
    documented = next((item for item in api.parameters if item.name.lstrip("*") == arg.arg), None)
    annotation = ast.unparse(arg.annotation) if arg.annotation else ""
    type_ = ((documented.type if documented else "") or annotation).lower()
    required = default is None and kind in ("positional", "keyword")
    text = documented.about if documented else ""
    return Parameter(arg.arg, kind, required, ast.unparse(default) if default else "", type_, text)


def _parse_signature(signature: str) -> ast.arguments | None:
    text = re.sub(r"<[^<>]*>", "None", signature.strip())
    for attempt in (text, text.partition("->")[0].strip(), _names_only(text)):
        try:
            definition = ast.parse(f"def f{attempt}: pass").body[0]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(definition, ast.FunctionDef):
            return definition.args
    return None


def _names_only(signature: str) -> str:
    """Return names only, for signatures with brackets around optional parts, as in `(start[, stop[, step]])`."""
    inner = signature.partition("->")[0].strip().removeprefix("(").removesuffix(")")
    required_part, _, optional_part = inner.partition("[")
    required_names = [name.strip() for name in required_part.split(",") if name.strip().isidentifier()]
    optional_names = re.findall(r"[A-Za-z_]\w*(?=\s*(?:[,\[\]=]|$))", optional_part)
    return f"({', '.join([*required_names, *(f'{name}=None' for name in optional_names if name != 'None')])})"
