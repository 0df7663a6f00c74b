"""Reads plain text with signatures, stub files, example programs, and reStructuredText."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from exploracoder_jupyter.core.python_code import parse_python
from exploracoder_jupyter.core.types import ApiDoc, ApiKind
from exploracoder_jupyter.knowledge.documents.documents import Page, Section, find_programs
from exploracoder_jupyter.knowledge.documents.signature_parser import (
    DIRECTIVE_KINDS,
    Signature,
    make_api,
    parse_declaration,
)

# Reads plain text with signatures, stub files, and example programs.

_ABOUT = re.compile(r"\s+(?:#|--|—|–|//)\s+|\s*:\s+(?=[A-Z])")
_MAX_LINES = 20_000
_MAX_LINE_CHARS = 2_000
_MIN_SIGNATURES = 2
"""With at least this many, lines that look like calls are taken for signatures."""


def read_text(text: str) -> Page:
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


# Reads reStructuredText: its sections, and the APIs that Sphinx directives describe.
#
# It is parsed by indentation, because docutils reports Sphinx's directives and roles as errors. Descriptions stay
# as written, like docstrings. Nothing is included, run or fetched, whatever a document asks for.

_DIRECTIVE = re.compile(r"(\s*)\.\. (?:(py):)?(\w+)::[ \t]*(.*)$")
_OPTION = re.compile(r"\s*:([\w-]+):[ \t]*(.*)$")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_<>])\1{2,}\s*$")
_ROLE = re.compile(r":[\w:+-]{1,60}:`[~!]?([^`<\n]{1,300})(?:<[^`>\n]{0,300}>)?`")
_SKIPPED_DIRECTIVES = re.compile(
    r"^([ \t]*)\.\. (?:auto\w+|toctree|include|contents|raw|image|figure|highlight)::[^\n]*"
    r"(?:\n(?:\1[ \t]+[^\n]*)?(?=\n|$))*",
    re.MULTILINE,
)
"""Directives without content of their own, or with content that must not be read."""
_MODULES = frozenset(("module", "currentmodule"))
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class _Declaration:
    """What a directive declares; without a path, the top level of a document."""

    path: str = ""
    library: str = ""
    """The import name that the path starts with, if a module was named."""
    kind: ApiKind = "function"
    signature: str = ""

    def __bool__(self) -> bool:
        return bool(self.path)

    @classmethod
    def of(cls, line: str, what: str, scope: _Declaration) -> _Declaration:
        """Return what a line declares inside a module or class; empty if it is not a name."""
        line = re.sub(r"^(?:async|abstract|static|class|def|property)\s+", "", line)
        found = parse_declaration(line)
        name, _, rest = line.partition("(")
        name = found.name if found else name.strip()
        path = name if not scope or name == scope.path or name.startswith(f"{scope.path}.") else f"{scope.path}.{name}"
        if not re.fullmatch(r"\w+(\.\w+)*", path):
            return cls()
        root = name.partition(".")[0] if "." in name and not name[0].isupper() else ""
        signature = found.signature if found else (f"({rest}" if rest else "")
        return cls(path, scope.library or root, DIRECTIVE_KINDS[what], signature)


@dataclass(slots=True)
class _State:
    scope: _Declaration = field(default_factory=_Declaration)
    apis: list[ApiDoc] = field(default_factory=list)


def read_rst(text: str) -> Page:
    """Parse a reST text."""
    lines = [line.rstrip() for line in text.expandtabs(8).splitlines()]
    state = _State()
    rest = _extract_apis(lines, state, owner=_Declaration(), first=1, depth=0)
    title = next((strip_roles(rest[at]) for at in range(len(rest)) if _is_heading(rest, at)), "")
    return Page(title, tuple(_sections(rest)), tuple(state.apis), find_programs("\n".join(rest)))


def strip_roles(text: str) -> str:
    """Convert roles to plain code (:func:`~a.f` becomes `a.f`) and remove directives without content."""
    return _ROLE.sub(r"`\1`", _SKIPPED_DIRECTIVES.sub("", text))


def _extract_apis(lines: Sequence[str], state: _State, *, owner: _Declaration, first: int, depth: int) -> list[str]:
    """Return the lines without the directives that describe an API, which are added to the state.

    Blank lines take their place, so that line numbers stay the same.
    """
    remaining: list[str] = []
    at = 0
    while at < len(lines):
        found = _DIRECTIVE.match(lines[at])
        if not found or found[3] not in (*DIRECTIVE_KINDS, *_MODULES) or depth >= _MAX_DEPTH:
            remaining.append(lines[at])
            at += 1
            continue
        end = _end(lines, at, len(found[1]))
        if found[3] in _MODULES:
            module = found[4].strip().removesuffix("None")
            state.scope = _Declaration(module, module.partition(".")[0])
            remaining += ["", *lines[at + 1 : end]]  # content under a module is prose
        else:
            _add_apis(found[3], lines[at:end], state, owner=owner, first=first + at, depth=depth)
            remaining += [""] * (end - at)
        at = end
    return remaining


def _end(lines: Sequence[str], at: int, indent: int) -> int:
    """Return where the block under line `at` ends: before the next line that is not indented more deeply."""
    for number in range(at + 1, len(lines)):
        if lines[number] and len(lines[number]) - len(lines[number].lstrip()) <= indent:
            return number
    return len(lines)


def _add_apis(what: str, block: Sequence[str], state: _State, *, owner: _Declaration, first: int, depth: int) -> None:
    written, options, begin = _parse_head(block)
    scope = _Declaration(options["module"], options["module"].partition(".")[0]) if "module" in options else owner
    heads = [head for line in written if (head := _Declaration.of(line, what, scope or state.scope))]
    began, inside = len(state.apis), heads[0] if heads and DIRECTIVE_KINDS[what] == "class" else owner
    content = textwrap.dedent("\n".join(block[begin:])).split("\n")
    rest = _extract_apis(content, state, owner=inside, first=first + begin, depth=depth + 1)
    description = strip_roles("\n".join(rest).strip())
    state.apis[began:began] = [
        make_api(head.path, head.kind, head.signature, description, library=head.library, place=f"line {first}")
        for head in heads
    ]


def _parse_head(block: Sequence[str]) -> tuple[list[str], dict[str, str], int]:
    """Return the signatures of a directive, its options, and the line at which its content begins."""
    found = _DIRECTIVE.match(block[0])
    written, options, at = [found[4] if found else ""], dict[str, str](), 1
    while at < len(block) and block[at]:
        option = _OPTION.match(block[at])
        if option:
            options[option[1]] = option[2].strip()
        elif not options:
            written.append(block[at].strip())
        at += 1
    return [line.rstrip("\\ ") for line in written], options, at


def _sections(lines: Sequence[str]) -> Iterator[Section]:
    heads = [at for at in range(len(lines)) if _is_heading(lines, at)]
    known = frozenset(heads)
    for begin, end in zip([0, *heads], [*heads, len(lines)], strict=True):
        heading = begin in known
        title = lines[begin].strip() if heading else ""
        body = lines[begin + 2 : end] if heading else lines[begin:end]
        if body and _UNDERLINE.match(body[-1]):  # the overline of the next title
            body = body[:-1]
        text = strip_roles("\n".join(body).strip("\n"))
        if text.strip():
            yield Section(strip_roles(title), text, f"line {begin + 1}")


def _is_heading(lines: Sequence[str], at: int) -> bool:
    if at + 1 >= len(lines) or not lines[at] or lines[at][0] in " .:" or _UNDERLINE.match(lines[at]):
        return False
    return bool(_UNDERLINE.match(lines[at + 1])) and len(lines[at + 1].rstrip()) >= min(len(lines[at].rstrip()), 100)
