"""reStructuredText: its sections, and the APIs that Sphinx's directives describe.

Read by its indentation. docutils would make errors of Sphinx's directives and roles; and descriptions stay as they are
written, like docstrings. So nothing is included, run or fetched, whatever a document asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from exploracoder_jupyter.core.types import ApiDoc, ApiKind
from exploracoder_jupyter.knowledge.documents.document_page import Page, Section, programs
from exploracoder_jupyter.knowledge.documents.readers.written_signatures import KINDS, api, declared

_DIRECTIVE = re.compile(r"(\s*)\.\. (?:(py):)?(\w+)::[ \t]*(.*)$")
_OPTION = re.compile(r"\s*:([\w-]+):[ \t]*(.*)$")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_<>])\1{2,}\s*$")
_ROLE = re.compile(r":[\w:+-]{1,60}:`[~!]?([^`<\n]{1,300})(?:<[^`>\n]{0,300}>)?`")
_UNTOLD = re.compile(
    r"^([ \t]*)\.\. (?:auto\w+|toctree|include|contents|raw|image|figure|highlight)::[^\n]*"
    r"(?:\n(?:\1[ \t]+[^\n]*)?(?=\n|$))*",
    re.MULTILINE,
)
"""Directives that say nothing by themselves, or what is not to be read."""
_MODULES = frozenset(("module", "currentmodule"))
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class _Head:
    """What a directive declares; without a path the top of a document."""

    path: str = ""
    library: str = ""
    """The import name that the path begins with, where a module was named."""
    kind: ApiKind = "function"
    signature: str = ""

    def __bool__(self) -> bool:
        return bool(self.path)

    @classmethod
    def of(cls, line: str, what: str, above: _Head) -> _Head:
        """What a line declares below a module or class; nothing where it is no name."""
        line = re.sub(r"^(?:async|abstract|static|class|def|property)\s+", "", line)
        found = declared(line)
        name, _, rest = line.partition("(")
        name = found.name if found else name.strip()
        path = name if not above or name == above.path or name.startswith(f"{above.path}.") else f"{above.path}.{name}"
        if not re.fullmatch(r"\w+(\.\w+)*", path):
            return cls()
        root = name.partition(".")[0] if "." in name and not name[0].isupper() else ""
        signature = found.signature if found else (f"({rest}" if rest else "")
        return cls(path, above.library or root, KINDS[what], signature)


@dataclass(slots=True)
class _State:
    """What the directives so far have said."""

    above: _Head = field(default_factory=_Head)
    """The module."""
    apis: list[ApiDoc] = field(default_factory=list)


def read(text: str) -> Page:
    """The page of a reST text."""
    lines = [line.rstrip() for line in text.expandtabs(8).splitlines()]
    state = _State()
    rest = _taken(lines, state, owner=_Head(), first=1, depth=0)
    title = next((plain(rest[at]) for at in range(len(rest)) if _is_heading(rest, at)), "")
    return Page(title, tuple(_sections(rest)), tuple(state.apis), programs("\n".join(rest)))


def plain(text: str) -> str:
    """A text with its roles as plain code, :func:`~a.f` as `a.f`, and without directives that say nothing."""
    return _ROLE.sub(r"`\1`", _UNTOLD.sub("", text))


def _taken(lines: Sequence[str], state: _State, *, owner: _Head, first: int, depth: int) -> list[str]:
    """The lines without the directives that describe an API, which are put into the state. Blank lines stand for
    those, so that the others keep their numbers."""
    kept: list[str] = []
    at = 0
    while at < len(lines):
        found = _DIRECTIVE.match(lines[at])
        if not found or found[3] not in (*KINDS, *_MODULES) or depth >= _DEEPEST:
            kept.append(lines[at])
            at += 1
            continue
        end = _end(lines, at, len(found[1]))
        if found[3] in _MODULES:
            module = found[4].strip().removesuffix("None")
            state.above = _Head(module, module.partition(".")[0])
            kept += ["", *lines[at + 1 : end]]  # what stands under a module is prose
        else:
            _describe(found[3], lines[at:end], state, owner=owner, first=first + at, depth=depth)
            kept += [""] * (end - at)
        at = end
    return kept


def _end(lines: Sequence[str], at: int, indent: int) -> int:
    """Where the block under line `at` ends: before the next line that is not indented deeper."""
    for number in range(at + 1, len(lines)):
        if lines[number] and len(lines[number]) - len(lines[number].lstrip()) <= indent:
            return number
    return len(lines)


def _describe(what: str, block: Sequence[str], state: _State, *, owner: _Head, first: int, depth: int) -> None:
    written, options, begin = _head(block)
    above = _Head(options["module"], options["module"].partition(".")[0]) if "module" in options else owner
    heads = [head for line in written if (head := _Head.of(line, what, above or state.above))]
    began, inside = len(state.apis), heads[0] if heads and KINDS[what] == "class" else owner
    rest = _taken(_dedented(block[begin:]), state, owner=inside, first=first + begin, depth=depth + 1)
    told = plain("\n".join(rest).strip())
    state.apis[began:began] = [
        api(head.path, head.kind, head.signature, told, library=head.library, place=f"line {first}") for head in heads
    ]


def _head(block: Sequence[str]) -> tuple[list[str], dict[str, str], int]:
    """The signatures of a directive, its options, and the line that its content begins at."""
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


def _dedented(lines: Sequence[str]) -> list[str]:
    depth = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[depth:] for line in lines]


def _sections(lines: Sequence[str]) -> Iterator[Section]:
    heads = [at for at in range(len(lines)) if _is_heading(lines, at)]
    known = frozenset(heads)
    for begin, end in zip([0, *heads], [*heads, len(lines)], strict=True):
        heading = begin in known
        title = lines[begin].strip() if heading else ""
        body = lines[begin + 2 : end] if heading else lines[begin:end]
        if body and _UNDERLINE.match(body[-1]):  # the line over the next title
            body = body[:-1]
        text = plain("\n".join(body).strip("\n"))
        if text.strip():
            yield Section(plain(title), text, f"line {begin + 1}")


def _is_heading(lines: Sequence[str], at: int) -> bool:
    if at + 1 >= len(lines) or not lines[at] or lines[at][0] in " .:" or _UNDERLINE.match(lines[at]):
        return False
    return bool(_UNDERLINE.match(lines[at + 1])) and len(lines[at + 1].rstrip()) >= min(len(lines[at].rstrip()), 100)
