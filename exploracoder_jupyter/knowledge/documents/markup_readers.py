"""Reads Markdown, notebooks, HTML pages, and the inventories of Sphinx."""

from __future__ import annotations

import json
import re
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from textwrap import indent

from markdown_it import MarkdownIt

from exploracoder_jupyter.core.types import ApiDoc, ApiKind, Parameter
from exploracoder_jupyter.knowledge.documents import text_readers
from exploracoder_jupyter.knowledge.documents.documents import Page, Section, find_programs
from exploracoder_jupyter.knowledge.documents.signature_parser import (
    DIRECTIVE_KINDS,
    Signature,
    kind_of,
    make_api,
    parse_declaration,
    parse_stubs,
)
from exploracoder_jupyter.knowledge.extraction import docstrings
from exploracoder_jupyter.text.characters import encodable, fenced
from exploracoder_jupyter.text.html import Node, find_main_element, parse_html, remove_hidden, remove_menus, to_markdown

# Reads Markdown: its sections, and the APIs that headings, lists, tables and fenced stubs describe.

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


def read_markdown(text: str) -> Page:
    """Parse a Markdown text."""
    parts = _parts(_FRONT_MATTER.sub(lambda front: "\n" * front[0].count("\n"), text))
    title = next((part.title for part in parts if part.title), "")
    apis = [api for at, owner in enumerate(_owners(parts)) for api in _apis(parts, at, owner)]
    apis += [api for part in parts for code in part.directives for api in text_readers.read_rst(code).apis]
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
    names = {row.name.lstrip("*") for row in docstrings.parse_signature(signature)} if signature else set()
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


# Reads notebooks as Markdown, with code cells as fenced code. Outputs are left out, and nothing is run.

_MAGIC = re.compile(r"^[ \t]*[%!?].*$|^.*\?[ \t]*$", re.MULTILINE)


def read_notebook(text: str) -> Page:
    """Parse a notebook. Raises ValueError if it is not a notebook."""
    try:
        content = json.loads(text)
        cells = content.get("cells") or [cell for sheet in content.get("worksheets", ()) for cell in sheet["cells"]]
        markdown = "\n\n".join(_cells(cells))
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError("not a notebook") from error
    page = read_markdown(encodable(markdown))
    # Lines of the generated Markdown would mean nothing to a reader.
    sections = (replace(section, place=section.place.replace("line", "part")) for section in page.sections)
    return replace(page, sections=tuple(sections))


def _cells(cells: list[dict[str, object]]) -> Iterator[str]:
    for cell in cells:
        source = cell.get("source", cell.get("input", ""))
        text = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if cell["cell_type"] == "markdown":
            yield text
        elif cell["cell_type"] == "code" and not text.startswith("%%") and (code := _MAGIC.sub("", text).strip()):
            yield fenced(code, "python")


# Recovers APIs from the HTML that Sphinx and mkdocstrings generate from docstrings.
#
# The content of an API's element is removed from the tree after it is read, inner ones first. So the description of
# a class does not contain those of its members, and what remains of the page is prose.

_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_PARAMETERS = frozenset(("parameters", "other parameters", "arguments"))
_TYPE_AND_DESCRIPTION = re.compile(
    r"^\s*(?:\((?P<type>[^()]*(?:\([^()]*\)[^()]*)*)\))?\s*(?:[–—:-]+\s*)?(?P<about>.*)$", re.DOTALL
)


def take_apis(root: Node) -> list[ApiDoc]:
    """Return the APIs of a page in order, and remove the content of their elements from the tree."""
    found: list[ApiDoc] = []
    for node in reversed(list(root.walk())):
        apis = _from_sphinx(node) if node.tag == "dl" else _from_mkdocstrings(node) if node.tag == "div" else []
        if apis:
            found = [*apis, *found]
            node.children = []
    return found


def _from_sphinx(node: Node) -> list[ApiDoc]:
    kind = next((DIRECTIVE_KINDS[name] for name in sorted(node.classes) if name in DIRECTIVE_KINDS), None)
    if kind is None or node.classes & {"c", "cpp", "js", "std", "rst", "footnote"}:
        return []
    heads = [(child, path) for child in node.elements if child.tag == "dt" and _NAME.fullmatch(path := _path(child))]
    body = next((child for child in node.elements if child.tag == "dd"), None)
    return [_api(path, kind, _text_after_name(head), body) for head, path in heads]


def _path(head: Node) -> str:
    """Return the path of a signature line; further lines of the same API have no ID."""
    written = (child.text for child in head.elements if child.classes & {"descclassname", "descname"})
    return head.attributes.get("id") or "".join(written)


def _text_after_name(head: Node) -> str:
    """Return what follows the name in a signature line: `(x: int = 1) -> str`, or the type of an attribute."""
    parent = next((node for node in head.walk() if any("descname" in child.classes for child in node.elements)), None)
    if parent is None:
        return ""
    at = next(at for at, child in enumerate(parent.children) if isinstance(child, Node) and "descname" in child.classes)
    line = Node("", children=parent.children[at + 1 :]).text.replace("→", "->")
    return re.sub(r"\(\s+", "(", re.sub(r",?\s*\)", ")", line)).replace("->", " -> ").replace("  ", " ").strip()


