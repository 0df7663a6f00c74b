"""Reads pages: their main content, sections, and questions with answers."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape, unescape
from typing import Final, Literal
from urllib.parse import urljoin, urlsplit

from pydantic import BaseModel, Field

from exploracoder_jupyter.text.characters import strip_invisible
from exploracoder_jupyter.text.html import Node, find_main_element, parse_html, remove_hidden, to_blocks, to_markdown

# Types shared by the web modules: a search hit, a page that was read, and the error raised on failure.

MAX_PAGE_BYTES: Final = 2_000_000
PageFormat = Literal["html", "markdown", "text", "questions"]
"""Format of a page's text; `questions` is a question with its answers as JSON from the Stack Exchange API."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One result of a search."""

    title: str
    address: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page that was read."""

    address: str
    """The final address, shown to users."""
    form: PageFormat
    text: str


class WebError(Exception):
    """A web request failed; the message is a sentence for the user."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status of the reply; 0 without a reply."""


SearchEngine = Callable[[str, int], Awaitable[Sequence[SearchHit]]]
"""Returns the best hits for a query, at most so many, best first. Raises WebError if the search fails."""
PageReader = Callable[[str], Awaitable[Page]]
"""Returns the page at the address of a hit. Raises WebError if it cannot be read, or must not be."""


# Divides a page into sections of Markdown at its headings, which become the titles.

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


# Questions with their answers, from pages of Stack Exchange sites or from the Stack Exchange API.
#
# Each post becomes a section with its address, author and license (as CC BY-SA requires): the accepted answer
# first, then the question, then the other answers by score.

_SITES = ("stackoverflow.com", "superuser.com", "serverfault.com", "askubuntu.com", "mathoverflow.net")
_QUESTION = re.compile(r"/(?:questions|q)/(\d+)(?:/|$)")
_MAX_ANSWERS = 3
_LICENCE = "CC BY-SA"


class _Owner(BaseModel):
    display_name: str = ""


class _Item(BaseModel):
    body: str = ""
    title: str = ""
    link: str = ""
    score: int = 0
    is_accepted: bool = False
    answer_id: int = 0
    content_license: str = ""
    owner: _Owner = _Owner()


class ApiReply(BaseModel):
    """A reply of the API; `backoff` is the number of seconds before the next request."""

    items: list[_Item] = Field(default_factory=list)
    backoff: float = 0


class Thread(BaseModel):
    """A question and its answers as one page."""

    address: str
    question: _Item
    answers: list[_Item]


@dataclass(frozen=True, slots=True)
class _Post:
    body: str
    author: str
    licence: str
    link: str
    score: int = 0
    accepted: bool = False


def parse_question_url(address: str) -> tuple[str, str] | None:
    """Return the site's name for the API and the question's number, if the address is that of a question."""
    host, found = _host(address), _QUESTION.match(urlsplit(address).path)
    return (host.removesuffix(".stackexchange.com").removesuffix(".com"), found[1]) if found and host else None


def is_question_page(root: Node, address: str) -> bool:
    """Return whether a page of a Stack Exchange site contains a question."""
    return bool(_host(address)) and any(root.find_all(id="question"))


def parse_api_thread(text: str) -> tuple[str, list[Section]]:
    """Return title and sections of a `Thread` in JSON."""
    thread = Thread.model_validate_json(text)
    answers = [_post_from_item(item, urljoin(thread.address, f"/a/{item.answer_id}")) for item in thread.answers]
    title = unescape(thread.question.title)
    return title, list(_sections(title, _post_from_item(thread.question, thread.address), answers))


def parse_question_page(root: Node, address: str) -> tuple[str, list[Section]]:
    """Return title and sections of a question page."""
    heading = next(root.find_all(class_="question-hyperlink"), None) or next(root.find_all(tag="h1"), None)
    title = heading.text if heading else ""
    question = _post_from_node(next(root.find_all(id="question")), address)
    answers = [
        _post_from_node(node, urljoin(address, f"/a/{node.attributes['data-answerid']}"))
        for node in root.find_all(class_="answer")
        if "data-answerid" in node.attributes
    ]
    return title, list(_sections(title, question, answers))


def _host(address: str) -> str:
    """Return the host of an address; empty if it is not a site of Stack Exchange."""
    host = (urlsplit(address).hostname or "").lower().removeprefix("www.")
    return host if host in _SITES or host.endswith((".stackexchange.com", ".stackoverflow.com")) else ""


def _sections(title: str, question: _Post, answers: Sequence[_Post]) -> Iterator[Section]:
    best = sorted(answers, key=lambda post: (not post.accepted, -post.score))[:_MAX_ANSWERS]
    posts = [(post, "accepted answer" if post.accepted else f"answer, score {post.score}") for post in best]
    posts.insert(1, (question, "the question"))
    for post, what in posts:
        if post.body:
            by = f"{post.licence}, by {post.author}" if post.author else post.licence
            yield from split_section(Section(f"{title} ({what})", post.body, post.link, by))


