"""Questions with their answers, from pages of Stack Exchange sites or from the Stack Exchange API.

Each post becomes a section with its address, author and license (as CC BY-SA requires): the accepted answer first, then
the question, then the other answers by score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from urllib.parse import urljoin, urlsplit

from pydantic import BaseModel, Field

from exploracoder_jupyter.text.characters import strip_invisible
from exploracoder_jupyter.text.hidden_content_removal import remove_hidden
from exploracoder_jupyter.text.html_markdown import to_markdown
from exploracoder_jupyter.text.html_tree import Node, parse_html
from exploracoder_jupyter.web.reading.page_sections import Section, split_section

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
