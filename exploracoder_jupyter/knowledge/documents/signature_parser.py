"""Parses signatures as written in documents: `def f(x: int) -> str`, `mylib.Client(host, port=80)`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc, ApiKind

_MAX_SIGNATURE_CHARS = 1_000
_MAX_DESCRIPTION_CHARS = 20_000
_DECLARED = re.compile(
    r"(?P<mark>(?:(?:async|abstract|static|final)\s+)*(?:def|class|function|method|staticmethod|classmethod|property"
    r"|exception|attribute|data)\s+)?(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*(?P<rest>.*)",
    re.DOTALL,
)
_KIND_KEYWORDS: dict[str, ApiKind] = {
    "class": "class",
    "exception": "class",
    "method": "method",
    "staticmethod": "method",
    "classmethod": "method",
    "property": "property",
    "attribute": "property",
    "data": "constant",
}
DIRECTIVE_KINDS: dict[str, ApiKind] = {"function": "function", "decorator": "function", **_KIND_KEYWORDS}
"""Maps the directives of Sphinx's Python domain to the kinds of API that they describe."""
_OPTIONAL = re.compile(r"\s*[\[\]]")
_PARAMETER = re.compile(r"\*{0,2}[A-Za-z_]\w*$|\*$|/$|\.\.\.$")


@dataclass(frozen=True, slots=True)
class Signature:
    """What one line declares."""

    name: str
    """As written, dotted or not."""
    kind: ApiKind
    signature: str
    """With parentheses and return type; empty for a property or if there is none."""
    sure: bool
    """Whether it cannot be a call, because of `def` or a similar keyword, or because it has types."""


def parse_declaration(text: str) -> Signature | None:
    """Return what a text declares, if it is exactly one signature."""
    line = " ".join(text.strip().rstrip(":").split())
    found = _DECLARED.fullmatch(line) if len(line) <= _MAX_SIGNATURE_CHARS else None
    if found is None:
        return None
    mark, name, rest = (found["mark"] or "").split(), found["name"], found["rest"].strip()
    if rest.startswith("("):
        arguments, result = _split_result(rest)
        if arguments is None or not _is_signature(arguments, result):
            return None
    elif rest or not mark:
        return None
    else:
        arguments, result = "", ""
    sure = bool(mark) or _is_typed(arguments, result)
    return Signature(name, kind_of(name, mark[-1] if mark else ""), f"{arguments}{result}", sure)


def kind_of(name: str, mark: str = "") -> ApiKind:
    """Return the kind of an API from the word before it, or else from its capitalization."""
    owner, _, last = name.rpartition(".")
    if mark in _KIND_KEYWORDS:
        return _KIND_KEYWORDS[mark]
    if _is_class(last):
        return "class"
    return "method" if _is_class(owner.rpartition(".")[2]) else "function"


def return_type(signature: str) -> str:
    """Return the type after the arrow."""
    return signature.rpartition(" -> ")[2] if " -> " in signature else ""


def parse_stubs(code: str, *, among_others: bool = False) -> list[ApiDoc]:
    """Return the functions and classes that a piece of code declares without a body.

    Unless `among_others` is set, the result is empty if the code contains anything else.
    """
    nodes = (node for node in parse_python(code).body if not isinstance(node, ast.Import | ast.ImportFrom))
    found = [_parse_stub(node, "", among_others=among_others) for node in nodes]
    return [api for apis in found for api in apis] if among_others or all(found) else []


def _parse_stub(node: ast.stmt, owner: str, *, among_others: bool) -> list[ApiDoc]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_empty(node.body):
        marks = {ast.unparse(mark) for mark in node.decorator_list}
        kind: ApiKind = "property" if "property" in marks else ("method" if owner else "function")
        result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        text = ast.unparse(node.args)
        text = re.sub(r"^(self|cls)(, /)?(, )?", "", text) if owner else text
        function = make_api(f"{owner}{node.name}", kind, f"({text}){result}", ast.get_docstring(node) or "")
        return [replace(function, signature="", returns=return_type(result)) if kind == "property" else function]
    if isinstance(node, ast.ClassDef):
        inner = [
            one for part in node.body for one in _parse_stub(part, f"{owner}{node.name}.", among_others=among_others)
        ]
        init = next((one for one in inner if one.name == "__init__"), None)
        if not inner and not _is_empty(node.body) and not among_others:
            return []
        own = make_api(f"{owner}{node.name}", "class", init.signature if init else "", ast.get_docstring(node) or "")
        return [own, *(one for one in inner if not one.name.startswith("_"))]
    return []


def make_api(
    path: str, kind: ApiKind, signature: str, description: str, *, library: str = "", place: str = ""
) -> ApiDoc:
    """Create an API as described by a document."""
    return ApiDoc(
        path, kind, signature, description.strip()[:_MAX_DESCRIPTION_CHARS], library=library, version="", origin=place
    )


def _is_empty(body: list[ast.stmt]) -> bool:
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body)


def _split_result(rest: str) -> tuple[str | None, str]:
    """Split arguments in parentheses from ` -> type`; None if the parentheses are unbalanced or more text follows."""
    depth = 0
    for at, letter in enumerate(rest):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            after = re.fullmatch(r"\s*(?:(?:->|→)\s*(\S.*))?", rest[at + 1 :])
            return (rest[: at + 1], f" -> {after[1]}" if after[1] else "") if after else (None, "")
    return None, ""


def _is_signature(arguments: str, result: str) -> bool:
    """Return whether these are parameters rather than argument values. Optional ones may be in brackets: `(a[, b])`."""
    if _parse_function(f"{arguments}{result}"):
        return True
    plain = _OPTIONAL.sub("", arguments[1:-1]) if not re.search(r"[\"'({]", arguments[1:-1]) else "'"
    parts = [part.partition("=")[0].partition(":")[0].strip() for part in plain.split(",")]
    return all(_PARAMETER.match(part) for part in parts)


def _is_typed(arguments: str, result: str) -> bool:
    node = _parse_function(f"{arguments}{result}")
    if node is None:
        return False
    args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return node.returns is not None or any(arg.annotation for arg in args)


def _parse_function(signature: str) -> ast.FunctionDef | None:
    body = parse_python(f"def _{signature}: ...").body if signature.startswith("(") else []
    return body[0] if body and isinstance(body[0], ast.FunctionDef) else None


def _is_class(name: str) -> bool:
    return name[:1].isupper() and any(letter.islower() for letter in name)