def _post_from_item(item: _Item, link: str) -> _Post:
    root = parse_html(item.body)
    remove_hidden(root)
    author = strip_invisible(unescape(item.owner.display_name))
    return _Post(to_markdown(root), author, item.content_license or _LICENCE, link, item.score, item.is_accepted)


def _post_from_node(node: Node, link: str) -> _Post:
    body = next(node.find_all(class_="js-post-body"), None) or next(node.find_all(class_="s-prose"), None)
    licences = (inner.attributes.get("data-se-share-sheet-license-name", "") for inner in node.walk())
    score = node.attributes.get("data-score", "0")
    return _Post(
        to_markdown(body) if body else "",
        _author(node),
        next(filter(None, licences), _LICENCE),
        link,
        int(score) if re.fullmatch(r"-?\d{1,9}", score) else 0,
        bool({"accepted-answer", "js-accepted-answer"} & node.classes),
    )


def _author(node: Node) -> str:
    for details in node.find_all(class_="user-details", itemprop="author"):
        return next((link.text for link in details.find_all(tag="a") if link.text), details.text)
    return ""


# Extracts the content of a page: questions with their answers, and the main text of any other page.
#
# The main text is the main element, what trafilatura finds, or the page without its surroundings.

_API = re.compile(r"[a-z_]\w*(?:\.\w+)+")
_MIN_MAIN_CHARS = 200
_MAX_HTML_CHARS = 500_000
_MAX_LINES = 30
_MIN_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page."""

    title: str
    sections: tuple[Section, ...]
    ordered: bool = False
    """Whether the best sections come first already."""


def extract_content(page: Page) -> PageContent:
    """Extract the visible content of a page. Any text is accepted."""
    if page.form == "questions":
        title, found = parse_api_thread(page.text)
        return PageContent(title, tuple(found), ordered=True)
    if page.form != "html":
        found = split_markdown(page.text)
        return PageContent(next((section.title for section in found if section.title), ""), tuple(found))
    root = parse_html(page.text)
    heading = next(root.find_all(tag="title"), None) or next(root.find_all(tag="h1"), None)
    title = heading.text[:200] if heading else ""
    remove_hidden(root)
    if is_question_page(root, page.address):
        title, found = parse_question_page(root, page.address)
        return PageContent(title, tuple(found), ordered=True)
    link = next((node for node in root.walk() if "license" in node.attributes.get("rel", "").split()), None)
    licence = (link.text or link.attributes.get("href", ""))[:100] if link else ""
    sections = extract_sections(find_main_content(root), title)
    return PageContent(title, tuple(replace(one, licence=licence, apis=_named_api(one)) for one in sections))


def _named_api(section: Section) -> tuple[str, ...]:
    return (section.anchor,) if _API.fullmatch(section.anchor) else ()


def find_main_content(root: Node) -> Node:
    """Return the element that contains the page's text. Navigation and the like are removed from `root`."""
    found = find_main_element(root)
    if found is not root and len(found.text) >= _MIN_MAIN_CHARS:
        return found
    lines = _main_lines(root)
    return _smallest_with(root, lines) if lines else root


def _main_lines(root: Node) -> list[str]:
    """Return the longest lines of the main text found by trafilatura.

    Empty if trafilatura is not installed, finds nothing, or would take too long.
    """
    try:
        import trafilatura
    except ImportError:
        return []
    html = "".join(_to_html(root))
    if len(html) > _MAX_HTML_CHARS:
        return []
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)  # it logs every page without text
    try:
        text = trafilatura.extract(html, include_comments=False, include_tables=True) or ""
    except Exception:  # it may fail in any way on arbitrary pages
        return []
    lines = (" ".join(line.split()).lstrip("-| ") for line in text.splitlines())
    return sorted(filter(None, lines), key=len, reverse=True)[:_MAX_LINES]


def _smallest_with(node: Node, lines: Sequence[str]) -> Node:
    wanted = _MIN_SHARE * _matched_chars(node, lines)
    while True:
        within = next((child for child in node.elements if _matched_chars(child, lines) >= max(wanted, 1)), None)
        if within is None:
            return node
        node = within


def _matched_chars(node: Node, lines: Sequence[str]) -> int:
    text = node.text
    return sum(len(line) for line in lines if line in text)


def _to_html(node: Node) -> Iterator[str]:
    if node.tag:
        named = ((name, node.attributes[name]) for name in ("id", "class") if name in node.attributes)
        attributes = "".join(f' {name}="{escape(value)}"' for name, value in named)
        yield f"<{node.tag}{attributes}>"
    for child in node.children:
        if isinstance(child, str):
            yield escape(child, quote=False)
        else:
            yield from _to_html(child)
    if node.tag:
        yield f"</{node.tag}>"
