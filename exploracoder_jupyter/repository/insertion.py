"""Inserts what a model wrote into the text of the target's file.

A reply defines the target, with the imports that it needs. The definition replaces the present one, or is added at the
end; imports that the file lacks join those at its top. Whatever else of the file a reply repeats is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Final

from exploracoder_jupyter.core.errors import ReplyError
from exploracoder_jupyter.pipeline.prompting.replies import encodable
from exploracoder_jupyter.repository.index import RepositoryIndex
from exploracoder_jupyter.repository.source_files import (
    Definition,
    Import,
    Language,
    SourceFile,
    node_text,
    parse_source_file,
    parser_of,
    walk,
)
from exploracoder_jupyter.repository.target import Target
from exploracoder_jupyter.text.replies import split_fenced, without_thinking

if TYPE_CHECKING:
    from tree_sitter import Node


_LANGUAGE_NAMES: Final[dict[Language, frozenset[str]]] = {
    "python": frozenset({"python", "python3", "py", "", "text"}),
    "java": frozenset({"java", "", "text"}),
}
_IMPORTS: Final = frozenset(
    {
        "import_statement",
        "import_from_statement",
        "future_import_statement",
        "import_declaration",
        "package_declaration",
    }
)
_COMMENTS: Final = frozenset({"comment", "line_comment", "block_comment"})


def parse_definition(text: str, target: Target, latest: str = "") -> str:
    """Return the code of a reply: its fenced blocks in the language of the target, joined.

    Methods alone are put into the `latest` attempt at their class. ReplyError if there is no code, or it does not
    define the target.
    """
    wanted = _LANGUAGE_NAMES[target.language]
    blocks = [block for _, block in split_fenced(without_thinking(encodable(text))) if block.body.strip()]
    marked = [block.body for block in blocks if block.language in wanted - {"", "text"}]
    code = "\n".join(marked or [block.body for block in blocks if block.language in wanted]).strip("\n")
    if not code:
        raise ReplyError(f"the reply holds no fenced block of {target.language.title()} code.")
    merged = _with_methods(target, latest, code) if latest else ""
    if not merged and target.last_name not in code:
        raise ReplyError(f"the code does not define {target.name}.")
    return merged or code


def _with_methods(target: Target, latest: str, code: str) -> str:
    """Return the latest attempt at a class with the methods in the code; empty if that is not methods alone."""
    index = RepositoryIndex(Path(), (), "")
    attempt, written = (index.replaced(target.path, text).by_path[target.path] for text in (latest, code))
    owner = next((item for item in attempt.definitions if item.kind == "class" and item.qualified == target.name), None)
    functions = [item for item in written.definitions if not item.owner and item.kind != "attribute"]
    if target.language != "python" or owner is None or not functions or not all(map(_is_method, functions)):
        return ""
    for name in dict.fromkeys(item.name for item in functions):
        file = index.replaced(target.path, latest).by_path[target.path]
        found = {item.qualified: item for item in file.definitions if item.kind == "class"}
        present = [item for item in file.definitions if item.qualified == f"{target.name}.{name}"]
        kept = tuple(item for item in present if item.kind != "attribute")
        method = Target(target.path, f"{target.name}.{name}", latest, False, kept, found[target.name])
        latest = insert(index, method, code)
    return latest


def _is_method(item: Definition) -> bool:
    """Whether a function outside of classes is written as a method."""
    words = {"static", "class method", "abstract"}
    marked = item.kind == "property" or words & set(item.notes) or any(".setter" in note for note in item.notes)
    return item.kind != "class" and bool(marked or re.search(r"\((?:self|cls)\b", item.signature))


def insert(index: RepositoryIndex, target: Target, code: str) -> str:
    """Return the text of the target's file with the definition in this code; ReplyError if it does not define it."""
    written = index.replaced(target.path, code).by_path[target.path]
    owners = ("", target.owner.name, target.owner.qualified) if target.owner else ("",)
    wanted = [
        item
        for item in written.definitions
        if item.name == target.last_name and item.owner in owners and item.kind != "attribute"
    ]
    if not wanted:
        raise ReplyError(f"the code does not define {target.name}.")
    crlf = target.text.count("\r\n") * 2 > target.text.count("\n")
    text = target.text.replace("\r\n", "\n") if crlf else target.text
    body = _method_text(target, code, wanted) if target.owner else _top_level_text(target, written, code, index)
    text = _replace(target, text, body)
    present = index.replaced(target.path, text).by_path[target.path]
    text = _with_imports(target.language, text, _new_imports(code, written, present))
    if target.language == "python":
        text = _with_type_imports(text, [item for item in _for_types(code, written) if item not in present.imports])
    return target.bom + (text.replace("\n", "\r\n") if crlf else text)


