from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

State = Literal["live", "binned"]


@dataclass(frozen=True)
class Brief:
    """An entry as it is on a page."""

    id: str
    title: str
    state: State


@dataclass(frozen=True)
class Entry:
    """One revision of an entry. It is a value: what is changed is a copy, which `Session.put` stores."""

    id: str
    shelf: str
    title: str
    tags: tuple[str, ...] = ()
    rev: int = 1
    state: State = "live"
    created: int = 0
    _fields: dict[str, Any] = field(default_factory=dict)

    @property
    def fields(self) -> dict[str, Any]:
        return dict(self._fields)

    def titled(self, title: str) -> Entry:
        return replace(self, title=title)

    def with_fields(self, **fields: Any) -> Entry:
        return replace(self, _fields={**self._fields, **fields})

    def only_fields(self, **fields: Any) -> Entry:
        return replace(self, _fields=fields)

    def tagged(self, *tags: str) -> Entry:
        """A copy with these tags besides its own, from A to Z."""
        return replace(self, tags=tuple(sorted({*self.tags, *tags})))

    def untagged(self, *tags: str) -> Entry:
        return replace(self, tags=tuple(tag for tag in self.tags if tag not in tags))

    def brief(self) -> Brief:
        return Brief(self.id, self.title, self.state)


@dataclass(frozen=True)
class Link:
    start: str
    role: str
    end: str


@dataclass(frozen=True)
class Revision:
    rev: int
    entry: Entry
    at: int
