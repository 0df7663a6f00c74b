"""Reductions of a total."""

from abc import ABC, abstractmethod
from decimal import Decimal

from shop.pricing.rounding import round_price


class Discount(ABC):
    """Reduces an amount; never below nothing."""

    label = "discount"

    @abstractmethod
    def reduction(self, amount: Decimal) -> Decimal:
        """Return by how much an amount is reduced, before it is rounded."""

    def apply(self, amount: Decimal) -> Decimal:
        """Return the reduced amount, rounded."""
        return round_price(max(amount - self.reduction(amount), Decimal(0)))


class FixedDiscount(Discount):
    """Takes the same amount off, if the total is large enough."""

    label = "fixed"

    def __init__(self, amount: Decimal, minimum: Decimal = Decimal(0)) -> None:
        self.amount, self.minimum = amount, minimum

    def reduction(self, amount: Decimal) -> Decimal:
        return self.amount if amount >= self.minimum else Decimal(0)


class PercentDiscount(Discount):
    """Takes a share off."""

    label = "percent"

    def __init__(self, percent: int) -> None:
        if not 0 <= percent <= 100:
            raise ValueError("percent")
        self.percent = percent

    def reduction(self, amount: Decimal) -> Decimal:
        return amount * self.percent / 100


def best_discount(discounts: list[Discount], amount: Decimal) -> Discount | None:
    """Return the discount that leaves least of an amount, the first among equals; None without any."""
    return min(discounts, key=lambda discount: discount.apply(amount), default=None)
