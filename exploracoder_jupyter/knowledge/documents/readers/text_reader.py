"""Reads plain text with signatures, stub files, and example programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.documents.document_set import Page, Section, find_programs
from exploracoder_jupyter.knowledge.documents.readers.signature_parser import (
    Signature,
    make_api,
    parse_declaration,
)

_ABOUT = re.compile(r"\s+(?:#|--|—|–|//)\s+|\s*:\s+(?=[A-Z])")
_MAX_LINES = 20_000
_MAX_LINE_CHARS = 2_000
_MIN_SIGNATURES = 2
"""With at least this many, lines that look like calls are taken for signatures."""


def read(text: str) -> Page:
    """Parse a text: each line that is a signature becomes an API.

    The rest of the line and the indented lines below it are the description.
    """
    lines = text.splitlines()[:_MAX_LINES]
    found = [(at, *one) for at, line in enumerate(lines) if (one := _parse_line(line))]
    chosen = found if len(found) >= _MIN_SIGNATURES or any(one[1].sure for one in found) else []
    title = next((line.strip() for line in lines if line.strip()), "")
    sections = () if len(chosen) > len(lines) / 3 else (Section(title, text, "line 1"),)
    return Page(title[:80], sections, tuple(_apis(lines, chosen)), find_programs(text))


def read_program(text: str) -> Page:
    """Parse a `.py` file as an example program; empty if it is not Python."""
    tree = parse_python(text)
    if not tree.body:
        return Page()
    about = (ast.get_docstring(tree) or "").strip().splitlines()
    return Page(sections=(Section(about[0] if about else "", text, code=True),), programs=(text.strip(),))


def _parse_line(line: str) -> tuple[Signature, str] | None:
    if len(line) > _MAX_LINE_CHARS:
        return None
    whole = parse_declaration(line)
    if whole and whole.signature:
        return whole, ""
    for mark in _ABOUT.finditer(line):
        found = parse_declaration(line[: mark.start()])
        if found and found.signature:
            return found, line[mark.end() :].strip()
    return None


def _apis(lines: Sequence[str], found: Sequence[tuple[int, Signature, str]]) -> Iterator[ApiDoc]:
    owner, depth = "", 0
    ends = [at for at, _, _ in found[1:]]
    for (at, one, about), end in zip(found, [*ends, len(lines)], strict=False):
        indent = _indent(lines[at])
        if indent <= depth:
            owner = ""
        under = "\n".join(line.strip() for line in _indented(lines[at + 1 : end], indent))
        description = "\n".join(filter(None, (about, under.replace('"""', "").strip())))
        kind = "method" if owner and one.kind == "function" else one.kind
        signature = re.sub(r"^\((?:self|cls)(?:, )?", "(", one.signature)
        yield make_api(f"{owner}{one.name}", kind, signature, description, place=f"line {at + 1}")
        if one.kind == "class":
            owner, depth = f"{one.name}.", indent


def _indented(lines: Sequence[str], indent: int) -> Iterator[str]:
    for line in lines:
        if line.strip() and _indent(line) <= indent:
            return
        yield line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
