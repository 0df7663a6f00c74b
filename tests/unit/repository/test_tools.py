"""The six tools over a small repository in Python, and another in Java."""

import os
import sys

import pytest

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.types import Call
from exploracoder_jupyter.repository.index import RepositoryIndex
from exploracoder_jupyter.repository.source_files import parser_of
from exploracoder_jupyter.repository.tools import RepositoryTools, answer, parse_tool_request
from tests.json_output import json_result
from tests.unit.repository.shop import FILES, contents, write_shop

JAVA = {
    "src/main/java/shop/Item.java": """package shop;

/** One thing to buy. */
public abstract class Item implements Comparable<Item> {
    private final String code;
    public static int count = 0;

    public Item(String code) { this.code = code; }

    /** What it costs. */
    public abstract long price();

    public String code() { return code; }

    public String code(int length) {
        return code.substring(0, length);
    }
}
""",
    "src/main/java/shop/books/Book.java": """package shop.books;

import shop.Item;

public class Book extends Item {
    public Book(String code) { super(code); }

    @Override
    public long price() { return Prices.of(this); }
}
""",
    "src/main/java/shop/money/Prices.java": """package shop.money;

import shop.Item;

public final class Prices {
    public static long of(Item item) { return 100; }
}
""",
}


@pytest.fixture
def tools(tmp_path):
    return _tools(write_shop(tmp_path / "repository"), tmp_path)


@pytest.fixture
def java(tmp_path):
    folder = tmp_path / "repository"
    for path, text in JAVA.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return _tools(folder, tmp_path)


def _tools(folder, tmp_path):
    return RepositoryTools(RepositoryIndex.open(folder, cache=tmp_path / "cache"), tmp_path / "cache")


def _lines(found):
    return [line.strip() for item in found for line in item.text.splitlines()]


def test_class_info_lists_own_and_inherited_members(tools):
    [info] = tools.get_class_info("Cart")
    assert info.title == "shop.cart.Cart" and info.place == "src/shop/cart.py:10"
    lines = _lines([info])
    assert lines[0] == "class Cart(Container)"
    assert "def add(self, code: str, count: int = 1) -> None" in lines
    assert "def kind() -> str  [static]  (from shop.container.Container)" in lines
    assert any(line.startswith("property: def size(self) -> int") for line in lines)
    assert not any("[abstract]" in line for line in lines)  # overridden
    assert sum("def total" in line for line in lines) == 1


def test_classes_show_ten_members_nearest_to_the_thought(tmp_path):
    body = "".join(f"    def member_{name}(self): ...\n" for name in "abcdefghijklmn")
    body += "    def __init__(self, size): ...\n    def discount(self): ...\n"
    files = {"src/shop/large.py": f"class Large:\n{body}", "src/shop/old.py": "class Cart: ...\n"}
    tools = _tools(write_shop(tmp_path / "repository", **files), tmp_path)
    [info] = tools.get_class_info("Large", "How is a discount applied?")
    every = tools.get_class_info("Cart, Item")
    assert {item.title for item in every} == {"shop.cart.Cart", "shop.old.Cart", "shop.catalogue.Item"}
    assert [item.title for item in tools.get_class_info("old.Cart")] == ["shop.old.Cart"]
    assert "def discount(self)" in info.text and "def __init__(self, size)" in info.text
    assert "6 more members" in info.text


def test_signatures_and_bodies_include_inherited_ones(tools):
    assert _lines(tools.get_signature("Catalogue", "find")) == ["def find(self, code: str) -> Item"]
    [put] = tools.get_signature("Cart", "put")
    assert put.title == "shop.container.Container.put"
    [body] = tools.get_method_body(None, "round_price")
    assert body.text.startswith("def round_price(") and "ROUND_HALF_EVEN" in body.text
    assert tools.get_signature("Cart", "nothing") == [] and tools.get_method_body(None, "nothing") == []
    assert "Catalogue" in answer(tools, Call("get_class_info", "Catalog"), path="", thought="")


