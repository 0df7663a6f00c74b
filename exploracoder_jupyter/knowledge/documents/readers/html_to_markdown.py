"""Parses HTML into a tree and converts the tree to Markdown: prose, lists, tables, fenced code.

lxml tolerates malformed pages, limits the depth, and expands only HTML's own entities. Nothing that a page links to is
loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sized
from typing import Any

from exploracoder_jupyter.core.errors import MissingRequirement

Node = Any
"""An lxml element; lxml has no type hints."""

MAX_DEPTH = 200
"""Nesting depth; deeper elements are left out."""

_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCKS = frozenset(
    """p div section article main ul ol li dl dt dd table thead tbody tr td th pre blockquote figure figcaption details
    summary header center body html address hr""".split()  # noqa: SIM905
).union(_HEADINGS)
_NOISE_TAGS = frozenset(
    "script style template noscript nav footer aside button svg iframe object embed head select textarea".split()  # noqa: SIM905
)
_NOISE_CLASSES = frozenset(
    """headerlink viewcode-link viewcode-block viewcode-back linenos linenodiv prompt sphinxsidebar toctree-wrapper
    mkdocstrings-source sr-only visually-hidden breadcrumbs""".split()  # noqa: SIM905
)
_HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_ZERO_WIDTH = re.compile("[\u200b-\u200f\u2060-\u2064\ufeff\u202a-\u202e\u00ad¶]")
_LANGUAGE = re.compile(r"(?:language|highlight|lang|brush)-(\w+)")
_NOT_A_LANGUAGE = frozenset(("default", "text", "none", "notranslate", "plaintext", "highlight"))
_MIN_MENU_ITEMS = 5
"""The number of links that makes a list a menu."""
_MAX_ATTRIBUTES = 1000
"""Attributes of one element: building a tree takes time quadratic in their number."""
_IN_HEAD = frozenset("base basefont bgsound link meta noscript script style template title".split())  # noqa: SIM905


def parse_html(body: bytes, encoding: str = "utf-8") -> Node:
    """Parse a page into a tree.

    Raises:
        MissingRequirement: If lxml is not installed.
        ValueError: If it is empty, or an element has too many attributes.
    """
    try:
        from lxml import etree, html  # installed by an extra
    except ImportError as error:
        raise MissingRequirement(
            "Reading HTML needs the package 'lxml'.", remedy="Install it: pip install 'exploracoder-jupyter[docs]'."
        ) from error
    try:
        counter = etree.HTMLParser(encoding=encoding, target=_AttributeCounter(), no_network=True)
        if etree.fromstring(body, counter) > _MAX_ATTRIBUTES:
            raise ValueError("an element has too many attributes")
        parser = html.HTMLParser(encoding=encoding, remove_comments=True, remove_pis=True, no_network=True)
        return _close_head(html.document_fromstring(body, parser=parser))
    except (etree.ParserError, etree.XMLSyntaxError, LookupError) as error:
        raise ValueError("not a page") from error


class _AttributeCounter:
    """Parser target that finds the largest number of attributes of one element without building a tree."""

    def __init__(self) -> None:
        self._most = 0

    def start(self, _tag: str, attributes: Sized) -> None:
        """Handle the start of an element."""
        self._most = max(self._most, len(attributes))

    def close(self) -> int:
        """Return the result at the end of the page."""
        return self._most


def _close_head(root: Node) -> Node:
    """Move elements that do not belong in the head behind it: lxml closes an unclosed head too late."""
    for head in root.findall("head"):
        for child in reversed([child for child in head if child.tag not in _IN_HEAD]):
            head.addnext(child)
    return root


def find_main_element(root: Node) -> Node:
    """Return the element with the page's main content."""
    for path in ("//*[@role='main']", "//main", "//article", "//div[@class='body']", "//div[@class='document']"):
        if found := root.xpath(path):
            return max(found, key=lambda node: len(node.text_content()))
    return root


def to_markdown(node: Node) -> str:
    """Convert an element to Markdown."""
    return "\n\n".join(_blocks(node, 0))


def text_line(node: Node) -> str:
    """Return an element's text on one line."""
    return _clean(_inline(node, 0, code=False))


