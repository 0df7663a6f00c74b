"""Splits sections into passages: short enough for a prompt, and split within a block of code only if it is too long."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from exploracoder_jupyter.core.types import Passage
from exploracoder_jupyter.knowledge.documents.document_set import Page

MAX_PASSAGE_CHARS = 1_800
MIN_PASSAGE_CHARS = 40
"""A shorter text is only the remainder of a heading."""

_FENCE = re.compile(r"^[ \t]*(```|~~~)")


def page_passages(file: str, page: Page) -> Iterator[Passage]:
    """Yield the passages of a document named `file`."""
    seen: Counter[str] = Counter()
    for section in page.sections:
        for text in split_text(section.text):
            if len(text) < MIN_PASSAGE_CHARS:
                continue
            place = at_place(file, section.place)
            seen[place] += 1
            origin = place if seen[place] == 1 else f"{place}, part {seen[place]}"
            title = ": ".join(dict.fromkeys(filter(None, (page.title, section.title))))[:200]
            yield Passage("documentation", title or file, text, origin, code=section.code)


def split_text(text: str) -> Iterator[str]:
    """Split a text into parts of at most `MAX_PASSAGE_CHARS` characters, at blank lines if possible."""
    part = ""
    for block in _blocks(text):
        if part and len(part) + len(block) + 2 > MAX_PASSAGE_CHARS:
            yield part
            part = ""
        part = f"{part}\n\n{block}" if part else block
        while len(part) > MAX_PASSAGE_CHARS:
            cut = part.rfind("\n", MAX_PASSAGE_CHARS // 2, MAX_PASSAGE_CHARS)
            cut = cut if cut > 0 else MAX_PASSAGE_CHARS
            yield part[:cut].strip("\n")
            part = part[cut:].strip("\n")
    if part.strip():
        yield part


def _blocks(text: str) -> Iterator[str]:
    block: list[str] = []
    fence = ""
    for line in text.splitlines():
        if mark := _FENCE.match(line):
            fence = mark[1] if not fence else ("" if mark[1] == fence else fence)
        if line.strip() or fence:
            block.append(line)
        elif block:
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)


def at_place(file: str, place: str) -> str:
    """Return the origin of what is at a place of a document."""
    if not place:
        return file
    return f"{file}{place}" if place.startswith("#") else f"{file}, {place}"