def without_target(target: Target) -> str:
    """Return the text of the target's file with a line in place of the target, if it has one there already."""
    if not target.present and not target.owner:  # where it is added depends on what it uses
        return target.text.replace("\r\n", "\n")
    marker = "#" if target.language == "python" else "//"
    pad = " " * 4 if target.owner else ""
    return _replace(target, target.text.replace("\r\n", "\n"), f"{pad}{marker} <- {target.name} is written here")


def _replace(target: Target, text: str, body: str) -> str:
    """Replace the target's lines by the body, or add it: a method to its class, anything else at the end."""
    lines = text.split("\n")
    if target.present:
        first = target.present[0]
        margin = "" if target.owner else _white_space(lines[first.line - 1])
        if margin and target.language == "python":  # in a branch
            written = body.split("\n")
            body = _shifted(written, range(len(written)), margin, _rows_in_strings(target.language, body))
        for other in reversed(target.present[1:]):
            del lines[other.line - 1 : other.end]
        lines[first.line - 1 : first.end] = body.split("\n")
        return "\n".join(lines)
    if target.owner:
        end = target.owner.end - (1 if target.language == "java" else 0)
        lines[end:end] = ["", *body.split("\n")]
        _open_class(target, lines)
        return "\n".join(lines)
    place = _place_before_use(target, text, body)
    if place is not None:
        lines[place:place] = [*body.split("\n"), "", ""]
        return "\n".join(lines)
    start = text.rstrip("\n")
    gap = "\n\n\n" if target.language == "python" else "\n\n"
    return f"{start}{gap if start else ''}{body}\n"


def _place_before_use(target: Target, text: str, body: str) -> int | None:
    """Return the line before which a new definition is added: that of its first use; `None`: the end of the file.

    Annotations, bases and decorators use names as the file is run. What the definition itself uses then, outside of the
    bodies of its functions, has to come before.
    """
    every = _root(target.language, text).named_children
    begin = _leading_imports_end(every)
    kept = (node for node in every if node.type not in _IMPORTS | _COMMENTS and not _is_docstring(node))
    nodes = [node for node in kept if node.start_point.row >= begin]
    uses = (
        place
        for place, node in enumerate(nodes)
        if any(item.type == "identifier" and node_text(item) == target.name for item in walk(node))
    )
    first = next(uses, None) if target.language == "python" else None
    if first is None:
        return None
    names = (node_text((node.child_by_field_name("definition") or node).child_by_field_name("name")) for node in nodes)
    used = _used_at_once(body)
    needed = [place for place, name in enumerate(names) if name in used]
    return nodes[first].start_point.row if all(place < first for place in needed) else None


def _used_at_once(code: str) -> set[str]:
    """Return the names that Python code uses when it is run, without those in bodies of functions."""
    used, left = set[str](), [_root("python", code)]
    while left:
        node = left.pop()
        later = node.child_by_field_name("body") if node.type in ("function_definition", "lambda") else None
        left += [child for child in node.named_children if child != later]
        if node.type == "identifier":
            used.add(node_text(node))
    return used


