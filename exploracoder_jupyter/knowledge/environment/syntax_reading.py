"""Reads one file's syntax tree: its definitions, what it imports by which name, and what it declares public.

Nothing of the file runs. Signatures are rebuilt from the tree without annotations, which are long and seldom decide
whether an API is the one that is looked for.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Kind = Literal["function", "class", "method", "property"]

MAX_BYTES = 2_000_000
"""Larger files are tables that programs wrote."""
_MAX_SIGNATURE = 200
_MAX_SUMMARY = 240
_MAX_OPENING = 500
_MAX_DEFAULT = 20
_SECTION = re.compile(
    r"^\s*(?:[A-Z]\w+(?: \w+)?\n\s*[-=~]{3,}"
    r"|(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?|Attributes)\s*:\s*$|[:@]param|>>> |\.\. )",
    re.MULTILINE,
)
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+(?=[A-Z`*(\[\"'])")
_ROLE = re.compile(r":[\w:+.-]+:`~?([^`]*)`")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Definition:
    """A function or a class, or a member of a class."""

    name: str
    kind: Kind
    signature: str = ""
    summary: str = ""
    """First sentence of the docstring."""
    opening: str = ""
    """What follows it, up to the first section."""
    bases: tuple[str, ...] = ()
    """Dotted names of the bases of a class, as written."""
    members: list[Definition] = field(default_factory=list)


@dataclass(slots=True)
class ModuleSyntax:
    """What the file of a module says."""

    name: tuple[str, ...]
    is_package: bool
    summary: str = ""
    definitions: dict[str, Definition] = field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Local name to module and name there; the name is empty for a module."""
    stars: list[str] = field(default_factory=list)
    """Modules of which everything public is imported."""
    declared: list[str] | None = None
    """The names in `__all__`, as far as they are written out; None without one."""


def read_module(path: Path, name: tuple[str, ...], *, is_package: bool) -> ModuleSyntax | None:
    """Return what a file says; None if it cannot be read or is not valid Python of this version."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        source = path.read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as invalid escapes in others' strings
            tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    module = ModuleSyntax(name, is_package)
    module.summary, _ = split_docstring(ast.get_docstring(tree, clean=False) or "")
    for node in _statements(tree):
        _read_statement(module, node)
    return module


def split_docstring(text: str) -> tuple[str, str]:
    """Return the first sentence of a docstring, and what follows up to its first section, each on one line."""
    text = _ROLE.sub(r"\1", text[: 4 * _MAX_OPENING]).replace("``", "`")
    parts = text.lstrip().split("\n\n", 1)
    paragraph = " ".join(parts[0].split())
    first, *rest = SENTENCE_END.split(paragraph, maxsplit=1)
    after = _SECTION.split(parts[1], maxsplit=1)[0] if len(parts) > 1 else ""
    opening = " ".join(" ".join((*rest, after)).split())
    return first[:_MAX_SUMMARY], opening[:_MAX_OPENING]


def _statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a scope, also those under conditions and in `try`."""
    for part in ("body", "handlers", "orelse", "finalbody"):
        for node in getattr(scope, part, ()):
            if isinstance(node, ast.stmt):
                yield node
            if isinstance(node, ast.If | ast.Try | ast.TryStar | ast.With | ast.ExceptHandler):
                yield from _statements(node)


def _read_statement(module: ModuleSyntax, node: ast.stmt) -> None:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            known = module.definitions.get(node.name)
            if known is None or not known.summary:  # overloads come first, without docstrings
                module.definitions[node.name] = _function(node, "function")
        case ast.ClassDef():
            module.definitions[node.name] = _class(node)
        case ast.ImportFrom():
            source = _absolute(module, node)
            for alias in node.names:
                if alias.name == "*":
                    module.stars.append(source)
                else:
                    module.imports[alias.asname or alias.name] = (source, alias.name)
        case ast.Import():
            for alias in node.names:
                if alias.asname:
                    module.imports[alias.asname] = (alias.name, "")
        case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
            module.declared = [*(module.declared or ()), *_strings(value)]
        case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
            module.declared = [*(module.declared or ()), *_strings(value)]
        case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
            module.declared = [*(module.declared or ()), *_strings(value)]
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)) if other in module.definitions:
            module.definitions.setdefault(name, module.definitions[other])


def _absolute(module: ModuleSyntax, node: ast.ImportFrom) -> str:
    level = node.level - module.is_package  # relative to the package of the module
    parents = module.name[: len(module.name) - level] if node.level else ()
    return ".".join([*parents, *filter(None, [node.module])])


def _strings(node: ast.expr) -> list[str]:
    return [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant) and isinstance(inner.value, str)]


def _function(node: _Function, kind: Kind) -> Definition:
    summary, opening = split_docstring(_docstring(node))
    signature = (
        "" if kind == "property" else _signature(node.args, skip_first=kind == "method" and not _is_static(node))
    )
    return Definition(node.name, kind, signature, summary, opening)


def _class(node: ast.ClassDef) -> Definition:
    summary, opening = split_docstring(_docstring(node))
    found = Definition(node.name, "class", "", summary, opening, tuple(filter(None, map(_dotted, node.bases))))
    members: dict[str, Definition] = {}
    for inner in _statements(node):
        if not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if inner.name == "__init__":
            found.signature = _signature(inner.args, skip_first=True)
            if not summary:
                found.summary, found.opening = split_docstring(_docstring(inner))
        elif not inner.name.startswith("_"):
            known = members.get(inner.name)
            if known is None or not known.summary:
                members[inner.name] = _function(inner, "property" if _is_property(inner) else "method")
    found.members = list(members.values())
    return found


def _docstring(node: _Function | ast.ClassDef) -> str:
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str(text))), *_]:
            return text
    return ""


def _is_property(node: _Function) -> bool:
    return any("property" in (_dotted(item) or "") for item in node.decorator_list)


def _is_static(node: _Function) -> bool:
    return any(_dotted(item) == "staticmethod" for item in node.decorator_list)


def _dotted(node: ast.expr) -> str:
    """Return `a.b` of a name, or of what is subscripted or called; empty for any other expression."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            owner = _dotted(value)
            return f"{owner}.{name}" if owner else ""
        case ast.Subscript(value=value) | ast.Call(func=value):
            return _dotted(value)
    return ""


def _signature(arguments: ast.arguments, *, skip_first: bool) -> str:
    positional = [*arguments.posonlyargs, *arguments.args]
    gap = len(positional) - len(arguments.defaults)
    parts = [
        arg.arg + (f"={_default(arguments.defaults[at - gap])}" if at >= gap else "")
        for at, arg in enumerate(positional)
    ][int(skip_first) :]
    if arguments.vararg:
        parts.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        parts.append("*")
    for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        parts.append(arg.arg + (f"={_default(default)}" if default else ""))
    if arguments.kwarg:
        parts.append(f"**{arguments.kwarg.arg}")
    text = f"({', '.join(parts)})"
    return text if len(text) <= _MAX_SIGNATURE else f"{text[: _MAX_SIGNATURE - 4]}...)"


def _default(node: ast.expr) -> str:
    text = repr(node.value) if isinstance(node, ast.Constant) else _dotted(node)
    return text if text and len(text) <= _MAX_DEFAULT else "..."
