"""Things that hold counted entries."""

from abc import ABC, abstractmethod


class Container(ABC):
    """Counts what is put into it."""

    def __init__(self) -> None:
        self.entries: dict[object, int] = {}

    def put(self, entry: object, count: int = 1) -> None:
        """Add entries."""
        if count < 1:
            raise ValueError("count")
        self.entries[entry] = self.entries.get(entry, 0) + count

    @staticmethod
    def kind() -> str:
        return "container"

    @property
    def size(self) -> int:
        """How many entries there are."""
        return sum(self.entries.values())

    @abstractmethod
    def total(self) -> object:
        """What it all amounts to."""
