"""What is bought."""

from dataclasses import dataclass, field
from decimal import Decimal

from shop.cart import Cart
from shop.pricing.discount import Discount, best_discount


@dataclass
class Order:
    """A cart that is paid for, with at most one discount."""

    cart: Cart
    discounts: list[Discount] = field(default_factory=list)

    @property
    def discount(self) -> Discount | None:
        """The discount that counts."""
        return best_discount(self.discounts, self.cart.total())

    def due(self) -> Decimal:
        """Return what is to be paid."""
        total = self.cart.total()
        return self.discount.apply(total) if self.discount else total

    def lines(self) -> list[str]:
        """Return a line for each item, then the discount if there is one, then what is due."""
        items = [f"{count} x {item.code}" for item, count in self.cart.entries.items()]
        reduced = [self.discount.label] if self.discount else []
        return [*items, *reduced, f"due {self.due()}"]
