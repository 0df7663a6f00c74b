from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Self

from osterly._entries import Brief, Entry, Link, Revision
from osterly._errors import Binned, Conflict, NoSuchEntry, OsterlyError
from osterly._jobs import Batch, Job, Receipt
from osterly._pages import Page
from osterly._queries import read_query

if TYPE_CHECKING:
    from osterly._client import Client


class Session:
    """Work on one shelf. What it writes is its own until `commit`."""

    def __init__(self, client: Client, shelf: str) -> None:
        self._client = client
        self._shelf = shelf
        self._new = count(1)
        self._writes = 0
        self._clear()

    def _clear(self) -> None:
        self._changed: dict[str, tuple[int, Entry]] = {}
        self._links: list[Link] = []

    @property
    def shelf(self) -> str:
        return self._shelf

    @property
    def pending(self) -> tuple[str, ...]:
        """Ids of the entries that a commit would store."""
        return tuple(self._changed)

    def fetch(self, id: str) -> Entry:
        """The entry as it is now, with what this session has written."""
        self._client._request()
        return self._entry(id)

    def list(self, state: Literal["any", "live", "binned"] = "any", size: int = 10) -> Page:
        """Pages of the shelf's entries, the newest first."""
        self._client._request()
        return self._page((entry for entry in self._entries() if state in ("any", entry.state)), size)

    def search(self, query: str, size: int = 10) -> Page:
        """Pages of the entries that a query finds. See the page on searching."""
        self._client._request()
        test = read_query(query, self._client.now)
        return self._page((entry for entry in self._entries() if test(entry)), size)

    def add(self, title: str, tags: Iterable[str] = (), **fields: Any) -> Entry:
        """A new entry. Its id is a temporary one."""
        self._client._request(writes=True)
        entry = Entry(
            id=f"new-{next(self._new)}",
            shelf=self._shelf,
            title=title,
            tags=tuple(sorted(tags)),
            rev=0,
            created=self._client.now,
            _fields=fields,
        )
        self._write(entry)
        return entry

    def put(self, entry: Entry) -> Entry:
        """Store a changed entry, and return it with its new revision."""
        self._client._request(writes=True)
        return self._put(entry)

    def bin(self, id: str) -> None:
        self._client._request(writes=True)
        self._bin(id)

    def restore(self, id: str) -> Entry:
        self._client._request(writes=True)
        return self._restore(id)

    def link(self, start: str, end: str, role: str) -> Link:
        self._client._request(writes=True)
        link = Link(self._entry(start).id, role, self._entry(end).id)
        self._links.append(link)
        self._writes += 1
        return link

    def links(self, id: str, direction: Literal["out", "in"] = "out") -> tuple[Link, ...]:
        self._client._request()
        links = [*self._client._service._shelf(self._shelf).links, *self._links]
        return tuple(link for link in links if (link.start if direction == "out" else link.end) == id)

    def history(self, id: str) -> tuple[Revision, ...]:
        """The revisions of an entry that were committed, the newest first."""
        self._client._request()
        return tuple(reversed(self._client._service._shelf(self._shelf).history.get(id, ())))

    def batch(self) -> Batch:
        return Batch(self)

    def export(self, query: str = "") -> Job:
        """Export the entries that a query finds among those committed."""
        self._client._request()
        test = read_query(query, self._client.now)
        committed = self._client._service._shelf(self._shelf).entries.values()
        return Job(self, tuple(sorted(filter(test, committed), key=lambda entry: entry.created)))

    def commit(self) -> Receipt:
        """Store what was written, for everyone."""
        self._client._request(writes=True)
        ids = self._client._service._accept(self._shelf, self._changed, self._links)
        receipt = Receipt(len(self._changed), ids)
        self._clear()
        return receipt

    def discard(self) -> None:
        self._clear()
        self._writes += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.discard()

    def __repr__(self) -> str:
        return f"<Session on {self._shelf!r}, {len(self._changed)} entries to commit>"

    def _entry(self, id: str) -> Entry:
        committed = self._client._service._shelf(self._shelf).entries
        if id in self._changed:
            return self._changed[id][1]
        if id not in committed:
            hint = (
                " The receipt of the commit has the ids of new entries: receipt.ids." if id.startswith("new-") else ""
            )
            raise NoSuchEntry(f"There is no entry {id!r} on the shelf {self._shelf!r}.{hint}")
        return committed[id]

    def _entries(self) -> tuple[Entry, ...]:
        committed = self._client._service._shelf(self._shelf).entries
        ids = (*committed, *(id for id in self._changed if id not in committed))
        return tuple(self._entry(id) for id in reversed(ids))

    def _page(self, entries: Iterable[Entry], size: int) -> Page:
        found: tuple[Brief, ...] = tuple(entry.brief() for entry in entries)
        return Page(self, found, size)

    def _put(self, entry: Entry) -> Entry:
        current = self._entry(entry.id)
        if current.state == "binned":
            raise Binned(f"{entry.id} is in the bin. Take it out first: session.restore({entry.id!r}).")
        if current.rev != entry.rev:
            raise Conflict(
                f"{entry.id} has revision {current.rev}, and this is {entry.rev}. "
                f"Fetch it again with session.fetch({entry.id!r}) and repeat the change."
            )
        if current.fields.get("locked"):
            raise OsterlyError(f"{entry.id} is locked.")
        return self._write(replace(entry, rev=entry.rev + 1))

    def _bin(self, id: str) -> None:
        entry = self._entry(id)
        if entry.fields.get("locked"):
            raise OsterlyError(f"{id} is locked.")
        self._write(replace(entry, rev=entry.rev + 1, state="binned"))

    def _restore(self, id: str) -> Entry:
        entry = self._entry(id)
        return self._write(replace(entry, rev=entry.rev + 1, state="live"))

    def _write(self, entry: Entry) -> Entry:
        committed = self._client._service._shelf(self._shelf).entries.get(entry.id)
        began = self._changed[entry.id][0] if entry.id in self._changed else committed.rev if committed else 0
        self._changed[entry.id] = (began, entry)
        self._writes += 1
        return entry
