"""The parameters and the type of the result of an API, from its signature and what its documentation says of them."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc

Kind = Literal["positional", "keyword", "varargs", "varkeywords"]


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


@lru_cache(maxsize=4096)
def parse_parameters(api: ApiDoc) -> tuple[Parameter, ...]:
    """Return the parameters without `self` and `cls`; empty if the signature is unknown."""
    arguments = _parse_signature(api.signature)
    if arguments is None:
        return ()
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    rows: list[tuple[ast.arg, Kind, ast.expr | None]] = [
        (arg, "positional", default) for arg, default in zip(positional, defaults, strict=True)
    ]
    rows.extend((arg, "varargs", None) for arg in [arguments.vararg] if arg)
    rows.extend((arg, "keyword", value) for arg, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    rows.extend((arg, "varkeywords", None) for arg in [arguments.kwarg] if arg)
    documented = {item.name.strip("*"): (item.type, item.about) for item in api.parameters}
    found = []
    for arg, kind, default in rows:
        type_, text = documented.get(arg.arg, ("", ""))
        type_ = type_ or (ast.unparse(arg.annotation) if arg.annotation else "")
        required = default is None and kind in ("positional", "keyword")
        found.append(Parameter(arg.arg, kind, required, ast.unparse(default) if default else "", type_.lower(), text))
    return tuple(found[1:] if found and found[0].name in ("self", "cls") else found)


def return_type(api: ApiDoc) -> str:
    """Return the type of the result, or the class itself; empty if it is unknown, or one of several."""
    if api.kind == "class":
        return api.path
    annotation = api.signature.rpartition("->")[2] if "->" in api.signature else api.returns.partition(". ")[0]
    type_ = annotation.rpartition(": ")[2].strip("'\" ")
    return type_ if re.fullmatch(r"[\w.\[\], ]+", type_) and " or " not in type_ and len(type_.split()) <= 3 else ""


def _parse_signature(signature: str) -> ast.arguments | None:
    """Parse a signature; one with brackets around optional parts, as in `(start[, stop])`, for its names only."""
    text = re.sub(r"<[^<>]*>", "None", signature.strip())
    head, _, optional = text.partition("[")
    names = [f", {name}=None" for name in re.findall(r"[A-Za-z_]\w*", optional) if name != "None"]
    for attempt in (text, text.partition("->")[0], f"{head}{''.join(names)})"):
        for node in parse_python(f"def f{attempt}: pass").body:
            return node.args if isinstance(node, ast.FunctionDef) else None
    return None
