"""What is done for a session in one go: batches, exports, commits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from osterly._entries import Entry
from osterly._errors import BatchFull, NotReady, OsterlyError

if TYPE_CHECKING:
    from osterly._session import Session

LARGEST = 10


@dataclass(frozen=True)
class Receipt:
    """What a commit stored."""

    count: int
    ids: dict[str, str]
    """Ids of new entries, by those which they had before."""


@dataclass(frozen=True)
class Rejected:
    id: str
    reason: str


@dataclass(frozen=True)
class Report:
    done: tuple[str, ...]
    rejected: tuple[Rejected, ...]


class Batch:
    """Up to ten operations, sent as one request. Made by `Session.batch`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._operations: list[tuple[str, str | Entry]] = []

    def put(self, entry: Entry) -> Batch:
        return self._added("put", entry)

    def bin(self, id: str) -> Batch:
        return self._added("bin", id)

    def restore(self, id: str) -> Batch:
        return self._added("restore", id)

    def __len__(self) -> int:
        return len(self._operations)

    def send(self) -> Report:
        """Carry out the operations. Those that fail do not stop the others."""
        self._session._client._request(writes=True)
        done, rejected = [], []
        for verb, target in self._operations:
            name = target.id if isinstance(target, Entry) else target
            try:
                getattr(self._session, f"_{verb}")(target)
                done.append(name)
            except OsterlyError as error:
                rejected.append(Rejected(name, str(error)))
        self._operations = []
        return Report(tuple(done), tuple(rejected))

    def _added(self, verb: str, target: str | Entry) -> Batch:
        if len(self) >= LARGEST:
            raise BatchFull(f"A batch takes {LARGEST} operations. Call .send(), after which it is empty.")
        self._operations.append((verb, target))
        return self


@dataclass(frozen=True)
class Bundle:
    """Entries that were exported, by their age from the oldest."""

    entries: tuple[Entry, ...]

    def total(self, name: str) -> int:
        return sum(entry.fields.get(name, 0) for entry in self.entries)

    @property
    def digest(self) -> str:
        text = "\n".join(f"{entry.id} {entry.rev}" for entry in self.entries)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


class Job:
    """An export at work. Made by `Session.export`."""

    def __init__(self, session: Session, entries: tuple[Entry, ...]) -> None:
        self._session = session
        self._entries = entries
        self._ready_at = session._client.now + 1 + len(entries) // 5

    @property
    def ready(self) -> bool:
        return self._session._client.now >= self._ready_at

    def result(self) -> Bundle:
        left = self._ready_at - self._session._client.now
        if left > 0:
            raise NotReady(f"The export takes {left} more ticks. Wait for it with client.wait({left}).")
        return Bundle(self._entries)
