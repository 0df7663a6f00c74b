"""The pages (browser tabs) that have sent a hello, and requests to them that wait for an answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pages:
    """The connected pages. Thread-safe."""

    def __init__(self) -> None:
        self._sessions: dict[str, str] = {}
        """The page of each session: a page has one session for each of its notebooks."""
        self._unsupported = False
        self._confirmations: dict[tuple[str, str], int] = {}
        self._changed = threading.Condition()

    @property
    def any(self) -> bool:
        """Whether any page has ever sent a hello: without one nothing needs to be broadcast."""
        return bool(self._sessions)

    def add(self, page: str, session: str) -> None:
        """Add a page, connected with this session."""
        with self._changed:
            self._sessions[session] = page
            self._changed.notify_all()

    def find(self, session: str) -> str:
        """Return the page with this session; empty if none has sent a hello with it."""
        return self._sessions.get(session, "")

    def reset_unsupported(self) -> None:
        """Forget `mark_unsupported`; call this before the pages are notified of a calling cell."""
        self._unsupported = False

    def mark_unsupported(self) -> None:
        """Note that the front end of the calling cell has no pages, which ends all waits for a hello."""
        with self._changed:
            self._unsupported = True
            self._changed.notify_all()

    def wait_for_hello(self, session: str, *, until: float) -> str:
        """Wait for this session's page until that time (of the monotonic clock); empty if no hello arrives."""
        with self._changed:
            timeout = max(0.0, until - time.monotonic())
            self._changed.wait_for(lambda: self.find(session) or self._unsupported, timeout=timeout)
            return self.find(session)

    def confirm(self, page: str, run: str) -> None:
        """Record a page's confirmation that it still shows this run."""
        with self._changed:
            self._confirmations[page, run] = self._confirmations.get((page, run), 0) + 1
            self._changed.notify_all()

    def wait_for_confirmation(self, page: str, run: str, ask: Callable[[], None], *, seconds: float) -> bool:
        """Call `ask` and return whether the page confirms the run within this time."""
        with self._changed:
            before = self._confirmations.get((page, run), 0)
        ask()
        with self._changed:
            return self._changed.wait_for(lambda: self._confirmations.get((page, run), 0) > before, timeout=seconds)
