from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from osterly._entries import Entry, Link, Revision
from osterly._errors import Conflict, NoSuchEntry, Throttled
from osterly._moments import DAY

ALLOWANCE = 20


@dataclass
class Shelf:
    """What is stored of one shelf."""

    entries: dict[str, Entry] = field(default_factory=dict)
    history: dict[str, list[Revision]] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    count: int = 0


@dataclass
class Service:
    """A service in this process. Its clock stands still, unless a client waits."""

    now: int = 9000 * DAY
    _shelves: dict[str, Shelf] = field(default_factory=dict)
    _spent: dict[int, int] = field(default_factory=dict)

    @classmethod
    def with_entries(cls, shelves: Mapping[str, Iterable[Mapping[str, Any]]]) -> Service:
        """A service with shelves of entries, in the order of their making.

        An entry has a `title`, and may have `tags`, `state` and `age` (minutes); everything else is a field.
        """
        service = cls()
        for name, entries in shelves.items():
            service._shelves[name] = Shelf()
            for given in entries:
                service._store(name, service._entry(name, dict(given)))
        return service

    def _entry(self, shelf: str, given: dict[str, Any]) -> Entry:
        return Entry(
            id=self._new_id(shelf),
            shelf=shelf,
            title=given.pop("title"),
            tags=tuple(sorted(given.pop("tags", ()))),
            state=given.pop("state", "live"),
            created=self.now - given.pop("age", 0),
            _fields=given,
        )

    def _shelf(self, name: str) -> Shelf:
        if name not in self._shelves:
            raise NoSuchEntry(f"There is no shelf {name!r}. The shelves are {', '.join(self._shelves)}.")
        return self._shelves[name]

    def _new_id(self, shelf: str) -> str:
        self._shelf(shelf).count += 1
        return f"{shelf}-{self._shelf(shelf).count}"

    def _store(self, shelf: str, entry: Entry) -> None:
        stored = self._shelf(shelf)
        stored.entries[entry.id] = entry
        stored.history.setdefault(entry.id, []).append(Revision(entry.rev, entry, self.now))

    def _spend(self, client: int) -> None:
        """Count one request of a client."""
        if self._spent.get(client, 0) >= ALLOWANCE:
            raise Throttled(1)
        self._spent[client] = self._spent.get(client, 0) + 1

    def _wait(self, ticks: int) -> None:
        self.now += ticks
        self._spent.clear()

    def _accept(self, shelf: str, changed: Mapping[str, tuple[int, Entry]], links: Iterable[Link]) -> dict[str, str]:
        """Store what a session changed: by id, the revision it began with and the entry now.

        Returns the new ids by the temporary ones.
        """
        stored = self._shelf(shelf)
        lost = [name for name, (rev, _) in changed.items() if rev and stored.entries[name].rev != rev]
        if lost:
            raise Conflict(
                f"{', '.join(lost)} changed meanwhile. Call session.discard(), fetch again, and repeat the change."
            )
        ids = {name: self._new_id(shelf) for name, (rev, _) in changed.items() if not rev}
        for name, (_, entry) in changed.items():
            self._store(shelf, replace(entry, id=ids.get(name, name), rev=max(entry.rev, 1)))
        stored.links += [
            Link(ids.get(link.start, link.start), link.role, ids.get(link.end, link.end)) for link in links
        ]
        return ids
