"""What the shop sells."""

from dataclasses import dataclass
from decimal import Decimal


class UnknownItem(KeyError):
    """No such item."""


@dataclass(frozen=True)
class Item:
    """One thing to buy."""

    code: str
    price: Decimal


class Catalogue:
    """All items by their code."""

    def __init__(self, items: list[Item]) -> None:
        self.items = {item.code: item for item in items}

    def find(self, code: str) -> Item:
        """Return the item with this code, or raise UnknownItem."""
        if code not in self.items:
            raise UnknownItem(code)
        return self.items[code]
