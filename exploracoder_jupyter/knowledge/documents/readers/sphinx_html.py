"""Recovers APIs from the HTML that Sphinx and mkdocstrings generate from docstrings.

The content of an API's element is removed from the tree after it is read, inner ones first. So the description of a
class does not contain those of its members, and what remains of the page is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from exploracoder_jupyter.core.types import ApiDoc, ApiKind, Parameter
from exploracoder_jupyter.knowledge.documents.readers.signature_parser import (
    DIRECTIVE_KINDS,
    kind_of,
    make_api,
    parse_declaration,
)
from exploracoder_jupyter.text.html_markdown import to_markdown
from exploracoder_jupyter.text.html_tree import Node

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
