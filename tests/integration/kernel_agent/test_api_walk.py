"""The walkers, run as the programs they are on packages written for the purpose."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from exploracoder_jupyter.kernel_agent.introspection.locations import fingerprints
from tests.integration.kernel_agent import programs

SOURCES = {
    "shop/__init__.py": '''
        """A shop."""
        from shop._impl import Cart, price, old_price, LIMIT
        from shop import extras as _extras
        import json, sys
        print("noise on import")
        __version__ = "3.1"
        def total(*items, tax=0.2):
            """Add up."""
        sum_up = total
        def _hidden(): ...
        class Lazy:
            def __getattr__(self, name):
                raise SystemExit(3)
            def __repr__(self):
                raise RuntimeError
        lazy = Lazy()
        def __getattr__(name):
            raise RuntimeError(name)
    ''',
    "shop/_impl.py": '''
        import os
        from typing import Any
        os.system("echo noise of a child")
        LIMIT = 3
        class Base:
            """What carts share."""
            def empty(self):
                """Take everything out."""
        class Shelf:
            """Where goods stand."""
            def fetch(self, name: str) -> None:
                """Fetch one."""
        class Cart(Base, dict):
            """Holds items."""
            shelf = Shelf
            def __init__(self, owner, *, size=object()): ...
            def add(self, item, count=1):
                """Put in."""
            put = add
            @classmethod
            def of(cls, *items):
                """Make one."""
            @staticmethod
            def parse(text):
                """Read one."""
            @property
            def weight(self):
                """In kilograms."""
            def _secret(self): ...
        def price(item):
            """price(item, currency='EUR')

            What it costs.
            """
        def _mark(function):
            function.__deprecated__ = "use price"
            return function
        @_mark
        def old_price(*args, **kwargs):
            """old_price(item, day=None)"""
    ''',
    "shop/extras/__init__.py": """
        __all__ = ["wrap", "ribbon"]
        from shop.extras.paper import wrap
        from shop.extras import ribbon, glue
    """,
    "shop/extras/paper.py": "def wrap(it): 'Wrap it.'",
    "shop/extras/ribbon.py": "def tie(it): 'Tie it.'\nfrom shop._impl import Base, price\n"
    "import enum\nclass Knot(enum.Enum):\n    'A knot.'\n    BOW = 1\n    LOOP = 2",
    "shop/extras/glue.py": "def stick(it): 'Private: not in __all__ of its package.'",
    "shop/fails.py": "raise SystemExit('no')",
    "shop/tests/__init__.py": "def test_shop(): ...",
    "shop/__main__.py": "raise AssertionError('ran')",
    "broken.py": "import nothing_of_this_name",
    "endless.py": "while True: pass",
    "facade/__init__.py": "from engineroom import Motor",
    "engineroom.py": "class Motor:\n    def start(self): 'Start.'",
    "slow/__init__.py": "def fast(): ...",
    "slow/part.py": "import time; time.sleep(30)",
    "slow/rest/__init__.py": "def unseen(): ...",
    "twins.py": """
        class A:
            def route(self, x):
                'The same words.'
        class B:
            def route(self, x):
                'The same words.'
    """,
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The packages, and what packaging tools would have written about `shop`."""
    root = tmp_path_factory.mktemp("site")
    programs.write_files(root, SOURCES)
    program = root / "shop" / "examples" / "buy.py"
    program.parent.mkdir()
    program.write_text("import shop\nshop.total(1, 2)\n")
    about = root / "Corner.Shop-3.1.dist-info"
    about.mkdir()
    about.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: Corner.Shop\nVersion: 3.1\n\n# Shop\n\nBuy.\n")
    about.joinpath("RECORD").write_text("shop/__init__.py,,\nshop/examples/buy.py,,\n")
    return root


def run(root: Path, program: str, *args: str) -> tuple[int, list[dict]]:
    return programs.run(program, *args, path=(root,))


@pytest.fixture(scope="module")
def shop(installed):
    code, lines = run(installed, "api_walk", "shop")
    assert code == 0
    return lines


@pytest.fixture(scope="module")
def apis(shop):
    return programs.apis(shop)


