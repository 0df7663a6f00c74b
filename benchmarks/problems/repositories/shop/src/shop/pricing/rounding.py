"""Rounding of money."""

from decimal import ROUND_HALF_EVEN, Decimal


def round_price(amount: Decimal) -> Decimal:
    """Round an amount of money to cents, half to even."""
    return amount.quantize(Decimal("0.01"), ROUND_HALF_EVEN)
