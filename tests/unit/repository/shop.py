"""A small repository: a shop with a catalogue, prices and a cart, whose tests need the cart."""

from pathlib import Path

_PUBLISHED = Path(__file__).parents[3] / "benchmarks" / "problems" / "repositories" / "shop"
_SAME = (
    "pyproject.toml",
    "src/shop/__init__.py",
    "src/shop/catalogue.py",
    "src/shop/container.py",
    "src/shop/pricing/__init__.py",
    "src/shop/pricing/rounding.py",
)
"""Files that are as in the set of problems, which has more of them."""

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
    **{path: (_PUBLISHED / path).read_text() for path in _SAME},
    "src/shop/cart.py": f'"""Carts."""\n\n{IMPORTS}\n\n{CART}',
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
