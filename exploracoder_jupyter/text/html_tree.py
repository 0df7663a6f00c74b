"""Parses HTML into a tree.

lxml parses the page and reports it event by event. Its own tree would take time quadratic in the attributes of a tag,
and it gives up on a page at a certain depth.

lxml follows the rules of HTML 4: it closes some elements that browsers keep open, so that text hidden in them would
become visible. Tags that trigger these rules and have no meaning here are replaced before parsing. Nothing that a page
links to is loaded, and only HTML's own entities are expanded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from exploracoder_jupyter.core.errors import MissingRequirement
from exploracoder_jupyter.text.characters import strip_invisible

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
