"""Converts HTML to Markdown: prose, lists, tables, and code in fences as written.

The result is a sequence of blocks, so that a page can be divided at its headings. Links are reduced to their text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from exploracoder_jupyter.text.html_tree import Node
from exploracoder_jupyter.text.markup_escaping import fenced

_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS = frozenset(
    """p div section article main ul ol dl dd dt li table thead tbody tr td th blockquote figure figcaption header
    footer details summary address hr center body html""".split()  # noqa: SIM905
)
_SPACE = re.compile(r"\s+")
_LANGUAGE = re.compile(r"(?:language|lang|highlight(?:-source)?|brush)[-:]([\w+#]+)")
_NO_LANGUAGE = frozenset("none default text notranslate highlight code plaintext".split())  # noqa: SIM905
_PYTHONS = frozenset("py python python3 ipython ipython3 pycon pycon3".split())  # noqa: SIM905
_PYTHON = re.compile(r"^[ \t]*(?:>>> |import \w|from [\w.]+ import |def \w+\(|\w+ = )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text in Markdown."""

    kind: Literal["prose", "heading", "code", "list", "table"]
    text: str
    title: str = ""
    """What a section that starts here is called: the text of a heading, or the path of an API before its signature."""
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class _Outer:
    anchor: str = ""
    language: str = ""

    def enter(self, node: Node) -> _Outer:
        anchor = node.attributes.get("id", "") if node.tag in ("section", "div", "article") else ""
        language = _language_of_classes(node.classes)
        return _Outer(anchor or self.anchor, language or self.language) if anchor or language else self


_Pieces = list[str | Block | None]
"""Inline text and blocks; `None` is where a block begins or ends."""


def to_blocks(node: Node) -> list[Block]:
    """Convert the content of an element to blocks."""
    return _blocks(node, _Outer())


def to_markdown(node: Node) -> str:
    """Convert the content of an element to one text."""
    return _join(to_blocks(node))


def _join(blocks: Iterable[Block]) -> str:
    return "\n\n".join(block.text for block in blocks)


def _blocks(node: Node, outer: _Outer) -> list[Block]:
    pieces: _Pieces = []
    _read_content(node, outer, pieces)
    blocks: list[Block] = []
    for is_inline, group in groupby(pieces, lambda piece: isinstance(piece, str)):
        if is_inline:
            lines = (" ".join(line.split()) for line in "".join(map(str, group)).split("\n"))
            group = iter([Block("prose", "\n".join(filter(None, lines)))])
        blocks += (piece for piece in group if isinstance(piece, Block) and piece.text)
    return blocks


def _read_content(node: Node, outer: _Outer, pieces: _Pieces) -> None:
    for child in node.children:
        if isinstance(child, str):
            pieces.append(_SPACE.sub(" ", child))
        else:
            _read_element(child, outer.enter(child), pieces)


def _read_element(node: Node, outer: _Outer, pieces: _Pieces) -> None:
    if node.tag == "br":
        pieces.append("\n")
    elif node.tag == "pre" or (node.tag == "code" and node.raw.strip().count("\n") > 1):
        pieces.append(_fence(node.raw.replace("\xa0", " "), _language(node) or outer.language))
    elif node.tag in ("code", "tt", "kbd", "samp"):
        pieces.append(f"`{node.text}`" if node.text and "`" not in node.text else node.text)
    elif node.tag in _HEADINGS:
        title, anchor = node.text, node.attributes.get("id") or outer.anchor
        pieces.append(Block("heading", title and f"{_HEADINGS[node.tag]} {title}", title, anchor))
    elif node.tag == "dt" and ("sig" in node.classes or any(node.find_all(class_="descname"))):
        path = node.attributes.get("id", "")
        fence = _fence(node.text.replace("[source]", "").strip(), "python")
        pieces.append(replace(fence, title=path, anchor=path))
    elif node.tag in _STRUCTURES:
        pieces.extend(_STRUCTURES[node.tag](node, outer))
    else:
        _read_container(node, outer, pieces)


def _read_container(node: Node, outer: _Outer, pieces: _Pieces) -> None:
    if "classifier" in node.classes and not "".join(map(str, pieces[-2:])).rstrip().endswith(":"):
        pieces.append(" : ")
    edge = [None] if node.tag in _BLOCKS else []
    pieces.extend(edge)
    _read_content(node, outer, pieces)
    pieces.extend(edge)


def _list(node: Node, outer: _Outer) -> list[Block]:
    items = _children(node, outer)
    is_deep = any(block.title or (block.kind == "code" and node.tag == "dl") for _, blocks in items for block in blocks)
    if is_deep:
        return [block for _, blocks in items for block in blocks]
    marks = {"li": "- "} if node.tag != "dl" else {"dd": "    "}
    return [Block("list", "\n".join(_item(marks.get(tag, ""), blocks) for tag, blocks in items))]


def _item(mark: str, blocks: Iterable[Block]) -> str:
    return mark + _join(blocks).replace("\n", "\n" + " " * len(mark))


def _table(node: Node, outer: _Outer) -> list[Block]:
    found: list[Block] = []
    for block in _blocks(node, outer):
        if block.kind == "table" and found and found[-1].kind == "table":
            block = replace(block, text=f"{found.pop().text}\n{block.text}")
        found.append(block)
    return found


def _row(node: Node, outer: _Outer) -> list[Block]:
    cells = _children(node, outer)
    if any(len(blocks) > 1 or blocks[0].kind != "prose" for _, blocks in cells if blocks):
        return [block for _, blocks in cells for block in blocks]
    texts = [_join(blocks).replace("\n", " ") for _, blocks in cells]
    below = f"\n|{' --- |' * len(cells)}" if all(tag == "th" for tag, _ in cells) else ""
    return [Block("table", f"| {' | '.join(texts)} |{below}")] if any(texts) else []


def _children(node: Node, outer: _Outer) -> list[tuple[str, list[Block]]]:
    children = (child if isinstance(child, Node) else Node("", children=[child]) for child in node.children)
    found = [(child.tag, _blocks(Node("", children=[child]), outer)) for child in children]
    return [(tag, blocks) for tag, blocks in found if tag or blocks]


_STRUCTURES: dict[str, Callable[[Node, _Outer], list[Block]]] = {
    "ul": _list,
    "ol": _list,
    "dl": _list,
    "table": _table,
    "tr": _row,
}


def _fence(code: str, language: str) -> Block:
    code = code.strip("\n").rstrip()
    language = language or ("python" if _PYTHON.search(code) else "")
    return Block("code", fenced(code, language) if code else "")


def _language(node: Node) -> str:
    if "syntax" in node.attributes:  # used by TensorFlow's pages
        return node.attributes["syntax"].lower() if node.attributes["syntax"].isalnum() else ""
    return _language_of_classes(name for element in [node, *node.find_all(tag="code")] for name in element.classes)


def _language_of_classes(classes: Iterable[str]) -> str:
    names = (match[1] for match in map(_LANGUAGE.fullmatch, map(str.lower, classes)) if match)
    found = next((name for name in names if name not in _NO_LANGUAGE), "")
    return "python" if found in _PYTHONS else found
