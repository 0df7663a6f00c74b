"""Divides a page into sections of Markdown at its headings, which become the titles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from exploracoder_jupyter.text.characters import strip_invisible
from exploracoder_jupyter.text.html_markdown import to_blocks
from exploracoder_jupyter.text.html_tree import Node

_MARKDOWN_HEADING = re.compile(r"(#{1,6})\s+(.*?)(?:\s+#+)?\s*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_MAX_HEADING_CHARS = 500
_MAX_SECTION_CHARS = 3000
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
    found: list[tuple[Section, list[str]]] = [(Section(title, ""), [])]
    for block in to_blocks(node):
        if block.title:
            found.append((Section(block.title, "", block.anchor), []))
        if block.kind != "heading":
            found[-1][1].append(f"{block.text}\n")
    return list(_filled_sections(found))


def split_markdown(text: str, title: str = "") -> list[Section]:
    """Return the sections of a Markdown or plain text; lines in a fence are not headings."""
    found: list[tuple[Section, list[str]]] = [(Section(title, ""), [])]
    fence = ""
    for line in strip_invisible(text).split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        heading = None if fence or mark else _MARKDOWN_HEADING.match(line[:_MAX_HEADING_CHARS])
        if heading:
            found.append((Section(heading[2], ""), []))
        else:
            found[-1][1].append(line)
    return list(_filled_sections(found))


def _filled_sections(found: Iterable[tuple[Section, list[str]]]) -> Iterator[Section]:
    for section, lines in found:
        text = _collapse_blank_lines("\n".join(lines))
        if len(text) >= _MIN_SECTION_CHARS or "```" in text:
            yield from split_section(replace(section, text=text))


def _collapse_blank_lines(text: str) -> str:
    """Collapse blank lines between blocks to one, but keep those in code."""
    lines: list[str] = []
    fence = ""
    for line in map(str.rstrip, text.split("\n")):
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
        if line or fence or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip()


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