def test_imports_are_suggested_for_undefined_names(tools, tmp_path):
    write_shop(tmp_path / "repository", **{"src/shop/a.py": "class Item: ...\n"})
    tools = _tools(tmp_path / "repository", tmp_path)
    code = "from shop.rounding import round_price\n\ndef f(x: Decimal) -> Item:\n    return json.loads(x, Container)\n"
    tools = RepositoryTools(tools.index.replaced("src/shop/new.py", code))
    found = {item.title: item.text.splitlines() for item in tools.get_imports("src/shop/new.py")}
    assert found["Item"] == ["from shop.catalogue import Item", "from shop.a import Item"]  # the most used first
    assert found["Container"] == ["from shop.container import Container"]
    assert found["Decimal"] == ["from decimal import Decimal"]
    assert found["json"] == ["import json"]
    assert found["round_price"] == ["from shop.pricing.rounding import round_price"]
    assert "x" not in found


def test_related_snippets_leave_the_target_out(tools):
    [first, *_] = tools.get_related_snippets("counts what is put into it")
    assert first.place == "src/shop/container.py:12"
    found = tools.get_related_snippets("holds items of the catalogue", without=("src/shop/cart.py", 1, 30))
    assert found and all(not item.place.startswith("src/shop/cart.py") for item in found)


def test_relevant_code_finds_definitions_and_snippets(tools):
    found = tools.get_relevant_code("round an amount of money")
    assert len(found) == 3 and "ROUND_HALF_EVEN" in found[0].text
    places = [item.place.partition(":")[0] for item in found]
    assert places.count("src/shop/pricing/rounding.py") == 1  # not once more as a part of what was found
    found = tools.get_relevant_code("class of all items by their code, found in the catalogue")
    [catalogue] = [item for item in found if item.title.endswith("Catalogue")]
    assert "def find(self, code: str) -> Item" in catalogue.text and "raise UnknownItem(" not in catalogue.text


def test_code_comes_before_documentation_and_nothing_twice(tmp_path):
    code = "def round_total(amount):\n    return round(amount)  # total amount of money\n"
    padding = "".join(f"    x{n} = amount * {n}\n" for n in range(12))
    copies = {f"src/shop/copy_{n}.py": code.replace("    return", f"{padding}    return") for n in range(4)}
    prose = (
        '"""Total amount of money, rounded.\n\n' + "The total amount of money is rounded.\n" * 150 + '"""\n\nx = 1\n'
    )
    beside = {"docs/money.py": code, "tests/test_money.py": code, "src/shop/prose.py": prose}
    tools = _tools(write_shop(tmp_path / "repository", **copies, **beside), tmp_path)
    query = "the total amount of money is rounded"
    for found in (tools.get_relevant_code(query), tools.get_related_snippets(query)):
        places = [item.place.partition(":")[0] for item in found]
        beside_code = [not place.startswith("src/") or place == "src/shop/prose.py" for place in places]
        assert beside_code == sorted(beside_code) and not beside_code[0]
        assert sum(place.startswith("src/shop/copy_") for place in places) == 1
        assert places.count("src/shop/prose.py") <= 2


def test_java_classes_members_signatures_and_imports(java):
    [book] = java.get_class_info("Book")
    lines = _lines([book])
    assert lines[0] == "public class Book extends Item"
    assert any("code(int length)" in line and "(from shop.Item)" in line for line in lines)
    assert not any("abstract" in line for line in lines[1:])
    assert len(java.get_signature("Book", "code")) == 2
    [item] = java.get_class_info("Item")
    assert "[public, static]" in item.text and "[public, abstract]" in item.text and "What it costs." in item.text
    [prices] = java.get_imports("src/main/java/shop/books/Book.java")
    assert (prices.title, prices.text) == ("Prices", "import shop.money.Prices;")
    assert "substring" in java.get_method_body("Item", "code")[1].text


def test_changed_files_are_noticed_without_writing(tmp_path):
    folder = write_shop(tmp_path / "repository")
    before = contents(folder)
    assert RepositoryIndex.open(folder, cache=tmp_path / "cache").classes("Cart")
    assert contents(folder) == before
    (folder / "src/shop/cart.py").unlink()
    (folder / "src/shop/basket.py").write_text("class Basket: ...\n")
    (folder / "src/shop/container.py").write_text(FILES["src/shop/container.py"].replace("Container", "Holder"))
    index = RepositoryIndex.open(folder, cache=tmp_path / "cache")
    assert not index.classes("Cart") and not index.classes("Container")
    assert index.classes("Basket") and index.classes("Holder")