def _method_text(target: Target, code: str, wanted: Sequence[Definition]) -> str:
    """Return the definitions of a method, at the indentation of its class's body."""
    assert target.owner
    lines, text = code.split("\n"), target.text.split("\n")
    present = target.present
    margin = _white_space(text[present[0].line - 1]) if present else _member_margin(target, target.text)
    fixed = _rows_in_strings(target.language, code)
    return "\n\n".join(_shifted(lines, range(item.line - 1, item.end), margin, fixed) for item in wanted)


def _rows_in_strings(language: Language, code: str) -> frozenset[int]:
    """Return the rows that begin inside a string other than a docstring: other white space would change its value."""
    nodes = walk(_root(language, code))
    strings = (node for node in nodes if node.type.startswith("string") and not _in_docstring(node))
    return frozenset(row for node in strings for row in range(node.start_point.row + 1, node.end_point.row + 1))


def _in_docstring(node: Node) -> bool:
    while node.type.startswith("string") and node.parent:
        node = node.parent
    return _is_docstring(node)


def _shifted(lines: Sequence[str], rows: range, margin: str, fixed: frozenset[int]) -> str:
    """Return lines at another indentation, without change to those that begin inside strings."""
    moved = dedent("\n".join(lines[row] for row in rows if row not in fixed)).split("\n")
    left = iter(indent("\n".join(moved), margin).split("\n"))
    return "\n".join(lines[row] if row in fixed else next(left) for row in rows)


def _class_body(target: Target, text: str) -> Node | None:
    """Return the body of the target's class."""
    owner = target.owner
    for node in walk(_root(target.language, text)) if owner else ():
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if owner and body and owner.line <= node.start_point.row + 1 <= owner.end and node_text(name) == owner.name:
            return body
    return None


def _member_margin(target: Target, text: str) -> str:
    """Return the white space before the members of a class: that of the first one, or four spaces beyond the class."""
    assert target.owner
    lines, body = text.split("\n"), _class_body(target, text)
    head = _white_space(lines[target.owner.line - 1])
    rows = (node.start_point.row for node in body.named_children) if body else ()
    margins = (_white_space(lines[row]) for row in rows)
    return next((margin for margin in margins if len(margin) > len(head)), f"{head}    ")


