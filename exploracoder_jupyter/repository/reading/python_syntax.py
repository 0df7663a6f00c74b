"""Reads Python files with tree-sitter, which also reads files with syntax errors."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from typing import TYPE_CHECKING, Any, Final

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.repository.reading.source_file import Definition, DefinitionKind, Import, Language, SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_BLOCKS: Final = frozenset(
    {
        "block",
        "if_statement",
        "elif_clause",
        "else_clause",
        "try_statement",
        "except_clause",
        "finally_clause",
        "with_statement",
    }
)
"""Statements whose definitions belong to the scope around them."""
_SELF: Final = re.compile(r"^[ \t]+self\.([A-Za-z]\w*)[ \t]*(?::[ \t]*([^=\n]+?))?[ \t]*=(?!=)[ \t]*(.{0,60})", re.M)
_NOTES: Final = {
    "staticmethod": "static",
    "classmethod": "class method",
    "abstractmethod": "abstract",
    "property": "property",
    "cached_property": "property",
}


def parse_source_file(text: bytes, file: str, module: str) -> SourceFile:
    """Read a Python file, whose relative imports refer to its module."""
    root = parser_of("python").parse(text).root_node
    package = module if file.endswith("__init__.py") else module.rpartition(".")[0]
    definitions, imports = tuple(_definitions(root, file, "")), tuple(_imports(root, package))
    return SourceFile(file, module, "python", definitions, imports)


@cache
def parser_of(language: Language) -> Parser:
    """Return the parser of a language. Its grammar is imported only here, so that of another need not be installed.

    MissingRequirement if it is not installed.
    """
    tree_sitter = import_extra("tree_sitter", language)
    grammar = import_extra(f"tree_sitter_{language}", language)
    parser: Parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    return parser


def import_extra(name: str, language: Language) -> Any:
    """Import a module of the extra `repo` where it is used; MissingRequirement if it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingRequirement(
            f"Reading {language.title()} files requires the package {error.name!r}.",
            remedy="Install it: pip install 'exploracoder-jupyter[repo]'.",
        ) from error


def node_text(node: Node | None) -> str:
    """Return the source of a node; empty without one."""
    return node.text.decode("utf-8", "replace") if node and node.text else ""


def walk(node: Node, without: Collection[str] = ()) -> Iterator[Node]:
    """Yield a node and those below it, in order; without recursion, because code may be nested deeply."""
    left = [node]
    while left:
        current = left.pop()
        if current.type not in without:
            yield current
            left += reversed(current.named_children)


def on_one_line(text: str) -> str:
    """Return the text with all white space as single spaces."""
    return " ".join(text.split())


def _definitions(scope: Node, file: str, owner: str) -> Iterator[Definition]:
    for node in scope.named_children:
        if node.type in ("decorated_definition", "function_definition", "class_definition"):
            yield from _definition(node, file, owner)
        elif node.type in _BLOCKS:
            yield from _definitions(node, file, owner)
        elif node.type == "expression_statement":
            yield from _attribute(node, file, owner)


def _definition(node: Node, file: str, owner: str) -> Iterator[Definition]:
    inner = node.child_by_field_name("definition") or node
    name, body = node_text(inner.child_by_field_name("name")), inner.child_by_field_name("body")
    head = (inner.text or b"")[: (body.start_byte if body else inner.end_byte) - inner.start_byte]
    signature = on_one_line(re.sub(r"(?m)\s#.*$", "", head.decode("utf-8", "replace"))).rstrip(": ")
    is_class = inner.type == "class_definition"
    notes = _notes(node, name)
    kind: DefinitionKind = "class" if is_class else "function" if not owner else "method"
    yield Definition(
        "property" if "property" in notes else kind,
        name,
        owner,
        file,
        node.start_point.row + 1,
        node.end_point.row + 1,
        signature,
        tuple(note for note in notes if note != "property"),
        tuple(_bases(inner)),
        _docstring(body),
    )
    if is_class and body:
        qualified = f"{owner}.{name}" if owner else name
        members = list(_definitions(body, file, qualified))
        yield from members
        yield from _assigned_in_methods(body, file, qualified, {member.name for member in members})


def _notes(node: Node, name: str) -> list[str]:
    decorators = [node_text(child).lstrip("@").strip() for child in node.named_children if child.type == "decorator"]
    notes = []
    for decorator in decorators:
        last = decorator.partition("(")[0].rpartition(".")[2]
        notes.append(_NOTES.get(last, f"@{on_one_line(decorator)}"))
    if name.startswith("_") and not name.endswith("__"):
        notes.append("private")
    return notes


def _bases(node: Node) -> Iterator[str]:
    arguments = node.child_by_field_name("superclasses")
    for argument in arguments.named_children if arguments else ():
        if argument.type in ("identifier", "attribute"):
            yield node_text(argument)
        elif argument.type == "subscript":
            yield node_text(argument.child_by_field_name("value"))


def _docstring(body: Node | None) -> str:
    first = body.named_children[0] if body and body.named_children else None
    if first is None or first.type != "expression_statement" or first.named_children[0].type != "string":
        return ""
    content = (node_text(part) for part in first.named_children[0].named_children if part.type == "string_content")
    lines = "".join(content).strip().splitlines()
    return lines[0].strip() if lines else ""


def _attribute(node: Node, file: str, owner: str) -> Iterator[Definition]:
    assignment = node.named_children[0] if node.named_children else None
    target = assignment.child_by_field_name("left") if assignment and assignment.type == "assignment" else None
    if target is None or target.type != "identifier":
        return
    declaration = on_one_line(node_text(node))[:120]
    line = node.start_point.row + 1
    yield Definition("attribute", node_text(target), owner, file, line, node.end_point.row + 1, declaration)


def _assigned_in_methods(body: Node, file: str, owner: str, known: set[str]) -> Iterator[Definition]:
    """Yield the attributes that methods assign to `self`, each at its first assignment."""
    for match in _SELF.finditer(node_text(body)):
        if match[1] not in known:
            known.add(match[1])
            line = body.start_point.row + 1 + node_text(body)[: match.start()].count("\n")
            declaration = on_one_line(f"self.{match[1]}{f': {match[2]}' if match[2] else ''} = {match[3]}")
            yield Definition("attribute", match[1], owner, file, line, line, declaration)


def _imports(scope: Node, package: str) -> Iterator[Import]:
    for node in scope.named_children:
        if node.type == "import_statement":
            yield from (_import(name, None) for name in node.children_by_field_name("name"))
        elif node.type == "import_from_statement":
            module = _absolute(node_text(node.child_by_field_name("module_name")), package)
            yield from (_import(name, module) for name in node.children_by_field_name("name"))
        elif node.type in _BLOCKS:
            yield from _imports(node, package)


def _absolute(module: str, package: str) -> str:
    try:
        return resolve_name(module, package)
    except ImportError:  # of a package that the repository's folder itself is
        return module.lstrip(".")


def _import(node: Node, module: str | None) -> Import:
    """Return one import of `import ...`, or of `from MODULE import ...`."""
    name = node_text(node.child_by_field_name("name") or node)
    alias = node_text(node.child_by_field_name("alias"))
    renamed = f" as {alias}" if alias else ""
    if module is None:
        return Import(alias or name.partition(".")[0], name, "", f"import {name}{renamed}")
    return Import(alias or name, module, name, f"from {module} import {name}{renamed}")
