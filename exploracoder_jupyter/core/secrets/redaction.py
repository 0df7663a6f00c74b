"""Removes from text and code what is known as a secret, or looks like one."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

from exploracoder_jupyter.core.python_code import parse_valid_python
from exploracoder_jupyter.core.secrets.secret_names import is_credential
from exploracoder_jupyter.core.secrets.secret_patterns import REDACTED, redact_patterns

# Redacts what looks like a credential in code and text before it is stored or passed on.

Clean = Callable[[str], str]
"""Removes the run's secrets, and anything shaped like a key, from a text."""

_MIN_VALUE_CHARS = 8
"""Shorter values are replaced only where the literal itself occurs: they could be part of ordinary words."""
_NOT_PYTHON = re.compile(r"^([ \t]*)[%!].*$", re.MULTILINE)
_PAIR = re.compile(
    r"""(?<![\w-])(?P<name>[\w-]+)["']?\]?(?:[ \t]*:[ \t]*\w+)?[ \t]*[=:][ \t]*"""
    r"""(?=(?P<written>(?P<quote>["'])(?P<value>(?:\\.|(?!(?P=quote))[^\\\n])+)(?P=quote)))"""
)
"""`name = "literal"`, `name: str = "literal"`, `"name": "literal"`, `settings["name"] = "literal"`, also nested."""


def redact(text: str, clean: Clean, literals: Mapping[str, str]) -> str:
    """Return the text without these literals and without what `clean` removes, encodable as UTF-8."""
    for written, value in literals.items():
        text = text.replace(written, f'"{REDACTED}"' if written.endswith(("'", '"')) else REDACTED)
        if len(value) >= _MIN_VALUE_CHARS:
            text = text.replace(value, REDACTED)
    return clean(text).encode("utf-8", "replace").decode()


def find_secret_literals(code: str) -> dict[str, str]:
    """Find the literals in Python code that look like credentials, judged by their name or their own shape.

    Returns each literal as written, with its value. The code may contain magics and shell commands; in other text,
    pairs of a name and a literal are checked.
    """
    tree = parse_valid_python(code)
    if tree:
        return _find_in_tree(tree, code)
    tree = parse_valid_python(_NOT_PYTHON.sub(r"\1pass", code))
    return _find_pairs(code) | (_find_in_tree(tree, code) if tree else {})


def _find_in_tree(tree: ast.Module, code: str) -> dict[str, str]:
    found = {
        ast.get_source_segment(code, node) or "": text
        for near in ast.walk(tree)
        for name, node in _named_values(near)
        if (text := _text(node)) is not None and is_credential(name, text)
    }
    return {written: value for written, value in found.items() if written}


def _find_pairs(text: str) -> dict[str, str]:
    return {
        match["written"]: match["value"]
        for match in _PAIR.finditer(text)
        if is_credential(match["name"], match["value"])
    }


def _named_values(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield each value with the name that the node gives it, and a bare literal with an empty name."""
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
    """Return `key` for `key`, `settings.key`, `settings["key"]` and the literal `"key"`."""
    if isinstance(node, ast.Subscript):
        return _name(node.slice)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.expr) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else None


# Removes secrets from text: those that are known by their value, and everything that has the format of one.

_MIN_LENGTH: Final = 6
"""Shorter secrets (`x`, `EMPTY`: placeholders for local servers) would be replaced in ordinary text."""


class SecretRedactor:
    """Replaces secrets by `[redacted]`. Idempotent.

    Args:
        secrets: strings that must not occur in a redacted text, also in the forms in which code, JSON and URLs write
            them.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._known = known_forms(secret for secret in secrets if len(secret) >= _MIN_LENGTH)

    def redact(self, text: str) -> str:
        """Redact a text and make it encodable as UTF-8."""
        text = _encodable(text)
        for secret in self._known:
            text = text.replace(secret, REDACTED)
        return redact_patterns(text)


def known_forms(secrets: Iterable[str]) -> list[str]:
    """Return the secrets and their escaped forms in code, JSON and URLs, longest first."""
    return sorted({form for secret in secrets for form in _escaped_forms(_encodable(secret))}, key=len, reverse=True)


def _escaped_forms(secret: str) -> set[str]:
    strings = (repr(secret), json.dumps(secret), json.dumps(secret, ensure_ascii=False))
    return {secret, quote(secret, safe=""), *(string[1:-1] for string in strings)}


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
