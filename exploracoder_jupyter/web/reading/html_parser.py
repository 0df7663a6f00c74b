"""HTML as a tree. lxml reads it, and tells it piece by piece: a tree of its own takes time that grows with the square
of a tag's attributes, and gives up a page at a certain depth.

lxml has the rules of HTML 4: it ends some elements where browsers go on, so that what is hidden in them would be told.
It is given no tags that these rules speak of and that mean nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from lxml import etree

_DEEPEST = 150
"""Elements within elements; what is deeper is left out, so that no recursion over a tree ends in an error."""
_ATTRIBUTES = 100
"""Of one element."""
_IN_HEAD = frozenset("base basefont bgsound link meta noscript script style template title".split())  # noqa: SIM905
_BLOCKS = re.compile(r"<(/?)(?:address|center|dir|fieldset|form|menu)(?=[\s/>])", re.IGNORECASE)
_MARKS = re.compile(r"<(/?)(?:b|big|font|i|s|small|strike|u)(?=[\s/>])", re.IGNORECASE)
_ENDED_AT_ONCE = re.compile(r"(?<!/)/+>")
"""In browsers this ends no element that may hold something."""


@dataclass(slots=True)
class Node:
    """An element with what is in it."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    @property
    def classes(self) -> frozenset[str]:
        """Its classes."""
        return frozenset(self.attributes.get("class", "").split())

    def walk(self) -> Iterator[Node]:
        """This element and all in it, in the order of the page."""
        waiting: list[Node] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(child for child in reversed(node.children) if isinstance(child, Node))

    def having(self, *, tag: str = "", class_: str = "", **attributes: str) -> Iterator[Node]:
        """Elements in it with this tag, class and attributes; what is not given may be anything."""
        wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
        for node in self.walk():
            named = (not tag or node.tag == tag) and (not class_ or class_ in node.classes)
            if named and all(node.attributes.get(name) == value for name, value in wanted.items()):
                yield node

    @property
    def text(self) -> str:
        """Its text on one line."""
        return " ".join(self.raw.split())

    @property
    def raw(self) -> str:
        """Its text as it is written."""
        if self.tag == "br":
            return "\n"
        return "".join(child if isinstance(child, str) else child.raw for child in self.children)


def parse(text: str) -> Node:
    """The page's elements below one without a name. Any text is a page."""
    builder = _Builder()
    parser = etree.HTMLParser(encoding="utf-8", target=builder, no_network=True)
    parser.feed(_plain(text).encode("utf-8", "replace"))
    parser.close()
    return builder.root


def _plain(text: str) -> str:
    return _ENDED_AT_ONCE.sub(">", _MARKS.sub(r"<\1span", _BLOCKS.sub(r"<\1div", text)))


class _Builder:
    """Takes what lxml reads; it ends every element that it begins. Comments are not asked for."""

    def __init__(self) -> None:
        self.root = Node("")
        self._open = [self.root]
        self._too_deep = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        if self._too_deep or len(self._open) > _DEEPEST:
            self._too_deep += 1
            return
        node = Node(tag, dict(islice(attributes.items(), _ATTRIBUTES)))
        self._around(tag).children.append(node)
        self._open.append(node)

    def end(self, _tag: str) -> None:
        """The element that began last, of those that are open, ends."""
        if self._too_deep:
            self._too_deep -= 1
        else:
            self._open.pop()

    def data(self, text: str) -> None:
        """A text within that element."""
        if not self._too_deep:
            self._open[-1].children.append(text)

    def close(self) -> None:
        """The page ends."""

    def _around(self, tag: str) -> Node:
        """What an element stands in: a head that is not ended holds for lxml the elements of newer HTML too."""
        is_text = self._open[-1].tag == "head" and tag not in _IN_HEAD
        return self._open[-2] if is_text else self._open[-1]
