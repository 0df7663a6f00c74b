"""Targets, what is inserted into their files, and the patches that result."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exploracoder_jupyter.cli import main
from exploracoder_jupyter.core.errors import ReplyError, UsageError
from exploracoder_jupyter.repository.index import RepositoryIndex
from exploracoder_jupyter.repository.insertion import insert, parse_definition, without_target
from exploracoder_jupyter.repository.patch import apply_patch, make_patch
from exploracoder_jupyter.repository.target import copy_without_target, find_target, similar_target
from tests.unit.repository.shop import CART, FILES, IMPORTS, contents, without_cart, write_shop

CART_FILE = "src/shop/cart.py"
STRING = '"""a\nb\n  c"""'


@pytest.fixture
def index(tmp_path):
    return RepositoryIndex.open(write_shop(tmp_path / "repository"), cache=tmp_path / "cache")


def _inserted(index, target, code):
    return insert(index, find_target(index, target), code)


@pytest.mark.parametrize(
    ("given_target", "word"),
    [
        ("src/shop/cart.py", "FILE::NAME"),
        ("src/shop/cart.py::Cart()", "FILE::NAME"),
        ("nowhere/cart.py::Cart", "folder"),
        ("../cart.py::Cart", "outside"),
        ("/etc/cart.py::Cart", "outside"),
        ("outside.py::Cart", "leads out"),
        ("linked/cart.py::Cart", "leads out"),
        ("pyproject.toml::Cart", "Python or Java"),
        ("src/shop/cart.py::Carts.add", "Did you mean Cart?"),
        ("binary.py::Cart", "UTF-8"),
    ],
)
def test_an_unwritable_target_is_refused_in_a_sentence(index, tmp_path, given_target, word):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "cart.py").write_text("class Cart: ...\n")
    (index.root / "outside.py").symlink_to(tmp_path / "elsewhere" / "cart.py")
    (index.root / "linked").symlink_to(tmp_path / "elsewhere")
    (index.root / "binary.py").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=word):
        find_target(index, given_target)


def test_a_new_target_is_allowed_and_misspellings_noted(index):
    present, misspelled = find_target(index, f"{CART_FILE}::Cart"), find_target(index, f"{CART_FILE}::Crat")
    assert present.present and not misspelled.present
    assert similar_target(index, present) == "" and "Did you mean Cart?" in similar_target(index, misspelled)
    assert find_target(index, "src/shop/new.py::New").is_new_file
    for path in (index.root / CART_FILE, f"src/../{CART_FILE}"):
        assert find_target(index, f"{path}::Cart") == present


def test_a_class_is_replaced_and_missing_imports_added(index):
    code = f"import json\nfrom decimal import Decimal\nfrom shop.cart import Other\n\n\n{CART.replace('Holds', 'Has')}"
    text = _inserted(index, f"{CART_FILE}::Cart", code)
    assert text == FILES[CART_FILE].replace("Holds", "Has").replace(IMPORTS, f"{IMPORTS}import json\n")


def test_a_new_class_ends_the_file_below_imports(tmp_path):
    index = RepositoryIndex.open(without_cart(tmp_path / "repository"), cache=tmp_path / "cache")
    imports = IMPORTS.replace("\n\n", "\n")
    code = f"{imports}\n\n{CART}"
    assert _inserted(index, f"{CART_FILE}::Cart", code) == FILES[CART_FILE].replace(IMPORTS, imports)
    assert "".join(_inserted(index, "src/shop/new.py::Cart", code).split()) == "".join(code.split())


def test_a_new_definition_precedes_its_uses(index):
    text = "import os\n\n\ndef first():\n    pass\n\n\ndef second() -> New:\n    return os\n"
    (index.root / "src/shop/late.py").write_text(text)
    written = _inserted(index, "src/shop/late.py::New", "class New:\n    y = first()\n")
    assert written == text.replace("def second", "class New:\n    y = first()\n\n\ndef second")
    assert _inserted(index, "src/shop/late.py::New", "New = 1\nclass New:\n    y = second\n").endswith("y = second\n")


def test_new_class_precedes_subclass_whatever_methods_use(index):
    text = "class Sub(New):\n    pass\n\n\nclass Helper:\n    pass\n"
    (index.root / "src/shop/late.py").write_text(text)
    code = "class New:\n    def make(self):\n        return Helper()"
    assert _inserted(index, "src/shop/late.py::New", code) == f"{code}\n\n\n{text}"


def test_a_new_definition_stays_below_the_imports(index):
    text = (
        '''"""New things."""\n\nfrom __future__ import annotations\n\nimport os  # New\n\n__all__ = ["New"]\nx = os\n'''
    )
    (index.root / "src/shop/late.py").write_text(text)
    written = _inserted(index, "src/shop/late.py::New", "import json\n\nclass New:\n    y = 1\n")
    expected = text.replace("# New\n", "# New\nimport json\n") + "\n\nclass New:\n    y = 1\n"
    assert written.split() == expected.split() and written.index("import json") < written.index("__all__")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A:\n  x = 1\n", "class A:\n  x = 1\n\n  def f(self):\n      return 1\n"),
        ("class A:\n\tx = 1\n", "class A:\n\tx = 1\n\n\tdef f(self):\n\t    return 1\n"),
        ("class A: pass\n", "class A:\n    def f(self):\n        return 1\n"),
        ("class A: x = 1\n", "class A:\n    x = 1\n\n    def f(self):\n        return 1\n"),
    ],
)
def test_a_new_method_has_its_classs_indentation(index, source, expected):
    (index.root / "src/shop/a.py").write_text(source)
    assert _inserted(index, "src/shop/a.py::A.f", "def f(self):\n    return 1") == expected


def test_helpers_come_along_without_repetition(index):
    code = '"""Catalogue."""\nLIMIT = 3\n\n\nclass Item:\n    """Another."""\n\n\nclass Catalogue:\n    limit = LIMIT\n'
    text = _inserted(index, "src/shop/catalogue.py::Catalogue", code)
    assert text.count("class Item") == 1 and '"""Another."""' not in text and text.count('"""') == 6
    assert "LIMIT = 3" in text and "limit = LIMIT" in text and "def find" not in text


