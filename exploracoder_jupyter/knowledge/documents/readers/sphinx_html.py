"""Recovers APIs from the HTML that Sphinx and mkdocstrings generate from docstrings.

An API's element is removed from the tree after it is read, inner ones first. So the description of a class does not
contain those of its members, and what remains of the page is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from exploracoder_jupyter.core.types import ApiDoc, ApiKind, Parameter
from exploracoder_jupyter.knowledge.documents.readers import html_to_markdown
from exploracoder_jupyter.knowledge.documents.readers.html_to_markdown import Node, classes, text_line
from exploracoder_jupyter.knowledge.documents.readers.signature_parser import (
    DIRECTIVE_KINDS,
    kind_of,
    make_api,
    parse_declaration,
)

_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_TYPE_AND_DESCRIPTION = re.compile(
    r"^\s*(?:\((?P<type>[^()]*(?:\([^()]*\)[^()]*)*)\))?\s*(?:[–—:-]+\s*)?(?P<about>.*)$", re.DOTALL
)


def take_apis(root: Node) -> list[ApiDoc]:
    """Return the APIs of a page in order, and remove their elements from the tree."""
    found: list[ApiDoc] = []
    for node in reversed(list(root.iter("dl", "div"))):
        apis = _from_sphinx(node) if node.tag == "dl" else _from_mkdocstrings(node)
        if apis:
            found = [*apis, *found]
            node.drop_tree()
    return found


def _from_sphinx(node: Node) -> list[ApiDoc]:
    kind = next((DIRECTIVE_KINDS[name] for name in (node.get("class") or "").split() if name in DIRECTIVE_KINDS), None)
    heads = [(child, path) for child in node if child.tag == "dt" and _NAME.fullmatch(path := _path(child))]
    if kind is None or not heads or classes(node) & {"c", "cpp", "js", "std", "rst", "footnote"}:
        return []
    body = next((child for child in node if child.tag == "dd"), None)
    return [_api(path, kind, _text_after_name(head), body) for head, path in heads]


def _path(head: Node) -> str:
    """Return the path of a signature line; further lines of the same API have no ID."""
    written = (text_line(one) for one in head if classes(one) & {"descclassname", "descname"})
    return str(head.get("id") or "".join(written))


def _text_after_name(head: Node) -> str:
    """Return what follows the name in a signature line: `(x: int = 1) -> str`, or the type of an attribute."""
    name = next((child for child in head.iter() if "descname" in classes(child)), None)
    if name is None:
        return ""
    rest = [name.tail or ""]
    rest += [
        f"{text_line(one)}{one.tail or ''}" if not html_to_markdown.is_noise(one) else (one.tail or "")
        for one in name.itersiblings()
    ]
    line = " ".join("".join(rest).replace("→", "->").split())
    return re.sub(r"\(\s+", "(", re.sub(r",?\s*\)", ")", line)).replace("->", " -> ").replace("  ", " ").strip()


def _from_mkdocstrings(node: Node) -> list[ApiDoc]:
    kinds = {name.removeprefix("doc-") for name in classes(node) if name.startswith("doc-")}
    kind = next((DIRECTIVE_KINDS[name] for name in kinds if name in DIRECTIVE_KINDS), None)
    head = next((child for child in node if "doc-heading" in classes(child)), None)
    if "doc-object" not in classes(node) or head is None or kind is None or not _NAME.fullmatch(head.get("id") or ""):
        return []
    path = str(head.get("id"))
    body = next((child for child in node if "doc-contents" in classes(child)), None)
    signatures = [one for one in node.iter("div") if "doc-signature" in classes(one)]
    line = next((text_line(one) for one in [*signatures, *head.iter("code")] if "(" in text_line(one)), "")
    for one in signatures:
        one.drop_tree()
    found = parse_declaration(re.sub(r"^[\w.]+", path, line)) if line else None
    return [_api(path, kind_of(path) if kind == "function" else kind, found.signature if found else "", body)]


def _api(path: str, kind: ApiKind, after: str, body: Node | None) -> ApiDoc:
    rows = tuple(_parameters(body)) if body is not None else ()
    signature = after if after.startswith("(") else ""
    type_ = "" if signature else after.lstrip(": ").partition(" = ")[0].lstrip("= ")
    described = "" if body is None else html_to_markdown.to_markdown(body)
    root = path.partition(".")[0] if "." in path else ""
    documented = make_api(path, kind, signature, described, library=root, place=f"#{path}")
    return replace(documented, parameters=rows, returns=type_)


def _parameters(body: Node) -> Iterator[Parameter]:
    """Yield the parameters in field lists and parameter tables."""
    for field in body.iter("dl"):
        if "field-list" in classes(field):
            for term in field:
                if term.tag == "dt" and text_line(term).rstrip(":").lower() in (
                    "parameters",
                    "other parameters",
                    "arguments",
                ):
                    yield from _listed_parameters(term.getnext())
    for row in body.iter("tr"):
        if "doc-section-item" in classes(row):
            cells = [text_line(cell) for cell in row.iter("td")]
            if len(cells) >= 3 and _NAME.fullmatch(cells[0].lstrip("*")):
                yield Parameter(cells[0], cells[1], about=cells[2])


def _listed_parameters(node: Node | None) -> Iterator[Parameter]:
    if node is None:
        return
    terms = [(term, term.getnext()) for term in node.iter("dt")]
    for term, about in terms:
        type_ = next((text_line(one) for one in term.iter("span") if "classifier" in classes(one)), "")
        name = text_line(term).removesuffix(type_).strip(" :")
        yield Parameter(name, type_, about="" if about is None else text_line(about))
    for item in [] if terms else ([*node.iter("li")] or [*node.iter("p")]):
        name = next((text_line(one) for one in item.iter("strong")), "")
        found = _TYPE_AND_DESCRIPTION.match(text_line(item).removeprefix(name))
        if name and found:
            yield Parameter(name, (found["type"] or "").strip(), about=found["about"].strip())
