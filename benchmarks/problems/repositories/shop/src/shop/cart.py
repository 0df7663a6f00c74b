"""Carts."""

from decimal import Decimal

from shop.catalogue import Catalogue
from shop.container import Container
from shop.pricing.rounding import round_price


class Cart(Container):
    """Holds items of the catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__()
        self.catalogue = catalogue

    def add(self, code: str, count: int = 1) -> None:
        self.put(self.catalogue.find(code), count)

    def total(self) -> Decimal:
        """Return the sum of all prices, rounded."""
        return round_price(sum((item.price * count for item, count in self.entries.items()), Decimal(0)))
