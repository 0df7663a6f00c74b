"""What passes between the parts: a hit of a search, a page that was read, and why something could not be had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Form = Literal["html", "markdown", "text", "questions"]
"""What a page's text is; `questions`: a question and its answers as the Stack Exchange API gives them, in JSON."""

BIGGEST = 2_000_000
"""Bytes of one page."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a search."""

    title: str
    address: str
    summary: str = ""
    """What the search engine shows of it."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was read."""

    address: str
    """Where it was in the end; for people."""
    form: Form
    text: str


class WebError(Exception):
    """Something of the web could not be had; the message is a sentence for people."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status
        """What the site answered; 0 where it answered nothing."""


class Provider(Protocol):
    """Something that can be searched. Implementations: DuckDuckGo, SearXNG, a template, a folder."""

    async def find(self, query: str, most: int) -> Sequence[Hit]:
        """The best hits, best first.

        Raises:
            WebError: it cannot be searched.
        """
        ...


class Reader(Protocol):
    """Something that reads what a hit points to."""

    async def read(self, address: str) -> Page:
        """The page.

        Raises:
            WebError: it cannot be read, or may not be.
        """
        ...
