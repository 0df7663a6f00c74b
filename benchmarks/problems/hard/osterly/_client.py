from __future__ import annotations

from itertools import count
from typing import Literal

from osterly._errors import Forbidden
from osterly._service import ALLOWANCE, Service
from osterly._session import Session

Role = Literal["reader", "editor"]

_NUMBERS = count(1)


class Client:
    """A connection to a service. It may make 20 requests in each tick (a minute of the service's clock)."""

    def __init__(self, service: Service, role: Role) -> None:
        self._service = service
        self._role = role
        self._number = next(_NUMBERS)

    @property
    def role(self) -> str:
        return self._role

    @property
    def allowance(self) -> int:
        """Requests that are left in this tick."""
        return ALLOWANCE - self._service._spent.get(self._number, 0)

    @property
    def now(self) -> int:
        return self._service.now

    def wait(self, ticks: int = 1) -> None:
        self._service._wait(ticks)

    def shelves(self) -> list[str]:
        self._request()
        return list(self._service._shelves)

    def open(self, shelf: str) -> Session:
        """A session on a shelf."""
        self._request()
        self._service._shelf(shelf)
        return Session(self, shelf)

    def _request(self, *, writes: bool = False) -> None:
        if writes and self._role != "editor":
            raise Forbidden("A reader cannot write. Connect as editor: osterly.connect(service, role='editor').")
        self._service._spend(self._number)


def connect(service: Service, role: Role = "reader") -> Client:
    return Client(service, role)
