"""Parses the parameters of an API from its signature, with types and descriptions from its docstring.

griffe parses docstrings in numpydoc, Google and Sphinx style; what it cannot parse stays empty.
"""

from __future__ import annotations

import ast
import logging
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from griffe import Docstring, DocstringParameter, DocstringSectionKind

from exploracoder_jupyter.core.types import ApiDoc

Kind = Literal["positional", "keyword", "varargs", "varkeywords"]

logging.getLogger("griffe").setLevel(logging.CRITICAL)


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
    documented = _documented_parameters(api.description)
    names = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [*[None] * (len(names) - len(arguments.defaults)), *arguments.defaults]
    parameters = [
        _make_parameter(arg, "positional", default, documented) for arg, default in zip(names, defaults, strict=True)
    ]
    if arguments.vararg:
        parameters.append(_make_parameter(arguments.vararg, "varargs", None, documented))
    for arg, kw_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parameters.append(_make_parameter(arg, "keyword", kw_default, documented))
    if arguments.kwarg:
        parameters.append(_make_parameter(arguments.kwarg, "varkeywords", None, documented))
    return tuple(p for i, p in enumerate(parameters) if not (i == 0 and p.name in ("self", "cls")))


@lru_cache(maxsize=4096)
def return_type(api: ApiDoc) -> str:
    """Return the documented type of the result, in lower case unless it names a class; empty if unknown."""
    if api.kind == "class":
        return api.path
    annotation = api.signature.rpartition("->")[2].strip() if "->" in api.signature else ""
    if annotation:
        return _single_type(annotation.strip("'\" "))
    for section in _docstring_sections(api.description):
        if section.kind is DocstringSectionKind.returns and section.value:
            first = section.value[0]
            return _single_type(str(first.annotation or first.name or ""))
    return ""


def _single_type(type_: str) -> str:
    """Return a type that stands alone; empty for alternatives and for prose."""
    return type_ if re.fullmatch(r"[\w.\[\], ]+", type_) and " or " not in type_ and len(type_.split()) <= 3 else ""


def _make_parameter(
    arg: ast.arg, kind: Kind, default: ast.expr | None, documented: dict[str, tuple[str, str]]
) -> Parameter:
    type_, text = documented.get(arg.arg, ("", ""))
    annotation = ast.unparse(arg.annotation) if arg.annotation else ""
    required = default is None and kind in ("positional", "keyword")
    return Parameter(
        arg.arg, kind, required, ast.unparse(default) if default else "", (type_ or annotation).lower(), text
    )


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


def _documented_parameters(description: str) -> dict[str, tuple[str, str]]:
    """Return type and description by parameter name."""
    parameters: dict[str, tuple[str, str]] = {}
    for section in _docstring_sections(description):
        if section.kind in (DocstringSectionKind.parameters, DocstringSectionKind.other_parameters):
            for item in section.value:
                if isinstance(item, DocstringParameter):
                    for name in item.name.replace("*", "").split(","):
                        parameters[name.strip()] = (str(item.annotation or ""), item.description)
    return parameters


@lru_cache(maxsize=4096)
def _docstring_sections(description: str) -> tuple:  # type: ignore[type-arg]
    if not description:
        return ()
    try:
        return tuple(Docstring(description).parse("auto"))
    except Exception:  # third-party docstrings: if one cannot be parsed, its types stay unknown
        return ()
