"""A small repository: a shop with a catalogue, prices and a cart, whose tests need the cart."""

from pathlib import Path

CART = '''class Cart(Container):
    """Holds items of the catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__()
        self.catalogue = catalogue

    def add(self, code: str, count: int = 1) -> None:
        self.put(self.catalogue.find(code), count)

    def total(self) -> Decimal:
        return round_price(sum((item.price * count for item, count in self.entries.items()), Decimal(0)))
'''
IMPORTS = """from decimal import Decimal

from shop.catalogue import Catalogue
from shop.container import Container
from shop.pricing.rounding import round_price
"""
FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = []\n",
    "src/shop/__init__.py": '"""A shop."""\n',
    "src/shop/cart.py": f'"""Carts."""\n\n{IMPORTS}\n\n{CART}',
    "src/shop/catalogue.py": '''"""What the shop sells."""

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
''',
    "src/shop/container.py": '''"""Things that hold counted entries."""

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
''',
    "src/shop/pricing/__init__.py": "",
    "src/shop/pricing/rounding.py": '''"""Rounding of money."""

from decimal import ROUND_HALF_EVEN, Decimal


def round_price(amount: Decimal) -> Decimal:
    """Round an amount of money to cents, half to even."""
    return amount.quantize(Decimal("0.01"), ROUND_HALF_EVEN)
''',
    "tests/test_cart.py": """from decimal import Decimal

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
""",
}


def write_shop(folder: Path, **changes: str | None) -> Path:
    """Write the repository; `changes` are texts by path, `None` leaves a file out."""
    for path, text in {**FILES, **changes}.items():
        if text is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    return folder


def without_cart(folder: Path) -> Path:
    """Write the repository without the class Cart and its imports."""
    return write_shop(folder, **{"src/shop/cart.py": '"""Carts."""\n'})


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