@pytest.mark.parametrize(
    "text",
    [
        "I need the container.\nget_class_info: Container, Item\nget_imports",
        'I need the container.\n1. get_class_info("Container", "Item")\n2. `get_imports()`',
        "Thought: I need the container.\n- Tool: get_class_info: Container, Item\n- Tool 2: get_imports:",
        "I need the container.\nget_class_info(class_name='Container, Item')\nget_imports\nget_imports",
    ],
)
def test_calls_are_read_in_common_forms(text):
    calls = Call("get_class_info", "Container, Item"), Call("get_imports", "")
    assert parse_tool_request(text) == ("I need the container.", calls)


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("get_relevant_code: self.state = State(state", "self.state = State(state"),
        ('get_relevant_code("rounds an amount, to cents")', "rounds an amount, to cents"),
        ("get_relevant_code(query='self.put(item)')", "self.put(item)"),
        ("- get_relevant_code: a value=3, as in f(x)", "a value=3, as in f(x)"),
    ],
)
def test_free_text_reaches_the_search_as_written(written, query):
    assert parse_tool_request(written)[1] == (Call("get_relevant_code", query),)


def test_a_call_without_its_argument_is_left_out():
    assert parse_tool_request("get_class_info:\nget_signature()\nget_imports")[1] == (Call("get_imports", ""),)


def test_the_command_prints_text_and_json(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = str(write_shop(tmp_path / "repository"))
    assert main(["repo", "get_signature", "Catalogue.find", "--repo", folder]) == 0
    assert "def find(self, code: str) -> Item" in capsys.readouterr().out
    assert main(["repo", "get_class_info", "Item", "--repo", folder, "--json"]) == 0
    [found] = json_result("repo", capsys.readouterr().out)["findings"]
    assert found["title"] == "shop.catalogue.Item" and found["place"].startswith("src/shop/catalogue.py:")
    assert main(["repo", "get_class_info", "Nothing", "--repo", folder]) == 1
    assert main(["repo", "get_imports", "nothing.py", "--repo", folder]) == 2
    assert main(["repo", "get_class_info", "Item", "--repo", f"{folder}/nowhere"]) == 2


@pytest.fixture
def without_java(monkeypatch):
    monkeypatch.setitem(sys.modules, "tree_sitter_java", None)
    parser_of.cache_clear()
    yield
    parser_of.cache_clear()


def test_python_is_read_without_the_grammar_of_java(tmp_path, capsys, monkeypatch, without_java):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = write_shop(tmp_path / "repository", **JAVA)
    assert main(["repo", "get_signature", "Catalogue.find", "--repo", str(folder)]) == 0
    captured = capsys.readouterr()
    assert "def find(self, code: str) -> Item" in captured.out
    assert "tree_sitter_java" in captured.err and "exploracoder-jupyter[repo]" in captured.err


def test_java_alone_requires_its_grammar(tmp_path, capsys, monkeypatch, without_java):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "Item.java").write_text("class Item {}\n")
    assert main(["repo", "get_class_info", "Item", "--repo", str(tmp_path)]) == 2
    assert "exploracoder-jupyter[repo]" in capsys.readouterr().err


def test_invalid_code_and_paths_do_not_end_it(tmp_path):
    broken = "class Broken:\n  def f(self): return 1 +\n"
    write_shop(tmp_path, **{"src/deep.py": f"x = {'+'.join(['y'] * 3000)}\n", "src/broken.py": broken})
    (tmp_path / "Deep.java").write_text(f"class Deep {{ int x = {'(' * 3000}1{')' * 3000}; }}\n")
    (tmp_path / os.fsdecode(b"src/odd\xff.py")).write_text("x = 1\n")
    index = RepositoryIndex.open(tmp_path, cache=tmp_path / "cache")
    assert "src/deep.py" in index.by_path and not any("odd" in path for path in index.by_path)
    assert RepositoryTools(index).get_class_info("Broken")  # is read as far as possible
    for path in ("src/deep.py", "Deep.java", "src/broken.py"):
        assert RepositoryTools(index).get_imports(path) == []
