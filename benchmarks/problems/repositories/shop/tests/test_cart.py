from decimal import Decimal

import pytest
from shop.cart import Cart
from shop.catalogue import Catalogue, Item, UnknownItem


@pytest.fixture
def cart():
    return Cart(Catalogue([Item("a", Decimal("1.005")), Item("b", Decimal("2"))]))


def test_total(cart):
    cart.add("a")
    cart.add("b", 2)
    assert cart.total() == Decimal("5.00")


def test_size(cart):
    cart.add("a", 3)
    assert cart.size == 3


def test_unknown(cart):
    with pytest.raises(UnknownItem):
        cart.add("c")