@pytest.mark.parametrize(
    "code",
    [
        "def total(self):\n    return 1",
        f'import json\n\nclass Cart:\n    def total(self):\n        """A\n        B"""\n        return {STRING}',
    ],
)
def test_a_method_is_replaced_and_strings_stay(index, code):
    text = _inserted(index, f"{CART_FILE}::Cart.total", code)
    assert text.endswith(
        ("\n    def total(self):\n        return 1\n", '        B"""\n        return """a\nb\n  c"""\n')
    )
    assert "round_price(sum" not in text and ("import json" in text) == ("import json" in code)


def test_a_new_method_ends_its_class(index):
    text = _inserted(index, "src/shop/catalogue.py::Item.cheap", "def cheap(self):\n    return True")
    assert "    price: Decimal\n\n    def cheap(self):\n        return True\n\n\nclass Catalogue" in text
    written = "class A:\n    @property\n    def x(self):\n        return 1\n\n    @x.setter\n    def x(self, x): ...\n"
    written += "\n    y = 2\n"
    (index.root / "src/shop/a.py").write_text(written)
    text = _inserted(index, "src/shop/a.py::A.x", "x = 3\n\n@property\ndef x(self):\n    return 3")
    assert "setter" not in text and "return 3" in text and "    y = 2\n" in text


def test_windows_line_ends_and_byte_order_marks_stay(index):
    (index.root / CART_FILE).write_bytes(b"\xef\xbb\xbf" + FILES[CART_FILE].replace("\n", "\r\n").encode())
    text = _inserted(index, f"{CART_FILE}::Cart", f"import json\n\n\n{CART.replace('Holds', 'Has')}")
    assert text.startswith("\ufeff") and text.count("\n") == text.count("\r\n") and "import json\r\n" in text


def test_java_classes_and_methods_are_replaced(index):
    source = "package shop;\n\nimport java.util.List;\n\npublic class Box {\n    int a() { return 1; }\n}\n"
    (index.root / "Box.java").write_text(source)
    text = _inserted(index, "Box.java::Box.a", "import java.util.Map;\n\nint a() {\n    return 2;\n}")
    assert (
        "import java.util.List;\nimport java.util.Map;\n" in text
        and "    int a() {\n        return 2;\n    }\n}" in text
    )
    text = _inserted(index, "Box.java::Box.b", "int b() { return 3; }")
    assert text.endswith("    int a() { return 1; }\n\n    int b() { return 3; }\n}\n")
    text = _inserted(
        index, "Box.java::Box", "package shop;\nimport java.util.Set;\n\npublic class Box { Set<String> s; }"
    )
    assert text.count("package shop;") == 1 and "import java.util.Set;" in text and "Set<String> s" in text