def _from_mkdocstrings(node: Node) -> list[ApiDoc]:
    kinds = (name.removeprefix("doc-") for name in sorted(node.classes) if name.startswith("doc-"))
    kind = next((DIRECTIVE_KINDS[name] for name in kinds if name in DIRECTIVE_KINDS), None)
    head = next((child for child in node.elements if "doc-heading" in child.classes), None)
    path = head.attributes.get("id", "") if head else ""
    if "doc-object" not in node.classes or head is None or kind is None or not _NAME.fullmatch(path):
        return []
    body = next((child for child in node.elements if "doc-contents" in child.classes), None)
    signatures = list(node.find_all(tag="div", class_="doc-signature"))
    line = next((one.text for one in [*signatures, *head.find_all(tag="code")] if "(" in one.text), "")
    for one in signatures:
        one.children = []
    found = parse_declaration(re.sub(r"^[\w.]+", path, line)) if line else None
    return [_api(path, kind_of(path) if kind == "function" else kind, found.signature if found else "", body)]


def _api(path: str, kind: ApiKind, after: str, body: Node | None) -> ApiDoc:
    rows = tuple(_parameters(body)) if body is not None else ()
    signature = after if after.startswith("(") else ""
    type_ = "" if signature else after.lstrip(": ").partition(" = ")[0].lstrip("= ")
    described = "" if body is None else to_markdown(body)
    root = path.partition(".")[0] if "." in path else ""
    documented = make_api(path, kind, signature, described, library=root, place=f"#{path}")
    return replace(documented, parameters=rows, returns=type_)


def _parameters(body: Node) -> Iterator[Parameter]:
    for fields in body.find_all(tag="dl", class_="field-list"):
        for term, about in pairwise(fields.elements):
            if term.tag == "dt" and term.text.rstrip(":").lower() in _PARAMETERS:
                yield from _listed_parameters(about)
    for row in body.find_all(tag="tr", class_="doc-section-item"):
        cells = [cell.text for cell in row.find_all(tag="td")]
        if len(cells) >= 3 and _NAME.fullmatch(cells[0].lstrip("*")):
            yield Parameter(cells[0], cells[1], about=cells[2])


def _listed_parameters(node: Node) -> Iterator[Parameter]:
    lists = list(node.find_all(tag="dl"))
    for term, about in (pair for terms in lists for pair in pairwise(terms.elements) if pair[0].tag == "dt"):
        type_ = next((one.text for one in term.find_all(tag="span", class_="classifier")), "")
        yield Parameter(term.text.removesuffix(type_).strip(" :"), type_, about=about.text)
    for item in [] if lists else ([*node.find_all(tag="li")] or [*node.find_all(tag="p")]):
        name = next((one.text for one in item.find_all(tag="strong")), "")
        found = _TYPE_AND_DESCRIPTION.match(item.text.removeprefix(name))
        if name and found:
            yield Parameter(name, (found["type"] or "").strip(), about=found["about"].strip())


# Reads `objects.inv`: the names that a project's Sphinx documentation describes.

_MAX_BYTES = 32_000_000
_HEAD = re.compile(rb"# Sphinx inventory version 2\n# Project: (.*)\n# Version: (.*)\n#.*zlib.*\n")
_LINE = re.compile(r"(\S+) py:(\w+) -?\d+ (\S*) (.*)")


def read_inventory(body: bytes) -> Page:
    """Return the APIs that an inventory names, without descriptions; their place is where the HTML describes them.
    Raises ValueError if it is not an inventory of version 2, or is corrupt.
    """
    head = _HEAD.match(body)
    if not head:
        raise ValueError("not a Sphinx inventory")
    try:
        unpacked = zlib.decompressobj().decompress(body[head.end() :], _MAX_BYTES)
    except zlib.error as error:
        raise ValueError("a corrupt inventory") from error
    found = filter(None, map(_LINE.match, unpacked.decode("utf-8", "replace").splitlines()))
    apis = []
    for _, name, kind, place in (row.group(0, 1, 2, 3) for row in found):
        if kind in DIRECTIVE_KINDS and re.fullmatch(r"\w+(\.\w+)+", name):
            place = re.sub(r"\$\Z", name, place)  # the inventory abbreviates the name at the end
            api = make_api(name, DIRECTIVE_KINDS[kind], "", "", library=name.partition(".")[0], place=place)
            apis.append(api)
    project, version = (part.decode("utf-8", "replace") for part in head.groups())
    return Page(apis=tuple(apis), project=f"{project} {version}".strip())


# Reads HTML pages: the APIs that Sphinx or mkdocstrings describe in them, and the rest as Markdown.

_TOOL_CLASSES = frozenset(
    """viewcode-link viewcode-block viewcode-back linenos linenodiv prompt sphinxsidebar toctree-wrapper
    mkdocstrings-source breadcrumbs""".split()  # noqa: SIM905
)
"""Classes of what documentation tools add to the content."""


def read_html(text: str, *, xhtml: bool = False) -> Page:
    """Parse an HTML document. Raises MissingRequirement if the package that reads HTML is not installed; ValueError if
    it is empty.
    """
    root = parse_html(text, xhtml=xhtml)
    if not root.children:
        raise ValueError("not a page")
    title = next((node.text for node in root.find_all(tag="title")), "")
    remove_hidden(root)
    root.remove(lambda node: not _TOOL_CLASSES.isdisjoint(node.classes))
    remove_menus(root)
    apis = take_apis(root)
    page = read_markdown(to_markdown(_find_content(root)))
    described = {api.path for api in apis}
    others = (api for api in page.apis if api.path not in described)
    sections = tuple(replace(section, place=f"#{section.title}" if section.title else "") for section in page.sections)
    return replace(page, title=page.title or title, apis=(*apis, *others), sections=sections)


def _find_content(root: Node) -> Node:
    """Return the main element, which older versions of Sphinx and docutils mark by a class only."""
    main = find_main_element(root)
    classed = (list(root.find_all(tag="div", class_=class_)) for class_ in ("body", "document"))
    marked = next(filter(None, classed), []) if main is root else []
    return max(marked, key=lambda node: len(node.raw), default=main)
