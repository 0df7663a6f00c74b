"""Reads source files with tree-sitter: their definitions and imports, also where the syntax is faulty."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import resolve_name
from typing import TYPE_CHECKING, Any, Final, Literal

from exploracoder_jupyter.core.errors import MissingRequirement

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


# What is known of a source file: its definitions and imports, independent of the language.

Language = Literal["python", "java"]
DefinitionKind = Literal["class", "function", "method", "property", "attribute"]

LANGUAGES: dict[str, Language] = {".py": "python", ".java": "java"}
"""Language by the suffix of a file."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A class, function, method, property or attribute."""

    kind: DefinitionKind
    name: str
    owner: str
    """Name of the class that it belongs to, with those around it: `Outer.Inner`; empty at the top level."""
    file: str
    """Path relative to the repository, with `/`."""
    line: int
    """First line, counted from 1, with decorators and annotations."""
    end: int
    """Last line."""
    signature: str
    """On one line: `def total(self) -> Decimal`, `class Cart(Basket)`; of an attribute its declaration."""
    notes: tuple[str, ...] = ()
    """`static`, `abstract`, `class method`, `private`, ..."""
    bases: tuple[str, ...] = ()
    """Base classes and interfaces as written, without type arguments."""
    summary: str = ""
    """First line of its documentation."""

    @property
    def qualified(self) -> str:
        """Name with that of its class: `Cart.total`."""
        return f"{self.owner}.{self.name}" if self.owner else self.name

    @property
    def place(self) -> str:
        """File and line: `src/shop/cart.py:12`."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Import:
    """One name that an import statement binds."""

    name: str
    """The name in the file."""
    module: str
    """Absolute name of the module, or of the Java package."""
    attribute: str
    """What is imported from the module; empty if it is the module itself."""
    statement: str
    """The statement that binds this name alone."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the repository."""

    path: str
    module: str
    """The name under which it is imported: a Python module or a Java package."""
    language: Language
    definitions: tuple[Definition, ...]
    """In the order of the file; members follow their class."""
    imports: tuple[Import, ...]


# Reads Python files with tree-sitter, which also reads files with syntax errors.

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


# Reads Java files with tree-sitter.

_TYPES: Final = frozenset(
    {
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
    }
)
_METHODS: Final = frozenset({"method_declaration", "constructor_declaration", "compact_constructor_declaration"})
_BASES: Final = frozenset({"superclass", "super_interfaces", "extends_interfaces"})
_MODIFIERS: Final = frozenset({"public", "protected", "private", "static", "abstract", "final"})
_ARGUMENTS: Final = re.compile(r"<[^<>]*>")


def parse_java(text: bytes, file: str) -> SourceFile:
    """Read a Java file."""
    root = parser_of("java").parse(text).root_node
    packages = (node for node in root.children if node.type == "package_declaration" and node.named_children)
    package = next((node_text(node.named_children[-1]) for node in packages), "")
    return SourceFile(file, package, "java", tuple(_java_definitions(root, file, "")), tuple(_java_imports(root)))


def _java_definitions(scope: Node, file: str, owner: str) -> Iterator[Definition]:
    before = ""
    for node in scope.named_children:
        name, body = node_text(node.child_by_field_name("name")), node.child_by_field_name("body")
        if node.type in _TYPES:
            yield _make("class", name, node, file, owner, before, tuple(_java_bases(node)))
            if body:
                yield from _java_definitions(body, file, f"{owner}.{name}" if owner else name)
        elif node.type in _METHODS:
            yield _make("method", name, node, file, owner, before)
        elif node.type in ("field_declaration", "constant_declaration", "enum_constant"):
            declarators = [child for child in node.named_children if child.type == "variable_declarator"] or [node]
            for declarator in declarators:
                field = node_text(declarator.child_by_field_name("name"))
                yield _make("attribute", field, node, file, owner, before)
        elif node.type == "enum_body_declarations":
            yield from _java_definitions(node, file, owner)
        before = node_text(node) if node.type == "block_comment" else ""


def _make(
    kind: DefinitionKind, name: str, node: Node, file: str, owner: str, before: str, bases: tuple[str, ...] = ()
) -> Definition:
    body = node.child_by_field_name("body")
    source = node.text or b""
    head = source[: body.start_byte - node.start_byte] if body else source
    modifiers = next((node_text(child).split() for child in node.named_children if child.type == "modifiers"), [])
    comment = (line.strip(" \t*/") for line in before.splitlines() if before.startswith("/**"))
    signature = on_one_line(head.decode("utf-8", "replace")).rstrip(" {;")
    return Definition(
        kind,
        name,
        owner,
        file,
        node.start_point.row + 1,
        node.end_point.row + 1,
        signature[:300],
        tuple(word for word in modifiers if word in _MODIFIERS),
        bases,
        next(filter(None, comment), ""),
    )


def _java_bases(node: Node) -> Iterator[str]:
    for child in node.named_children:
        if child.type in _BASES:
            named = child.named_children
            types = named[0].named_children if named and named[0].type == "type_list" else named
            yield from (_ARGUMENTS.sub("", node_text(type_)) for type_ in types)


def _java_imports(root: Node) -> Iterator[Import]:
    for node in root.named_children:
        if node.type == "import_declaration" and not node_text(node).rstrip("; ").endswith("*"):
            module, _, name = on_one_line(node_text(node)).rstrip("; ").rpartition(" ")[2].rpartition(".")
            yield Import(name, module, name, f"{on_one_line(node_text(node)).rstrip('; ')};")
