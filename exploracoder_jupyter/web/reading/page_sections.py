"""Converts a page to sections: prose as Markdown, code in fences as written, headings as titles.

Links are reduced to their text: nothing is followed because a page says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from exploracoder_jupyter.web.reading.hidden_elements import strip_invisible
from exploracoder_jupyter.web.reading.html_parser import Node

_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_BLOCKS = frozenset(
    """p div section article main ul ol dl dd dt li table tr td th blockquote figure figcaption header footer details
    summary address hr center body html""".split()  # noqa: SIM905
)
_NOT_INLINE = frozenset(("pre", "dl", "ul", "ol", "table", "blockquote"))
"""Table rows that contain these are not joined into one line: they may contain code or the page's whole text."""
_PREFIXES = {"li": "\n- ", "dt": "\n", "dd": "\n"}
_LANGUAGE = re.compile(r"(?:language|lang|highlight(?:-source)?|brush)[-:]([\w+#]+)")
_NO_LANGUAGE = frozenset("none default text notranslate highlight code plaintext".split())  # noqa: SIM905
_PYTHONS = ("py", "python3", "ipython", "ipython3", "pycon", "python")
_PYTHON = re.compile(r"^[ \t]*(?:>>> |import \w|from [\w.]+ import |def \w+\(|\w+ = )", re.MULTILINE)
_LONE_LIST_MARKER = re.compile(r"^-\n+(?=[^\s`~-])", re.MULTILINE)
"""A list marker on a line of its own, because the item's text begins with a block."""
_MARKDOWN_HEADING = re.compile(r"(#{1,6})\s+(.*?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_MAX_HEADING_CHARS = 500
_MAX_SECTION_CHARS = 3000
"""Characters of one section; a longer one is split."""
_MIN_SECTION_CHARS = 40
"""A shorter section without code is only the remainder of a heading."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page under one heading."""

    title: str
    text: str
    """Markdown."""
    anchor: str = ""
    """An ID in the page, or a complete address."""
    licence: str = ""
    apis: tuple[str, ...] = ()


def extract_sections(node: Node, title: str = "") -> list[Section]:
    """Return the sections of an element in order; `title` applies to what precedes the first heading."""
    writer = _Writer(title)
    writer.read(node)
    writer.end()
    return [part for section in writer.done for part in split_section(section)]


def split_markdown(text: str, title: str = "") -> list[Section]:
    """Return the sections of a Markdown or plain text; lines in a fence are not headings."""
    writer, fence = _Writer(title), ""
    for line in text.replace("\r\n", "\n").split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        heading = None if fence or mark else _MARKDOWN_HEADING.match(line[:_MAX_HEADING_CHARS])
        if heading:
            writer.begin(heading[2])
        else:
            writer.parts.append(f"{line}\n")
    writer.end()
    return [part for section in writer.done for part in split_section(section)]


def to_markdown(node: Node) -> str:
    """Convert the whole element to Markdown without dividing it at headings."""
    writer = _Writer("", divides=False)
    writer.read(node)
    writer.end()
    return "\n\n".join(section.text for section in writer.done)


@dataclass(slots=True)
class _Writer:
    title: str
    divides: bool = True
    anchor: str = ""
    parts: list[str] = field(default_factory=list)
    done: list[Section] = field(default_factory=list)
    _ids: list[str] = field(default_factory=list)

    def begin(self, title: str, anchor: str = "") -> None:
        self.end()
        self.title, self.anchor = strip_invisible(title), anchor

    def end(self) -> None:
        text = _tidy(strip_invisible("".join(self.parts)))
        if len(text) >= _MIN_SECTION_CHARS or "```" in text or (text and not self.divides):
            self.done.append(Section(self.title, text, self.anchor))
        self.parts = []

    def read(self, node: Node) -> None:
        if node.tag in _HEADINGS and self.divides:
            self.begin(node.text, node.attributes.get("id") or (self._ids[-1] if self._ids else ""))
        elif node.tag == "pre" or (node.tag == "code" and node.raw.strip().count("\n") > 1):
            self.parts.append(_fenced(node))
        elif node.tag == "code":
            self.parts.append(f"`{node.text}`" if node.text else "")
        elif node.tag == "br":
            self.parts.append("\n")
        elif node.tag == "tr" and not any(inner.tag in _NOT_INLINE for inner in node.walk()):
            self.parts.append(" | ".join(_cells(node)) + "\n")
        elif node.tag == "dt" and _is_signature(node):
            self._read_signature(node)
        else:
            self._read_content(node)

    def _read_signature(self, node: Node) -> None:
        path = node.attributes.get("id", "")
        if path and self.divides:
            self.begin(path, path)
        shown = node.text.replace("[source]", "").strip()
        self.parts.append(f"\n```python\n{shown}\n```\n\n")

    def _read_content(self, node: Node) -> None:
        block, within = node.tag in _BLOCKS | _HEADINGS, node.attributes.get("id", "")
        if within and node.tag in ("section", "div", "article"):
            self._ids.append(within)
        self.parts.append(_PREFIXES.get(node.tag, "\n\n") if block else "")
        if "classifier" in node.classes and not "".join(self.parts[-2:]).rstrip().endswith(":"):
            self.parts.append(" : ")
        for child in node.children:
            if isinstance(child, str):
                self.parts.append(re.sub(r"\s+", " ", child))
            else:
                self.read(child)
        self.parts.append("\n\n" if block and node.tag not in _PREFIXES else "")
        if self._ids and self._ids[-1] == within:
            self._ids.pop()


def _is_signature(node: Node) -> bool:
    """Return whether Sphinx generated this term for an API; versions before 4 mark only its parts."""
    return "sig" in node.classes or ("id" in node.attributes and any(node.find_all(class_="descname")))


def _cells(row: Node) -> Iterable[str]:
    return (cell.text for cell in row.children if isinstance(cell, Node))


def _fenced(node: Node) -> str:
    code = node.raw.replace("\xa0", " ").strip("\n")
    if not code.strip():
        return ""
    longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"\n\n{fence}{_language(node) or ('python' if _PYTHON.search(code) else '')}\n{code}\n{fence}\n\n"


def _language(node: Node) -> str:
    if "syntax" in node.attributes:  # used by TensorFlow's pages
        return node.attributes["syntax"].lower() if node.attributes["syntax"].isalnum() else ""
    elements = [node, *node.find_all(tag="code")]
    names = " ".join(element.attributes.get("class", "") for element in elements).lower().split()
    found = [match[1] for match in map(_LANGUAGE.fullmatch, names) if match and match[1] not in _NO_LANGUAGE]
    return "python" if found and found[0] in _PYTHONS else next(iter(found), "")


def _tidy(text: str) -> str:
    """Collapse blank lines between blocks to one, but keep those in code."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
        shown = line.rstrip() if fence or mark else re.sub(r"[ \t]+", " ", line).strip()
        if shown or fence or (lines and lines[-1]):
            lines.append(shown)
    return _LONE_LIST_MARKER.sub("- ", "\n".join(lines)).strip()


def split_section(section: Section) -> Iterator[Section]:
    """Yield the section, or its parts if it is too long; code split between two parts is fenced in both."""
    for number, text in enumerate(_parts(section.text), 1):
        yield replace(section, title=section.title if number == 1 else f"{section.title} ({number})", text=text)


def _parts(text: str) -> Iterator[str]:
    part: list[str] = []
    size, opening = 0, ""
    for line in text.split("\n"):
        line = line[:_MAX_SECTION_CHARS]
        if part and size + len(line) > _MAX_SECTION_CHARS:
            yield "\n".join([*part, _closing_fence(opening)] if opening else part).strip()
            part, size = [opening] if opening else [], 0
        mark = _FENCE.match(line)
        if mark and (not opening or line.strip() == _closing_fence(opening)):
            opening = "" if opening else line.strip()
        part.append(line)
        size += len(line) + 1
    yield "\n".join(part).strip()


def _closing_fence(opening: str) -> str:
    mark = _FENCE.match(opening)
    return mark[1] if mark else ""
