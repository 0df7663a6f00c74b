"""Parses HTML into a tree, and converts it to Markdown without what a reader does not see."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Literal

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.text.characters import fenced, strip_invisible

# Parses HTML into a tree.
#
# lxml parses the page and reports it event by event. Its own tree would take time quadratic in the attributes of a
# tag, and it gives up on a page at a certain depth.
#
# lxml follows the rules of HTML 4: it closes some elements that browsers keep open, so that text hidden in them
# would become visible. Tags that trigger these rules and have no meaning here are replaced before parsing. Nothing
# that a page links to is loaded, and only HTML's own entities are expanded.

_MAX_DEPTH = 150
"""Nesting depth; deeper elements are left out, so that recursion over a tree cannot overflow."""
_MAX_ATTRIBUTES = 100
"""How many attributes of one element are kept."""
_IN_HEAD = frozenset("base basefont bgsound link meta noscript script style template title".split())  # noqa: SIM905
_HTML4_BLOCKS = re.compile(r"<(/?)(?:address|center|dir|fieldset|form|menu)(?=[\s/>])", re.IGNORECASE)
_HTML4_INLINE = re.compile(r"<(/?)(?:b|big|font|i|s|small|strike|u)(?=[\s/>])", re.IGNORECASE)
_SELF_CLOSING = re.compile(r"(?<!/)/+>")
"""Self-closing syntax, which browsers ignore on elements that can have content."""


@dataclass(slots=True)
class Node:
    """An element and its content."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    @property
    def classes(self) -> frozenset[str]:
        """The element's classes."""
        return frozenset(self.attributes.get("class", "").split())

    def walk(self) -> Iterator[Node]:
        """Yield this element and all elements in it, in document order."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.elements))

    def find_all(self, *, tag: str = "", class_: str = "", **attributes: str) -> Iterator[Node]:
        """Yield the elements with this tag, class and attributes, this one included; omitted criteria match all."""
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        for node in self.walk():
            matches = (not tag or node.tag == tag) and (not class_ or class_ in node.classes)
            if matches and all(node.attributes.get(name) == value for name, value in wanted.items()):
                yield node

    def remove(self, is_unwanted: Callable[[Node], bool]) -> None:
        """Remove the elements in this one for which this is true."""
        for node in self.walk():
            node.children = [child for child in node.children if isinstance(child, str) or not is_unwanted(child)]

    @property
    def elements(self) -> list[Node]:
        """The children that are elements."""
        return [child for child in self.children if isinstance(child, Node)]

    @property
    def text(self) -> str:
        """The element's text on one line."""
        return " ".join(self.raw.split())

    @property
    def raw(self) -> str:
        """The element's text as written."""
        if self.tag == "br":
            return "\n"
        return "".join(child if isinstance(child, str) else child.raw for child in self.children)


def parse_html(text: str, *, xhtml: bool = False) -> Node:
    """Return the page's elements under a root without a tag. Any text is accepted.

    Invisible characters are left out. In XHTML an element can close itself.

    Raises MissingRequirement if lxml is not installed.
    """
    try:
        from lxml import etree  # installed by an extra
    except ImportError as error:
        raise MissingRequirement(
            "Reading HTML needs the package 'lxml'.", remedy="Install it: pip install 'exploracoder-jupyter[docs]'."
        ) from error
    builder = _Builder()
    parser = etree.HTMLParser(encoding="utf-8", target=builder, no_network=True)
    if not xhtml:
        text = _SELF_CLOSING.sub(">", _HTML4_INLINE.sub(r"<\1span", _HTML4_BLOCKS.sub(r"<\1div", text)))
    parser.feed(text.encode("utf-8", "replace"))
    parser.close()
    return builder.root


class _Builder:
    """Receives lxml's events, which include an end for every element. Comments are not reported."""

    def __init__(self) -> None:
        self.root = Node("")
        self._open = [self.root]
        self._too_deep = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        if self._too_deep or len(self._open) > _MAX_DEPTH:
            self._too_deep += 1
            return
        node = Node(tag, dict(islice(attributes.items(), _MAX_ATTRIBUTES)))
        # lxml puts newer HTML's elements into a head that is not closed explicitly; they belong outside of it.
        belongs_in_body = self._open[-1].tag == "head" and tag not in _IN_HEAD
        self._open[-2 if belongs_in_body else -1].children.append(node)
        self._open.append(node)

    def end(self, _tag: str) -> None:
        """Close the innermost open element."""
        if self._too_deep:
            self._too_deep -= 1
        else:
            self._open.pop()

    def data(self, text: str) -> None:
        """Add text to the innermost open element."""
        if not self._too_deep:
            self._open[-1].children.append(strip_invisible(text))

    def close(self) -> None:
        """Finish the page."""


# Removes what a page's reader does not see, or does not come for: hidden text is not meant for people.

_TEXTLESS_TAGS = frozenset(
    """script style noscript template input button select textarea iframe object embed svg canvas dialog audio
    video head link meta noembed noframes map math""".split()  # noqa: SIM905
)
"""Elements that contain no text for a reader, or ask for input."""
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*(?:0+(?:\.0*)?|\.0+)(?![.\d])"
    r"|font-size\s*:\s*0+(?:\.0+)?(?![.\d])|(?:left|top|text-indent)\s*:\s*-\d{3,}",
    re.IGNORECASE,
)
_HIDDEN_CLASSES = frozenset(
    "sr-only visually-hidden visuallyhidden screen-reader-text d-none hidden headerlink".split()  # noqa: SIM905
)
_SURROUNDING_TAGS = frozenset(("nav", "footer", "aside"))
_MIN_MENU_ITEMS = 5
_MENU_SHARE = 0.9
"""The share of letters in links that makes a list a menu."""


def remove_hidden(root: Node) -> None:
    """Remove hidden elements, scripts and form fields from the tree; comments are never in it."""
    root.remove(_is_hidden)


def _is_hidden(node: Node) -> bool:
    attributes = node.attributes
    return (
        node.tag in _TEXTLESS_TAGS
        or "hidden" in attributes
        or attributes.get("aria-hidden", "").lower() == "true"
        or not _HIDDEN_CLASSES.isdisjoint(node.classes)
        or bool(_HIDING_STYLE.search(attributes.get("style", "")))
    )


def find_main_element(root: Node) -> Node:
    """Return what the page marks as its main part, or else `root`. Navigation and the like are removed from `root`."""
    root.remove(lambda node: node.tag in _SURROUNDING_TAGS)
    mains = [node for node in root.walk() if node.tag == "main" or node.attributes.get("role") == "main"]
    articles = list(root.find_all(tag="article"))
    if marked := mains or (articles if len(articles) == 1 else []):
        return max(marked, key=lambda node: len(node.raw))
    root.remove(lambda node: node.tag == "header")
    return root


def remove_menus(node: Node) -> tuple[int, int, int]:
    """Remove lists that consist almost entirely of links, and return the node's letters, those in links, and items."""
    letters, linked, items = 0, 0, int(node.tag == "li")
    for child in node.children:
        if isinstance(child, str):
            letters += len("".join(child.split()))
        else:
            counts = remove_menus(child)
            letters, linked, items = letters + counts[0], linked + counts[1], items + counts[2]
    if node.tag in ("ul", "ol") and items >= _MIN_MENU_ITEMS and linked >= _MENU_SHARE * letters:
        node.children = []
    return letters, letters if node.tag == "a" else linked, items


# Converts HTML to Markdown: prose, lists, tables, and code in fences as written.
#
# The result is a sequence of blocks, so that a page can be divided at its headings. Links are reduced to their
# text.

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
