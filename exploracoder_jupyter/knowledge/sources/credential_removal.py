"""Taking what looks like a credential out of code and text before they are kept or passed on."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping

from exploracoder_jupyter.kernel_agent.forking.secret_variables import secretive

Clean = Callable[[str], str]
"""Takes the secrets of the run, and what has the shape of a key, out of a text."""

_INSTEAD = "[redacted]"
_SHORTEST = 8
"""Shorter values are replaced only where they are written as the literal: they could be part of ordinary words."""
_FILE = re.compile(r"(^|[^a-z])(secrets?|credentials?|passwords?|passwd|private_?keys?|api_?keys?)([^a-z]|$)", re.I)
_NOT_PYTHON = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)
_PAIR = re.compile(
    r"""(?<![\w-])(?P<name>[\w-]+)["']?\]?(?:[ \t]*:[ \t]*\w+)?[ \t]*[=:][ \t]*"""
    r"""(?=(?P<written>(?P<quote>["'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])+)(?P=quote)))"""
)
"""`name = "literal"`, `name: str = "literal"`, `"name": "literal"`, `settings["name"] = "literal"`, nested too."""


def cleaned(text: str, clean: Clean, literals: Mapping[str, str]) -> str:
    """The text without these literals and without what `clean` takes out, encodable as UTF-8."""
    for written, value in literals.items():
        text = text.replace(written, f'"{_INSTEAD}"' if written.endswith(("'", '"')) else _INSTEAD)
        if len(value) >= _SHORTEST:
            text = text.replace(value, _INSTEAD)
    return clean(text).encode("utf-8", "replace").decode()


def secret_literals(code: str) -> dict[str, str]:
    """Literals of Python code that look like credentials, by their name or their own marks: as written, and their
    value. Magics and shell commands may be among the code; in other text, pairs of a name and a literal are looked at.
    """
    tree = parsed(code)
    if tree:
        return _in_tree(tree, code)
    tree = parsed(_NOT_PYTHON.sub(r"\1pass", code))
    return _in_pairs(code) | (_in_tree(tree, code) if tree else {})


def _in_tree(tree: ast.Module, code: str) -> dict[str, str]:
    found = {
        ast.get_source_segment(code, node) or "": _text(node.value)
        for near in ast.walk(tree)
        for name, node in _named(near)
        if isinstance(node, ast.Constant) and secretive({name.lstrip("_"): node.value})
    }
    return {written: value for written, value in found.items() if written}


def _in_pairs(text: str) -> dict[str, str]:
    return {
        match["written"]: match["value"]
        for match in _PAIR.finditer(text)
        if secretive({match["name"].lstrip("_"): match["value"]})
    }


def is_named_secret(stem: str) -> bool:
    """Whether a file of this name is taken for one that holds credentials."""
    return bool(_FILE.search(stem))


def parsed(code: str) -> ast.Module | None:
    """The syntax tree of the code, if it is Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in code that is only looked at
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _named(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The values that the node gives a name, and a literal by itself under none."""
    if isinstance(node, ast.Assign):
        yield from ((_name(target), node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign) and node.value:
        yield _name(node.target), node.value
    elif isinstance(node, ast.keyword):
        yield node.arg or "", node.value
    elif isinstance(node, ast.Dict):
        yield from ((_name(key), value) for key, value in zip(node.keys, node.values, strict=True) if key)
    elif isinstance(node, ast.Constant):
        yield "", node


def _name(node: ast.expr) -> str:
    """`key` of `key`, `settings.key`, `settings["key"]` and of the literal `"key"`."""
    if isinstance(node, ast.Subscript):
        return _name(node.slice)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return node.id if isinstance(node, ast.Name) else ""


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
