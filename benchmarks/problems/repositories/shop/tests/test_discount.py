from decimal import Decimal

import pytest
from shop.pricing.discount import FixedDiscount, PercentDiscount, best_discount


def test_fixed():
    assert FixedDiscount(Decimal(3)).apply(Decimal(10)) == 7
    assert FixedDiscount(Decimal(3)).apply(Decimal(2)) == 0
    assert FixedDiscount(Decimal(3), Decimal(20)).apply(Decimal(10)) == 10


def test_percent():
    assert PercentDiscount(50).apply(Decimal("1.01")) == Decimal("0.50")
    assert PercentDiscount(10).label == "percent"
    with pytest.raises(ValueError):
        PercentDiscount(101)


def test_best():
    fixed, percent = FixedDiscount(Decimal(3)), PercentDiscount(10)
    assert best_discount([fixed, percent], Decimal(10)) is fixed
    assert best_discount([fixed, percent], Decimal(100)) is percent
    assert best_discount([], Decimal(1)) is None