def test_the_public_surface_is_what_users_can_reach(apis):
    of_dict = {f"shop.Cart.{name}" for name in vars(dict) if not name.startswith("_")}
    assert {path: (row["kind"], row["signature"]) for path, row in apis.items() if path not in of_dict} == {
        "shop.Cart": ("class", "(owner, *, size=...)"),
        "shop.Cart.add": ("method", "(item, count=1)"),
        "shop.Cart.empty": ("method", "()"),
        "shop.Cart.of": ("method", "(*items)"),
        "shop.Cart.parse": ("method", "(text)"),
        "shop.Cart.shelf": ("class", "()"),
        "shop.Cart.shelf.fetch": ("method", "(name: str) -> None"),
        "shop.Cart.weight": ("property", ""),
        "shop.Lazy": ("class", "()"),
        "shop.extras.ribbon.Knot": ("class", ""),
        "shop.extras.ribbon.tie": ("function", "(it)"),
        "shop.extras.wrap": ("function", "(it)"),
        "shop.old_price": ("function", "(item, day=None)"),
        "shop.price": ("function", "(item)"),
        "shop.total": ("function", "(*items, tax=0.2)"),
    }
    assert apis["shop.Cart.setdefault"]["kind"] == "method"
    assert "default" in apis["shop.Cart.setdefault"]["doc"]


def test_foreign_members_are_marked_and_enums_have_values(apis):
    assert apis["shop.Cart.pop"]["foreign"] and not apis["shop.Cart.add"]["foreign"]
    assert (
        apis["shop.extras.ribbon.Knot"]["values"] == ["BOW", "LOOP"]
        and not apis["shop.extras.ribbon.Knot"]["signature"]
    )


def test_an_object_has_one_row_and_aliases(apis):
    assert apis["shop.total"]["aliases"] == ["shop.sum_up"]
    assert apis["shop.Cart.add"]["aliases"] == ["shop.Cart.put", "shop._impl.Cart.add"]
    assert apis["shop.Cart"]["aliases"] == ["shop._impl.Cart"]  # as `type(cart)` prints it


def test_documentation_and_deprecation_are_listed(apis, shop):
    assert apis["shop.Cart.empty"]["doc"] == "Take everything out."
    assert apis["shop.old_price"]["deprecated"] == "use price"
    assert apis["shop.price"]["deprecated"] is None
    about = shop[-1]["library"]
    assert (about["name"], about["version"], about["doc"], about["cut"]) == ("shop", "3.1", "A shop.", False)
    assert [name for name, _ in about["unimported"]] == ["shop.fails"]


def test_inherited_methods_are_listed_once(installed):
    _, lines = run(installed, "api_walk", "twins")
    rows = [row for row in programs.apis(lines).values() if row["kind"] == "method"]
    assert [(row["path"], row["aliases"]) for row in rows] == [("twins.A.route", ["twins.B.route"])]


def test_a_facade_shows_only_names_of_its_distribution(installed):
    _, alone = run(installed, "api_walk", "facade")
    _, beside = run(installed, "api_walk", "facade", "--beside", "engineroom")
    assert list(programs.apis(alone)) == []
    assert list(programs.apis(beside)) == ["facade.Motor", "facade.Motor.start"]


def test_submodules_and_compiled_modules_are_walked(installed):
    _, lines = run(installed, "api_walk", "shop.extras", "math")
    rows = programs.apis(lines)
    assert {path for path in rows if path.startswith("shop")} == {
        "shop.extras.wrap",
        "shop.extras.ribbon.tie",
        "shop.extras.ribbon.Knot",
    }
    assert rows["math.gcd"]["signature"] == "(*integers)"
    assert "logarithm" in rows["math.log"]["doc"]
    assert rows["math.log"]["signature"]


def test_a_library_that_does_not_import_says_why(installed):
    code, (broken, endless) = run(installed, "api_walk", "broken", "endless", "--seconds", "0.3")
    assert code == 3
    detail = "ModuleNotFoundError: No module named 'nothing_of_this_name'"
    assert broken == {"error": "import", "library": "broken", "detail": detail}
    assert endless["error"] == "import" and endless["detail"] == "its import did not end within 0.3 s"


