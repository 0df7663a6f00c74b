"""HTML as a tree, read in time that grows with its length whatever a page does.

The standard library's parser takes hours for some unclosed markup of a megabyte, so the pieces are found here: each
search for an end that fails takes the rest of the page, so nothing is searched twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9:-]*)")
_SPACE = re.compile(r"[\s/]*")
_NAME = re.compile(r"[^\s/>=]+")
_EQUALS = re.compile(r"\s*=\s*")
_BARE = re.compile(r"[^\s>]*")
_PLAIN = re.compile(r"([^\s/>=]+)(?:\s*=\s*(?:\"([^\"]*)\"|([^\s>]*)))?")
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
_RAW = frozenset("script style textarea title iframe noembed noframes xmp".split())  # noqa: SIM905
"""Elements whose content is no markup."""
_ENDS: dict[str, frozenset[str]] = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "tr": frozenset({"tr", "td", "th"}),
    "td": frozenset({"td", "th"}),
    "th": frozenset({"td", "th"}),
    "option": frozenset({"option"}),
}
"""Elements that end when such a one begins beside them."""
_AFTER_P = frozenset("p div ul ol dl table pre blockquote section article h1 h2 h3 h4 h5 h6 figure hr".split())  # noqa: SIM905
_DEEPEST = 150
"""Elements deeper than this are put beside one another, so that no recursion over a tree ends in an error."""


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


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str
    end: bool = False
    attributes: dict[str, str] = field(default_factory=dict)


def parse(text: str) -> Node:
    """The page's elements below one without a name. Any text is a page."""
    root = Node("")
    stack = [root]
    for piece in _pieces(text):
        if isinstance(piece, str):
            stack[-1].children.append(piece)
        elif piece.end:
            _close(stack, piece.name)
        else:
            _open(stack, piece)
    return root


def _open(stack: list[Node], tag: _Tag) -> None:
    if stack[-1].tag == "p" and tag.name in _AFTER_P:
        stack.pop()
    ended = _ENDS.get(tag.name, frozenset())
    while len(stack) > 1 and stack[-1].tag in ended:
        stack.pop()
    node = Node(tag.name, tag.attributes)
    stack[-1].children.append(node)
    if tag.name not in _VOID and len(stack) < _DEEPEST:
        stack.append(node)


def _close(stack: list[Node], name: str) -> None:
    for at in range(len(stack) - 1, 0, -1):
        if stack[at].tag == name:
            del stack[at:]
            return
        if stack[at].tag in ("table", "body") and name not in ("html", "body"):  # a stray end closes nothing around it
            return


def _pieces(text: str) -> Iterator[str | _Tag]:
    at = 0
    while at < len(text):
        opened = text.find("<", at)
        if opened < 0:
            opened = len(text)
        if opened > at:
            yield unescape(text[at:opened])
        if opened == len(text):
            return
        if text.startswith("<!--", opened):
            at = _after(text, "-->", opened + 4)
        elif text.startswith(("<!", "<?"), opened):
            at = _after(text, ">", opened + 2)
        elif found := _TAG.match(text, opened):
            tag, at = _tag(text, found)
            yield tag
            if tag.name in _RAW and not tag.end:
                raw, at = _raw(text, tag.name, at)
                yield raw
                yield _Tag(tag.name, end=True)
        else:
            yield "<"
            at = opened + 1


def _after(text: str, end: str, start: int) -> int:
    found = text.find(end, start)
    return len(text) if found < 0 else found + len(end)


def _tag(text: str, found: re.Match[str]) -> tuple[_Tag, int]:
    name, is_end = found[2].lower(), bool(found[1])
    end = text.find(">", found.end())
    inner = text[found.end() : end] if end >= 0 else "'"
    if "'" not in inner and inner.count('"') % 2 == 0:  # nearly every tag; no quote that is open hides its end
        return _Tag(name, is_end, _plain(inner) if inner else {}), end + 1
    attributes, at = _attributes(text, found.end())
    return _Tag(name, is_end, attributes), at


def _plain(inner: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for match in _PLAIN.finditer(inner):
        attributes.setdefault(match[1].lower(), unescape(match[2] or match[3] or ""))
    return attributes


def _attributes(text: str, at: int) -> tuple[dict[str, str], int]:
    attributes: dict[str, str] = {}
    at = _space(text, at)
    while at < len(text) and text[at] != ">":
        name = _NAME.match(text, at)
        if name is None:  # a stray equals sign
            at = _space(text, at + 1)
            continue
        value, at = _value(text, name.end())
        attributes.setdefault(name.group().lower(), value)
        at = _space(text, at)
    return attributes, at + 1


def _value(text: str, at: int) -> tuple[str, int]:
    equals = _EQUALS.match(text, at)
    if equals is None:
        return "", at
    at = equals.end()
    if text[at : at + 1] in ('"', "'"):
        end = text.find(text[at], at + 1)
        end = len(text) if end < 0 else end
        return unescape(text[at + 1 : end]), end + 1
    found = _BARE.match(text, at)
    assert found is not None  # it may be empty
    return unescape(found.group()), found.end()


def _space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None  # it may be empty
    return found.end()


def _raw(text: str, name: str, at: int) -> tuple[str, int]:
    end = re.compile(rf"</{name}", re.IGNORECASE).search(text, at)
    if end is None:
        return text[at:], len(text)
    return unescape(text[at : end.start()]), _after(text, ">", end.end())