def classes(node: Node) -> frozenset[str]:
    """Return the classes of an element."""
    return frozenset((node.get("class") or "").split())


def is_noise(node: Node) -> bool:
    """Return whether an element is not part of the page's content, or is hidden from its readers."""
    if not isinstance(node.tag, str) or node.tag in _NOISE_TAGS or node.get("hidden") is not None:
        return True
    return bool(classes(node) & _NOISE_CLASSES) or bool(_HIDING_STYLE.search(node.get("style") or ""))


def _blocks(node: Node, depth: int) -> list[str]:
    if depth > MAX_DEPTH:
        return []
    found: list[str] = []
    line = [node.text or ""]
    for child in node:
        if not is_noise(child) and _is_block(child):
            found += [_clean("".join(line)), *_block(child, depth + 1)]
            line = []
        elif not is_noise(child):
            line.append(_inline(child, depth + 1))
        line.append(child.tail or "")
    return [block for block in (*found, _clean("".join(line))) if block.strip()]


def _block(node: Node, depth: int) -> list[str]:
    if mark := _HEADINGS.get(node.tag):
        return [f"{mark} {title}"] if (title := text_line(node)) else []
    if node.tag == "pre":
        return _fenced(node)
    if node.tag in ("ul", "ol"):
        if _is_menu(node):
            return []
        return ["\n".join(_item("- ", child, depth) for child in node if child.tag == "li" and not is_noise(child))]
    if node.tag == "dl":
        return ["\n".join(_terms(node, depth))]
    if node.tag == "table" and not node.xpath(".//pre"):
        return ["\n".join(_rows(node))]
    return _blocks(node, depth)


def _inline(node: Node, depth: int, *, code: bool = True) -> str:
    if depth > MAX_DEPTH or is_noise(node):
        return ""
    if node.tag == "br":
        return "\n"
    if code and node.tag in ("code", "tt", "kbd", "samp"):
        inside = " ".join(node.text_content().split())
        return f"`{inside}`" if inside and "`" not in inside else inside
    return "".join([node.text or "", *(_inline(child, depth + 1, code=code) + (child.tail or "") for child in node)])


def _is_block(node: Node) -> bool:
    return node.tag in _BLOCKS or any(child.tag in _BLOCKS for child in node)


def _is_menu(node: Node) -> bool:
    """Return whether a list consists almost entirely of links, like navigation menus."""
    if sum(1 for _ in node.iter("li")) < _MIN_MENU_ITEMS:
        return False
    linked = sum(len(link.text_content()) for link in node.iter("a"))
    return linked >= 0.9 * len("".join(node.text_content().split()))


def _item(mark: str, node: Node, depth: int) -> str:
    inside = "\n\n".join(_blocks(node, depth + 1))
    return mark + inside.replace("\n", "\n" + " " * len(mark))


def _terms(node: Node, depth: int) -> Iterator[str]:
    for child in node:
        if is_noise(child):
            continue
        if child.tag == "dt":
            yield text_line(child)
        else:
            yield _item("    ", child, depth)


def _rows(node: Node) -> Iterator[str]:
    for row in node.iter("tr"):
        cells = [_clean(_inline(cell, 0)) for cell in row if cell.tag in ("td", "th")]
        if any(cells):
            yield f"| {' | '.join(cells)} |"
            if row.find("th") is not None and row.getnext() is None:
                yield f"|{' --- |' * len(cells)}"


def _fenced(node: Node) -> list[str]:
    code = _ZERO_WIDTH.sub("", node.text_content()).strip("\n").rstrip()
    fence = "~~~~" if "```" in code else "```"
    return [f"{fence}{_language(node)}\n{code}\n{fence}"] if code.strip() else []


def _language(node: Node) -> str:
    near = [node, *node.iter("code"), *list(node.iterancestors())[:3]]
    found = [match[1] for one in near for match in [_LANGUAGE.search(one.get("class") or "")] if match]
    named = next((name for name in found if name not in _NOT_A_LANGUAGE), "")
    return "python" if named in ("ipython3", "ipython", "python3", "pycon") else named


def _clean(words: str) -> str:
    return " ".join(_ZERO_WIDTH.sub("", words).split())
