"""Types shared by the web modules: a search hit, a page that was read, and the error raised on failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

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
