"""The pages (browser tabs) that have said hello, and questions to them that wait for an answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pages:
    """Who is there. From any thread."""

    def __init__(self) -> None:
        self._sessions: dict[str, str] = {}
        """The page of each connection: a page has one for each of its notebooks."""
        self._alone = False
        self._here: dict[tuple[str, str], int] = {}
        self._news = threading.Condition()

    @property
    def any(self) -> bool:
        """Whether a page has ever said hello: without one nothing needs to be told."""
        return bool(self._sessions)

    def hello(self, page: str, session: str) -> None:
        """A page is there, with this session of its connection."""
        with self._news:
            self._sessions[session] = page
            self._news.notify_all()

    def of(self, session: str) -> str:
        """The page with this session; empty if none has said hello with it."""
        return self._sessions.get(session, "")

    def called(self) -> None:
        """Pages are about to hear that a cell calls."""
        self._alone = False

    def nobody(self) -> None:
        """The front end that was called knows nothing of pages; whoever waits for its hello need not."""
        with self._news:
            self._alone = True
            self._news.notify_all()

    def expect(self, session: str, *, until: float) -> str:
        """Wait for the hello of this session's page until then (by the monotonic clock); empty if it does not come."""
        with self._news:
            self._news.wait_for(lambda: self.of(session) or self._alone, timeout=max(0.0, until - time.monotonic()))
            return self.of(session)

    def here(self, page: str, run: str) -> None:
        """A page says that it is still there for this run."""
        with self._news:
            self._here[page, run] = self._here.get((page, run), 0) + 1
            self._news.notify_all()

    def answers(self, page: str, run: str, ask: Callable[[], None], *, seconds: float) -> bool:
        """Whether the page says so within this time of being asked."""
        with self._news:
            before = self._here.get((page, run), 0)
        ask()
        with self._news:
            return self._news.wait_for(lambda: self._here.get((page, run), 0) > before, timeout=seconds)
