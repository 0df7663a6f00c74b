"""Parameters of an API: from its signature text, with types and texts from its docstring.

Docstrings in numpydoc, Google and Sphinx form are read by griffe; what it cannot read stays empty.
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
    """One parameter of a call, the receiver left out."""

    name: str
    kind: Kind
    required: bool
    default: str = ""
    type: str = ""
    """Annotation or documented type, in lower case; empty when unknown."""
    text: str = ""
    """What the documentation says of it."""


@lru_cache(maxsize=4096)
def parameters(api: ApiDoc) -> tuple[Parameter, ...]:
    """The parameters, `self` and `cls` left out; empty when the signature is unknown."""
    arguments = _parsed(api.signature)
    if arguments is None:
        return ()
    documented = _documented(api.description)
    names = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [*[None] * (len(names) - len(arguments.defaults)), *arguments.defaults]
    found = [_parameter(arg, "positional", default, documented) for arg, default in zip(names, defaults, strict=True)]
    if arguments.vararg:
        found.append(_parameter(arguments.vararg, "varargs", None, documented))
    for arg, kw_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(_parameter(arg, "keyword", kw_default, documented))
    if arguments.kwarg:
        found.append(_parameter(arguments.kwarg, "varkeywords", None, documented))
    return tuple(p for i, p in enumerate(found) if not (i == 0 and p.name in ("self", "cls")))


@lru_cache(maxsize=4096)
def returns(api: ApiDoc) -> str:
    """The documented type of the result, in lower case unless it names a class; empty when unknown."""
    if api.kind == "class":
        return api.path
    arrow = api.signature.rpartition("->")[2].strip() if "->" in api.signature else ""
    if arrow:
        return _single(arrow.strip("'\" "))
    for section in _sections(api.description):
        if section.kind is DocstringSectionKind.returns and section.value:
            first = section.value[0]
            return _single(str(first.annotation or first.name or ""))
    return ""


def _single(type_: str) -> str:
    """A type that stands alone; empty for alternatives and for prose."""
    return type_ if re.fullmatch(r"[\w.\[\], ]+", type_) and " or " not in type_ and len(type_.split()) <= 3 else ""


def _parameter(arg: ast.arg, kind: Kind, default: ast.expr | None, documented: dict[str, tuple[str, str]]) -> Parameter:
    type_, text = documented.get(arg.arg, ("", ""))
    annotation = ast.unparse(arg.annotation) if arg.annotation else ""
    required = default is None and kind in ("positional", "keyword")
    return Parameter(
        arg.arg, kind, required, ast.unparse(default) if default else "", (type_ or annotation).lower(), text
    )


def _parsed(signature: str) -> ast.arguments | None:
    text = re.sub(r"<[^<>]*>", "None", signature.strip())
    for attempt in (text, text.partition("->")[0].strip(), _bare(text)):
        try:
            definition = ast.parse(f"def f{attempt}: pass").body[0]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if isinstance(definition, ast.FunctionDef):
            return definition.args
    return None


def _bare(signature: str) -> str:
    """Names only, in order: for signatures with brackets around optional parts, as in `(start[, stop[, step]])`."""
    inner = signature.partition("->")[0].strip().removeprefix("(").removesuffix(")")
    must, _, optional = inner.partition("[")
    first = [name.strip() for name in must.split(",") if name.strip().isidentifier()]
    rest = re.findall(r"[A-Za-z_]\w*(?=\s*(?:[,\[\]=]|$))", optional)
    return f"({', '.join([*first, *(f'{name}=None' for name in rest if name != 'None')])})"


def _documented(description: str) -> dict[str, tuple[str, str]]:
    """Type and text by parameter name."""
    found: dict[str, tuple[str, str]] = {}
    for section in _sections(description):
        if section.kind in (DocstringSectionKind.parameters, DocstringSectionKind.other_parameters):
            for item in section.value:
                if isinstance(item, DocstringParameter):
                    for name in item.name.replace("*", "").split(","):
                        found[name.strip()] = (str(item.annotation or ""), item.description)
    return found


@lru_cache(maxsize=4096)
def _sections(description: str) -> tuple:  # type: ignore[type-arg]
    if not description:
        return ()
    try:
        return tuple(Docstring(description).parse("auto"))
    except Exception:  # other people's docstrings: whatever is wrong with one, it is merely unknown
        return ()
