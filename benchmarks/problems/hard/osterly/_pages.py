from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from osterly._entries import Brief
from osterly._errors import CursorExpired, OsterlyError

if TYPE_CHECKING:
    from osterly._session import Session

LARGEST = 10


class Page:
    """Some of the entries that were asked for."""

    def __init__(self, session: Session, found: Sequence[Brief], size: int, start: int = 0) -> None:
        self._session = session
        self._found = found
        self._size = min(size, LARGEST)
        self._start = start
        self._writes = session._writes

    @property
    def entries(self) -> tuple[Brief, ...]:
        return tuple(self._found[self._start : self._start + self._size])

    @property
    def total(self) -> int:
        """Number of entries on all pages."""
        return len(self._found)

    @property
    def more(self) -> bool:
        return self._start + self._size < self.total

    def next(self) -> Page:
        """The page after this one."""
        if not self.more:
            raise OsterlyError("This is the last page: .more is False.")
        if self._writes != self._session._writes:
            raise CursorExpired("The session has written since. Read all pages before you write, or begin again.")
        self._session._client._request()
        return Page(self._session, self._found, self._size, self._start + self._size)

    def __iter__(self) -> Iterator[Brief]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<Page of {len(self)} of {self.total}{', more' if self.more else ''}>"
