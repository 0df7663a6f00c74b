from decimal import Decimal

import pytest
from shop.cart import Cart
from shop.catalogue import Catalogue, Item
from shop.orders import Order
from shop.pricing.discount import FixedDiscount, PercentDiscount


@pytest.fixture
def cart():
    cart = Cart(Catalogue([Item("a", Decimal("10"))]))
    cart.add("a", 2)
    return cart


def test_due(cart):
    assert Order(cart).due() == 20
    assert Order(cart, [PercentDiscount(10), FixedDiscount(Decimal(5))]).due() == 15


def test_lines(cart):
    assert Order(cart).lines() == ["2 x a", "due 20.00"]
    assert Order(cart, [PercentDiscount(10)]).lines() == ["2 x a", "percent", "due 18.00"]