def _white_space(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _open_class(target: Target, lines: list[str]) -> None:
    """Move the body of a Python class from the line of its header to a line of its own; a placeholder is left out."""
    text = "\n".join(lines)
    body = _class_body(target, text) if target.language == "python" else None
    if body is None:
        return
    row, column = body.start_point.row, body.start_point.column
    head = lines[row].encode()[:column].decode().rstrip()
    if not head.endswith(":"):
        return
    rest = lines[row].encode()[column:].decode().strip()
    kept = [] if rest in ("pass", "...") else [f"{_member_margin(target, text)}{rest}", ""]
    blank = row + 1 < len(lines) and not lines[row + 1].strip() and body.end_point.row == row
    lines[row : row + 1 + blank] = [head, *kept]


def _top_level_text(target: Target, written: SourceFile, code: str, index: RepositoryIndex) -> str:
    """Return what the code defines at the top level, without imports and without what the file has already."""
    file = index.replaced(target.path, target.text).by_path[target.path]
    known = {item.name for item in file.definitions if not item.owner} - {target.last_name}
    names = {item.line: item.name for item in written.definitions if not item.owner}
    lines, present = code.split("\n"), {_squeezed(node) for node in _root(target.language, target.text).named_children}
    kept = [
        (node.start_point.row, node.end_point.row + 1)
        for node in _root(target.language, code).named_children
        if node.type not in _IMPORTS and names.get(node.start_point.row + 1) not in known and not _is_docstring(node)
        if not _is_for_types(node) and (node.start_point.row + 1 in names or _squeezed(node) not in present)
    ]
    begin = next(start for start, _ in kept)
    end = kept[-1][1]
    dropped = {row for row in range(begin, end) if not any(start <= row < stop for start, stop in kept)}
    return "\n".join(line for row, line in enumerate(lines[:end]) if row >= begin and (row not in dropped or not line))


def _squeezed(node: Node) -> str:
    return "".join(node_text(node).split())


def _is_for_types(node: Node) -> bool:
    """Whether it is `if TYPE_CHECKING:` with imports alone, which are for type checkers."""
    condition, body = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
    named = node.type == "if_statement" and node_text(condition).rpartition(".")[2] == "TYPE_CHECKING"
    if not named or body is None or node.child_by_field_name("alternative"):
        return False
    return all(item.type in _IMPORTS | _COMMENTS for item in body.named_children)


def _is_docstring(node: Node) -> bool:
    return node.type == "expression_statement" and [child.type for child in node.named_children] == ["string"]


def _root(language: Language, code: str) -> Node:
    return parser_of(language).parse(code.encode()).root_node


def _new_imports(code: str, written: SourceFile, present: SourceFile) -> Iterator[str]:
    """Yield the import statements of the code that the file lacks, without imports of the file from itself."""
    known = {item.statement for item in present.imports} | {item.statement for item in _for_types(code, written)}
    lines = {line.strip() for line in code.split("\n")}
    for item in written.imports:
        own = item.module == present.module and written.language == "python"
        if item.statement not in known and not own:
            yield item.statement
    for line in sorted(lines):
        if line.startswith(("from __future__", "import static")) or (
            line.startswith(("from", "import")) and "*" in line
        ):
            yield line


def _with_imports(language: Language, text: str, imports: Iterable[str]) -> str:
    lines = text.split("\n")
    missing = [item for item in dict.fromkeys(imports) if item not in {line.strip() for line in lines}]
    if not missing:
        return text
    future = [item for item in missing if item.startswith("from __future__")]
    rest = [item for item in missing if item not in future]
    nodes = _root(language, text).named_children
    last = _leading_imports_end(nodes)
    header = _header_end(nodes)
    place = last if last >= 0 else header
    gap = [""] if last < 0 and len(lines) > place and lines[place].strip() else []
    before = [""] if last < 0 and place > 0 and lines[place - 1].strip() else []
    lines[place:place] = [*before, *rest, *gap] if rest else []
    lines[header:header] = future
    return "\n".join(lines)


def _for_types(code: str, written: SourceFile) -> list[Import]:
    """Return the imports that the code has below `if TYPE_CHECKING:`."""
    if written.language != "python":
        return []
    parts = [node_text(node.child_by_field_name("consequence")) for node in _type_blocks(code)]
    found = [parse_source_file(dedent(part).encode(), written.path, written.module).imports for part in parts]
    return [item for imports in found for item in imports]


def _type_blocks(code: str) -> list[Node]:
    return [node for node in _root("python", code).named_children if _is_for_types(node)]


def _with_type_imports(text: str, imports: Sequence[Import]) -> str:
    """Return the text with these imports in its `if TYPE_CHECKING:`, which is added if it has none."""
    if not imports:
        return text
    lines, nodes, blocks = text.split("\n"), _root("python", text).named_children, _type_blocks(text)
    if blocks:
        first = blocks[0].child_by_field_name("consequence")
        margin = _white_space(lines[first.start_point.row]) if first else "    "
        place, head = blocks[0].end_point.row + 1, list[str]()
    else:
        margin, place, head = "    ", max(_leading_imports_end(nodes), _header_end(nodes)), ["", "if TYPE_CHECKING:"]
    lines[place:place] = [*head, *(f"{margin}{item.statement}" for item in imports)]
    return "\n".join(lines)


def _leading_imports_end(nodes: Sequence[Node]) -> int:
    """Return the first line after the imports at the top of a file; -1 if there are none."""
    end = -1
    for node in nodes:
        if node.type in _IMPORTS:
            end = node.end_point.row + 1
        elif node.type not in _COMMENTS and not _is_docstring(node):
            break
    return end


def _header_end(nodes: Sequence[Node]) -> int:
    """Return the first line after the comments and the docstring at the top of a file."""
    end = 0
    for node in nodes:
        if node.type not in _COMMENTS and not (_is_docstring(node) and node_text(node)):
            break
        end = node.end_point.row + 1
    return end