def test_a_reply_has_to_define_the_target(index):
    target = find_target(index, f"{CART_FILE}::Cart")
    assert parse_definition("Here:\n```python\nclass Cart: ...\n```", target) == "class Cart: ..."
    for reply in ("class Cart: ...", "```python\nclass Basket: ...\n```", "```java\nclass Cart {}\n```", ""):
        with pytest.raises(ReplyError):
            parse_definition(reply, target)
    with pytest.raises(ReplyError):
        insert(index, target, "Cart = object")


def test_the_file_is_shown_with_a_target_mark(index):
    rest = without_target(find_target(index, f"{CART_FILE}::Cart"))
    assert "# <- Cart is written here" in rest and "from decimal import Decimal" in rest and "def add" not in rest


def test_where_a_new_target_goes_is_not_claimed(index):
    text = "class First(Late):\n    pass\n"
    (index.root / "src/shop/a.py").write_text(text)
    assert without_target(find_target(index, "src/shop/a.py::Late")) == text


FOR_TYPES = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from shop.catalogue import Catalogue\n"


def test_type_checking_imports_join_those_present(index):
    code = (
        FOR_TYPES.replace("\n    from", "\n    from os import PathLike\n    from") + "\n\nclass New:\n    x: PathLike\n"
    )
    for source in (f"{FOR_TYPES}\n\nclass Old: ...\n", '"""Old."""\n\nclass Old: ...\n'):
        (index.root / "src/shop/a.py").write_text(source)
        text = _inserted(index, "src/shop/a.py::New", code)
        assert text.count("if TYPE_CHECKING:") == text.count("import TYPE_CHECKING") == text.count("Catalogue\n") == 1
        assert text.index("\n    from os import PathLike\n") < text.index("class Old") < text.index("class New")
        compile(text, "a.py", "exec")


def test_statements_that_the_file_has_are_not_repeated(index):
    head = "import sys\n\nif sys.version_info >= (3, 11):\n    from typing import Self\nelse:\n    Self = object\n"
    (index.root / "src/shop/a.py").write_text(f"{head}\n\nclass Old: ...\n")
    text = _inserted(index, "src/shop/a.py::New", f"{head}\n\nclass New:\n    x: Self\n")
    assert text.count("version_info") == 1 and text.startswith(head)


BRANCHES = "import sys\n\nif sys.platform:\n    class A:\n        x = 1\n"


def test_a_definition_in_a_branch_stays_there(index):
    (index.root / "src/shop/a.py").write_text(f"{BRANCHES}\n\nclass B(A): ...\n")
    text = _inserted(index, "src/shop/a.py::A", "class A:\n    x = 2")
    assert text == f"{BRANCHES}\n\nclass B(A): ...\n".replace("x = 1", "x = 2")


def test_a_target_with_alternative_definitions_is_refused(index):
    (index.root / "src/shop/a.py").write_text(f"{BRANCHES}else:\n    class A:\n        x = 3\n")
    with pytest.raises(UsageError, match="lines 4, 7"):
        find_target(index, "src/shop/a.py::A")
    (index.root / "src/shop/a.py").write_text(f"{BRANCHES}else:\n    B = None\n    class A:\n        x = 3\n")
    with pytest.raises(UsageError, match="lines 4, 8"):
        find_target(index, "src/shop/a.py::A")
    overloads = (
        "from typing import overload\n\n@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\ndef f(x): ...\n"
    )
    (index.root / "src/shop/a.py").write_text(overloads)
    assert _inserted(index, "src/shop/a.py::f", "def f(x):\n    return x").count("def f") == 1


LONG = """import json

class Cart:
    limit = 3

    def __init__(self):
        self.items = []

    @property
    def size(self):
        return 0

    def total(self):
        return json.dumps(0)
"""


def test_methods_alone_change_the_latest_attempt(index):
    target = find_target(index, f"{CART_FILE}::Cart")
    methods = (
        "import os\n\n@property\ndef size(self):\n    return os.path\n\ndef clear(self):\n    self.items.clear()\n"
    )
    code = parse_definition(f"```python\n{methods}```", target, LONG)
    assert "return os.path" in code and "return 0" not in code and "    def clear(self):\n" in code
    assert "import os\n" in code and "return json.dumps(0)" in code and code.count("@property") == 1
    whole = "```python\nclass Cart:\n    def size(self): ...\n```"
    assert "total" not in parse_definition(whole, target, LONG)
    with pytest.raises(ReplyError):
        parse_definition("```python\ndef helper(x): ...\n```", target, LONG)


_TEXTS = st.lists(st.sampled_from(["a", "b", "c\r", "", "+x", "-y", "@@ -1 +1 @@", "diff --git a/x b/x"]), max_size=12)


