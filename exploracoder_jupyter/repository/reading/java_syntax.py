"""Reads Java files with tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from exploracoder_jupyter.repository.reading.python_syntax import node_text, on_one_line, parser_of
from exploracoder_jupyter.repository.reading.source_file import Definition, DefinitionKind, Import, SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node

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
    return SourceFile(file, package, "java", tuple(_definitions(root, file, "")), tuple(_imports(root)))


def _definitions(scope: Node, file: str, owner: str) -> Iterator[Definition]:
    before = ""
    for node in scope.named_children:
        name, body = node_text(node.child_by_field_name("name")), node.child_by_field_name("body")
        if node.type in _TYPES:
            yield _make("class", name, node, file, owner, before, tuple(_bases(node)))
            if body:
                yield from _definitions(body, file, f"{owner}.{name}" if owner else name)
        elif node.type in _METHODS:
            yield _make("method", name, node, file, owner, before)
        elif node.type in ("field_declaration", "constant_declaration", "enum_constant"):
            declarators = [child for child in node.named_children if child.type == "variable_declarator"] or [node]
            for declarator in declarators:
                field = node_text(declarator.child_by_field_name("name"))
                yield _make("attribute", field, node, file, owner, before)
        elif node.type == "enum_body_declarations":
            yield from _definitions(node, file, owner)
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


def _bases(node: Node) -> Iterator[str]:
    for child in node.named_children:
        if child.type in _BASES:
            named = child.named_children
            types = named[0].named_children if named and named[0].type == "type_list" else named
            yield from (_ARGUMENTS.sub("", node_text(type_)) for type_ in types)


def _imports(root: Node) -> Iterator[Import]:
    for node in root.named_children:
        if node.type == "import_declaration" and not node_text(node).rstrip("; ").endswith("*"):
            module, _, name = on_one_line(node_text(node)).rstrip("; ").rpartition(" ")[2].rpartition(".")
            yield Import(name, module, name, f"{on_one_line(node_text(node)).rstrip('; ')};")
