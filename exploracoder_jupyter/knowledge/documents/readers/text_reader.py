"""Plain text of signatures, stub files, and example programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.knowledge.documents.document_page import Page, Section, programs
from exploracoder_jupyter.knowledge.documents.readers.written_signatures import Signature, api, declared, stubs

_ABOUT = re.compile(r"\s+(?:#|--|—|–|//)\s+|\s*:\s+(?=[A-Z])")
_MOST_LINES = 20_000
_LONGEST_LINE = 2_000
_FEW = 2
"""So many signatures make lines that look like calls a list of signatures."""


def read(text: str) -> Page:
    """The page of a text: each line that is a signature, with what stands behind it or indented under it."""
    lines = text.splitlines()[:_MOST_LINES]
    found = [(at, *one) for at, line in enumerate(lines) if (one := _line(line))]
    chosen = found if len(found) >= _FEW or any(one[1].sure for one in found) else []
    title = next((line.strip() for line in lines if line.strip()), "")
    sections = () if len(chosen) > len(lines) / 3 else (Section(title, text, "line 1"),)
    return Page(title[:80], sections, tuple(_apis(lines, chosen)), programs(text))


def read_stub(text: str) -> Page:
    """The page of a `.pyi` file: what it declares."""
    return Page(apis=tuple(stubs(text, among_others=True)))


def read_program(text: str) -> Page:
    """The page of a `.py` file: an example program, or nothing where it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Page()
    about = (ast.get_docstring(tree) or "").strip().splitlines()
    return Page(sections=(Section(about[0] if about else "", text, code=True),), programs=(text.strip(),))


def _line(line: str) -> tuple[Signature, str] | None:
    """The signature that a line begins with, and what it says of it. A method may be indented."""
    if len(line) > _LONGEST_LINE:
        return None
    whole = declared(line)
    if whole and whole.signature:
        return whole, ""
    for mark in _ABOUT.finditer(line):
        found = declared(line[: mark.start()])
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
        under = "\n".join(line.strip() for line in _under(lines[at + 1 : end], indent))
        description = "\n".join(filter(None, (about, under.replace('"""', "").strip())))
        kind = "method" if owner and one.kind == "function" else one.kind
        signature = re.sub(r"^\((?:self|cls)(?:, )?", "(", one.signature)
        yield api(f"{owner}{one.name}", kind, signature, description, place=f"line {at + 1}")
        if one.kind == "class":
            owner, depth = f"{one.name}.", indent


def _under(lines: Sequence[str], indent: int) -> Iterator[str]:
    """The lines that are indented deeper."""
    for line in lines:
        if line.strip() and _indent(line) <= indent:
            return
        yield line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