@given(_TEXTS, _TEXTS, st.booleans(), st.booleans())
def test_any_change_is_applied_and_undone_exactly(tmp_path_factory, before, after, ended, ends):
    folder = tmp_path_factory.mktemp("patched")
    old, new = ("\n".join(lines) + "\n" * end for lines, end in ((before, ended), (after, ends)))
    patch = make_patch("x.py", old, new)
    (folder / "x.py").write_bytes(old.encode())
    if old != new:
        assert apply_patch(folder, patch) == ["x.py"]
        assert (folder / "x.py").read_bytes() == new.encode()
        apply_patch(folder, patch, undo=True)
    assert (folder / "x.py").read_bytes() == old.encode()


def test_git_reads_the_patch_too(tmp_path):
    repository = write_shop(tmp_path / "repository")
    new = FILES[CART_FILE].replace("Holds", "Has")
    patch = make_patch(CART_FILE, FILES[CART_FILE], new) + make_patch("src/shop/new.py", None, "x = 1")
    before = contents(repository)
    apply_patch(repository, patch)
    applied = contents(repository)
    assert applied[CART_FILE] == new.encode() and applied["src/shop/new.py"] == b"x = 1"
    apply_patch(repository, patch, undo=True)
    assert contents(repository) == before
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=repository, check=True, timeout=60)
    assert contents(repository) == applied


def test_a_patch_is_refused_if_any_file_changed(tmp_path, capsys):
    repository = write_shop(tmp_path / "repository")
    patch = tmp_path / "cart.patch"
    other = make_patch("src/shop/container.py", FILES["src/shop/container.py"], "x = 1\n")
    patch.write_text(make_patch(CART_FILE, FILES[CART_FILE], "y = 2\n") + other)
    (repository / "src/shop/container.py").write_text("changed\n")
    before = contents(repository)
    assert main(["repo", "apply", str(patch), "--repo", str(repository)]) == 2
    assert "src/shop/container.py has changed" in capsys.readouterr().err
    assert contents(repository) == before
    (repository / "src/shop/container.py").write_text(FILES["src/shop/container.py"])
    assert main(["repo", "apply", str(patch), "--repo", str(repository)]) == 0
    assert main(["repo", "apply", str(patch), "--repo", str(repository)]) == 2  # once only
    (repository / CART_FILE).write_text("y = 3\n")
    assert main(["repo", "undo", str(patch), "--repo", str(repository)]) == 2
    (repository / CART_FILE).write_text("y = 2\n")
    assert main(["repo", "undo", str(patch), "--repo", str(repository)]) == 0
    assert (repository / CART_FILE).read_text() == FILES[CART_FILE]


def test_a_patch_writes_only_visible_source_files(tmp_path):
    new = {path: make_patch(path, None, "x = 1\n") for path in ("a.py", "../out.py", "/tmp/out.py")}
    hidden = [
        make_patch(path, None, "x = 1\n") for path in (".git/hooks/a.py", ".env.py", "Makefile", "a.sh", "a\0.py")
    ]
    damaged = new["a.py"].replace("+x = 1", "+x = 2")
    for patch, reason in (
        *((patch, "no exploration writes") for patch in (*hidden, new["a.py"] * 2)),
        (new["../out.py"], "outside"),
        (new["/tmp/out.py"], "outside"),
        ("x = 1\n", "not a patch"),
        (damaged, "damaged"),
    ):
        with pytest.raises(UsageError, match=reason):
            apply_patch(tmp_path, patch)
    assert contents(tmp_path) == {}


def test_a_target_is_removed_with_its_own_imports(index, tmp_path):
    (index.root / CART_FILE).write_text(f"import json\nimport os\n{FILES[CART_FILE]}\n\ndef f(x: Decimal): return os\n")
    copy_without_target(index.root, f"{CART_FILE}::Cart", tmp_path / "copy")
    text = (tmp_path / "copy" / CART_FILE).read_text()
    assert "class Cart" not in text and "Catalogue" not in text and "Container" not in text
    assert "import json" in text  # was unused before
    assert "import os" in text and "from decimal import Decimal" in text and "def f(" in text
    assert "class Cart" in (index.root / CART_FILE).read_text()
    copy_without_target(index.root, "src/shop/catalogue.py::Catalogue.find", tmp_path / "other")
    assert "def __init__" in (tmp_path / "other" / "src/shop/catalogue.py").read_text()
    with pytest.raises(UsageError, match="Crat"):
        copy_without_target(index.root, f"{CART_FILE}::Crat", tmp_path / "third")