def test_a_walk_over_time_keeps_what_it_has(installed):
    code, lines = run(installed, "api_walk", "slow", "--seconds", "0.3")
    assert code == 0
    assert list(programs.apis(lines)) == ["slow.fast"]
    assert lines[-1]["library"]["cut"]


def test_libraries_are_found_by_distribution_and_import_name(installed):
    names = ("corner-shop", "Corner_Shop", "shop", "SHOP")
    code, lines = run(installed, "installed_libraries", "--documents", *names)
    assert code == 0
    for about in (line["library"] for line in lines):
        assert (about["name"], about["distribution"], about["version"]) == ("shop", "Corner.Shop", "3.1")
        assert (about["stamp"], about["readme"]) == ("", "# Shop\n\nBuy.\n")
        assert about["programs"] == ["import shop\nshop.total(1, 2)\n"]


def test_an_answer_says_on_which_files_it_rests(installed):
    _, lines = run(installed, "installed_libraries", "shop", "twins")
    for line, path in zip(lines, ("Corner.Shop-3.1.dist-info/RECORD", "twins.py"), strict=True):
        rests = line["library"]["rests"]
        assert {sys.executable, str(installed), str(installed / path)} <= set(rests)
        assert rests == fingerprints(rests)


@pytest.mark.parametrize("version", ["", "1.0"])
def test_code_without_record_is_stamped_by_content(tmp_path, version):
    files = {"till/__init__.py": "def pay(): ...\n"}
    if version:
        files["till.egg-info/PKG-INFO"] = f"Metadata-Version: 2.1\nName: till\nVersion: {version}\n"
        files["till.egg-info/top_level.txt"] = "till\n"
    programs.write_files(tmp_path, files)
    before = run(tmp_path, "installed_libraries", "till")[1][0]["library"]
    (tmp_path / "till" / "__init__.py").write_text("def pay(bill): ...\n")
    after = run(tmp_path, "installed_libraries", "till")[1][0]["library"]
    assert before["version"] == after["version"] == version and before["stamp"] != after["stamp"]


def test_an_unknown_hook_proves_nothing(tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "conjured.py").write_text("")
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util, sys\n"
        "class Hook:\n"
        "    def find_spec(name, path, target=None):\n"
        f"        where = {str(tmp_path / 'hidden' / 'conjured.py')!r}\n"
        "        return importlib.util.spec_from_file_location(name, where) if name == 'conjured' else None\n"
        "sys.meta_path.append(Hook)\n"
    )
    code = f"import sys; sys.path.append({str(programs.PROJECT)!r}); import sitecustomize; " + (
        "from exploracoder_jupyter.kernel_agent.introspection.installed_libraries import main; main(['conjured'])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, env={"PYTHONPATH": str(tmp_path)}, check=True
    )
    about = json.loads(done.stdout)["library"]
    assert about["name"] == "conjured" and about["rests"] == {}


def test_the_standard_library_has_the_version_of_python(installed):
    _, lines = run(installed, "installed_libraries", "statistics", "xml.etree", "os.path")
    assert [line["library"]["name"] for line in lines] == ["statistics", "xml.etree", "os.path"]
    assert {line["library"]["version"] for line in lines} == {sys.version.split()[0]}


def test_unknown_libraries_get_near_names(installed):
    names = ["shpo", "statistcs", "shop.extra", "", " ", "a b", "-v", "../shop", "x" * 1000, "shop..extras"]
    code, lines = run(installed, "installed_libraries", "--", *names)
    assert code == 3
    assert [(line["error"], line["library"]) for line in lines] == [("unknown", name) for name in names]
    assert [line["near"][0] for line in lines[:3]] == ["shop", "statistics", "shop.extras"]


def test_objects_that_answer_every_name_are_survived(tmp_path):
    """As column expressions do, whose truth value is refused."""
    source = """
    class Column:
        def __call__(self): return self
        def __getattr__(self, name): return Column()
        def __eq__(self, other): return Column()
        def __hash__(self): return 1
        def __bool__(self): raise TypeError("ambiguous")
    col = Column()
    def total(column): ...
    """
    programs.write_files(tmp_path, {"frames.py": source})
    code, lines = run(tmp_path, "api_walk", "frames")
    assert code == 0
    assert {"frames.total", "frames.Column"} <= set(programs.apis(lines))
