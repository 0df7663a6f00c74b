"""Reads Markdown: its sections, and the APIs that headings, lists, tables and fenced stubs describe."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from textwrap import indent

from markdown_it import MarkdownIt

from exploracoder_jupyter.core.types import ApiDoc, Parameter
from exploracoder_jupyter.knowledge.documents.document_set import Page, Section, find_programs
from exploracoder_jupyter.knowledge.documents.readers import rst_reader
from exploracoder_jupyter.knowledge.documents.readers.signature_parser import (
    Signature,
    make_api,
    parse_declaration,
    parse_stubs,
)
from exploracoder_jupyter.knowledge.extraction import api_parameters

_FRONT_MATTER = re.compile(r"\A---\n.*?\n(?:---|\.\.\.)\n", re.DOTALL)
_ROW = re.compile(
    r"(?:[-*+]\s+|\|\s*|\d+[.)]\s+)(?:\*\*|__)?`(?P<code>[^`\n]+)`(?:\*\*|__)?\s*(?:[:|]|—|–|--?)\s*(?P<about>[^|\n]*)"
)
_DECORATION = re.compile(r"[`*\\]|\s*(?:\{[^{}]*\}|¶|#+\s*$)|\[(?:source|link)\]|<[^<>]*>")
_TITLE_FORMATTING = re.compile(rf"`([^`]*)`|{_DECORATION.pattern}")
"""Formatting of a heading, except inside inline code."""
_KIND = re.compile(r"^(?:(?:async|class|static)?\s*(?:function|method|property|attribute)|class)\s+")
_FIELD = re.compile(
    r"\s*(?:[-*+]|\|)\s+(?:\*\*)?`?(?P<name>\*{0,2}[A-Za-z_]\w*)`?(?:\*\*)?\s*(?:[(|]\s*(?P<type>[^()|]{1,80})[)]?\s*)?"
    r"(?:[:|]|—|–|--?)\s+(?P<about>[^|\n]+)"
)
_FILE_NAME = re.compile(r"\.(?:md|rst|txt|py|pyi|json|ya?ml|toml|ini|cfg|html?|csv|ipynb|sh|com|org|io|net)$")
_FENCED = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)
_PYTHON = frozenset(("", "python", "py", "python3", "pycon", "pyi"))
_MAX_ROWS = 3_000
_MAX_PARTS = 5_000
_MAX_SUBSECTIONS = 20


@dataclass(frozen=True, slots=True)
class _Part:
    title: str
    level: int
    line: int
    text: str
    codes: tuple[str, ...]
    directives: tuple[str, ...]


def read(text: str) -> Page:
    """Parse a Markdown text."""
    parts = _parts(_FRONT_MATTER.sub(lambda front: "\n" * front[0].count("\n"), text))
    title = next((part.title for part in parts if part.title), "")
    apis = [api for at, owner in enumerate(_owners(parts)) for api in _apis(parts, at, owner)]
    apis += [api for part in parts for code in part.directives for api in rst_reader.read(code).apis]
    return Page(
        title=strip_formatting(title),
        sections=tuple(
            Section(strip_formatting(part.title or title), part.text, f"line {part.line + 1}")
            for part in parts
            if part.text.strip()
        ),
        apis=tuple(apis),
        programs=find_programs(text),
    )


def strip_formatting(title: str) -> str:
    """Strip the formatting of a heading."""
    return _DECORATION.sub("", title).strip()


def _parts(text: str) -> list[_Part]:
    tokens = MarkdownIt("commonmark", {"maxNesting": 40}).disable(["html_block", "inline"]).parse(text)
    lines = text.splitlines()
    heads = [
        (tokens[at + 1].content.strip(), int(token.tag[1:]), token.map[0], token.map[1])
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.map and token.level == 0
    ]
    blocks = [(token.map[0], token.info, token.content) for token in tokens if token.type == "fence" and token.map]
    heads = [("", 0, 0, 0), *heads[:_MAX_PARTS]]
    ends = [*(head[2] for head in heads[1:]), len(lines)]
    rows = [at for at, _, _ in blocks]
    return [
        _part(head, "\n".join(lines[head[3] : end]), blocks[bisect_left(rows, head[3]) : bisect_left(rows, end)])
        for head, end in zip(heads, ends, strict=True)
    ]


def _part(head: tuple[str, int, int, int], text: str, blocks: Sequence[tuple[int, str, str]]) -> _Part:
    title, level, line, _ = head
    codes = tuple(code for _, info, code in blocks if info.strip().partition(" ")[0].lower().strip("{}.") in _PYTHON)
    directives = tuple(_directive(info, code) for _, info, code in blocks if info.startswith("{"))
    return _Part(title, level, line, text.strip("\n"), codes, directives)


def _directive(info: str, code: str) -> str:
    name, _, argument = info[1:].partition("}")
    options = "".join(takewhile(lambda line: line.startswith(":"), code.splitlines(keepends=True)))
    body = f"{options}\n{code[len(options) :]}"
    return code if name == "eval-rst" else f".. {name}::{argument}\n{indent(body, '   ')}"


def _apis(parts: Sequence[_Part], at: int, owner: str) -> Iterator[ApiDoc]:
    part = parts[at]
    place = f"line {part.line + 1}"
    own = _section_signature(part)
    if own:
        above = owner if "." not in own.name else ""
        description = _with_subsections(parts, at)
        documented = make_api(
            f"{above}{own.name}", "method" if above else own.kind, own.signature, description, place=place
        )
        yield replace(documented, parameters=tuple(_fields(description, own.signature)))
    for one in (one for code in part.codes for one in parse_stubs(code)):
        if not own or one.path != own.name:
            yield replace(one, description=one.description or _FENCED.sub("", part.text).strip(), origin=place)
    for row, about in _rows(part):
        yield make_api(row.name, row.kind, row.signature, about, place=place)


def _section_signature(part: _Part) -> Signature | None:
    found = parse_title(part.title) if part.title else None
    return found if found and found.signature not in ("", "()") else _signature_in_fence(part) or found


def parse_title(title: str) -> Signature | None:
    """Return what a heading declares: a signature, or a dotted name that is not a file name."""
    name = _TITLE_FORMATTING.sub(lambda shown: shown[1] or "", title).strip()
    found = parse_declaration(name)
    if found:
        return found if found.signature or name.startswith("class ") else None
    if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)+", name) and not _FILE_NAME.search(name):
        return parse_declaration(f"{'function' if name.rpartition('.')[2].islower() else 'class'} {name}")
    return None


def _signature_in_fence(part: _Part) -> Signature | None:
    """Return the signature at the start of the section's first code block, if the heading is its name."""
    name = _KIND.sub("", strip_formatting(part.title)).rpartition(".")[2].removesuffix("()")
    if not name.isidentifier() or not part.codes:
        return None
    found = parse_declaration(part.codes[0].strip().removesuffix("...").split("\n\n")[0])
    return found if found and found.name.rpartition(".")[2] == name else None


def _owners(parts: Sequence[_Part]) -> Iterator[str]:
    """Yield, for each section, the name of the class whose section contains it, with a trailing dot."""
    above: list[tuple[int, str]] = []
    for part in parts:
        above = [(level, name) for level, name in above if level < part.level]
        yield next((name for _, name in reversed(above) if name), "")
        found = _section_signature(part)
        above.append((part.level, f"{found.name}." if found and found.kind == "class" else ""))


def _with_subsections(parts: Sequence[_Part], at: int) -> str:
    """Return the section's text with that of its subsections, up to the first one that describes an API itself."""
    texts = [parts[at].text]
    for part in parts[at + 1 : at + 1 + _MAX_SUBSECTIONS]:
        if part.level <= parts[at].level or _section_signature(part):
            break
        texts.append(f"{strip_formatting(part.title)}:\n{part.text}")
    return "\n\n".join(filter(None, texts))


def _fields(text: str, signature: str) -> Iterator[Parameter]:
    """Yield the parameters described by list items such as `- host (str): where to`."""
    names = {row.name.lstrip("*") for row in api_parameters.parse_signature(signature)} if signature else set()
    for line in text.splitlines()[:_MAX_ROWS]:
        row = _FIELD.match(line)
        if row and row["name"].lstrip("*") in names:
            yield Parameter(row["name"], (row["type"] or "").strip("` "), about=row["about"].strip())


def _rows(part: _Part) -> Iterator[tuple[Signature, str]]:
    fenced = False
    for line in part.text.splitlines()[:_MAX_ROWS]:
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        row = None if fenced else _ROW.match(line.strip())
        found = parse_declaration(row["code"]) if row else None
        if row and found and found.signature:
            yield found, row["about"].strip()
