"""How an exception is described to a model: where, in which expression, with which values, and what may be meant."""

import builtins
import linecache
import sys

import networkx
import pandas
import pytest

from exploracoder_jupyter.kernel_agent.reporting.failure_report import build_report

SECRET = "patient 4711"
LIBRARY = """
def call(function, value):
    return inner(function, value)
def inner(function, value):
    return function(value)
"""


class Cells:
    """Cells of one namespace; the last one fails."""

    def __init__(self):
        self.namespace = {"__name__": "__main__", "nx": networkx, "pd": pandas, "SECRET": SECRET}
        self.count = 0

    def run(self, code):
        self.count += 1
        name = f"/tmp/ipykernel_0/{id(self)}{self.count}.py"
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        exec(compile(code, name, "exec"), self.namespace)

    def fail(self, *codes):
        for code in codes[:-1]:
            self.run(code)
        with pytest.raises(BaseException) as caught:
            self.run(codes[-1])
        return build_report(caught.value, self.namespace)


@pytest.fixture
def cells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Cells()


def report(cells, *codes):
    return cells.fail(*codes)["report"].splitlines()


def test_a_frame_has_its_line_the_failing_expression_and_the_values_in_it(cells):
    code = "prices = [2]\nname = 'coffee'\ntotal = 1 + prices[name]"
    assert report(cells, code) == [
        "TypeError: list indices must be integers or slices, not str",
        "  line 3 of the cell: total = 1 + prices[name]",
        "    failed in: prices[name]",
        "    prices: list [2]",
        "    name: str 'coffee'",
    ]


def test_functions_of_earlier_cells_are_the_users_own(cells):
    lines = report(cells, "def half(n):\n    part = n / 0\n    return part", "x = 3\nhalf(x)")
    assert lines[1:] == [
        "  line 2 of the cell: half(x)",
        "    x: int 3",
        "  half, line 2 of an earlier cell: part = n / 0",
        "    failed in: n / 0",
        "    n: int 3",
    ]


def test_libraries_are_counted_and_their_last_frame_is_named(cells):
    lines = report(cells, "G = nx.path_graph(3)\nnx.shortest_path(G, 0, 99)")
    assert lines[:2] == [
        "networkx.NodeNotFound: Target 99 is not in G",
        "  line 2 of the cell: nx.shortest_path(G, 0, 99)",
    ]
    assert lines[2].startswith("    G: networkx.Graph")
    assert lines[3].startswith("  in networkx/algorithms/shortest_paths/") and "frames of libraries)" in lines[3]
    assert len(lines) == 4


def test_files_below_the_working_directory_are_the_users_own_unless_they_are_installed(cells, tmp_path, monkeypatch):
    home = tmp_path / "env" / "site-packages"
    home.mkdir(parents=True)
    (home / "theirs.py").write_text(LIBRARY)
    (tmp_path / "mine.py").write_text("def load(n):\n    return [][n]\n")
    for folder in (home, tmp_path):
        monkeypatch.syspath_prepend(folder)
    failed = cells.fail("import mine\nmine.load(7)")
    assert "  load, line 2 of mine.py: return [][n]" in failed["report"].splitlines()
    assert "  load, line 2 of mine.py" in failed["schema"].splitlines()
    lines = report(cells, "import theirs\ntheirs.call(int, 'x')")
    assert lines[-1] == "  in theirs.py inner, line 5 (the last of 2 frames of libraries)"
    for name in ("mine", "theirs"):
        monkeypatch.delitem(sys.modules, name)


def test_a_recursion_is_shown_once(cells):
    lines = report(cells, "def down(n):\n    return down(n + 1)\ndown(0)")
    assert any("the same" in line and "times" in line for line in lines)
    assert len(lines) < 12


touched = []


class Rude:
    """Lets nobody look at it."""

    def __getattribute__(self, name):
        touched.append(name)
        raise RuntimeError

    def __repr__(self):
        while True:
            pass

    __class__ = property(lambda self: touched.append("__class__"))


def test_values_run_none_of_their_code_in_this_process(cells):
    touched.clear()
    cells.namespace["rude"] = Rude()
    lines = report(cells, "rude + {}.clear()")
    assert touched == []
    assert any(line.startswith("    rude: ") and "Rude" in line for line in lines)


def test_attributes_and_items_of_names_are_shown_without_calling_descriptors(cells):
    code = (
        "class Shop:\n    def __init__(self):\n        self.prices = {'tea': [2]}\n"
        "    @property\n    def computed(self):\n        print('asked')\n        return 1\n"
        "shop = Shop()\nshop.prices['tea'] + shop.computed"
    )
    lines = report(cells, code)
    assert "    shop.prices['tea']: list [2]" in lines
    assert not any(line.startswith("    shop.computed:") for line in lines)


def test_a_value_that_cannot_be_unpacked_is_shown(cells):
    assert "    pairs: list [(1, 2, 3)]" in report(cells, "pairs = [(1, 2, 3)]\nfor a, b in pairs:\n    pass")


def test_notes_and_causes_are_shown_each_with_its_own_frames(cells):
    code = (
        "try:\n    {}['x']\nexcept KeyError as error:\n"
        "    late = ValueError('bad')\n    late.add_note('look at x')\n    raise late from error"
    )
    lines = report(cells, code)
    assert lines[:2] == ["ValueError: bad", "Note: look at x"]
    assert lines[-2:] == ["Caused by KeyError: 'x'", "  line 2 of the cell: {}['x']"]


def test_the_exception_being_handled_is_shown_unless_it_was_suppressed(cells):
    code = "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('bad')"
    assert "Raised while handling ZeroDivisionError: division by zero" in report(cells, code)
    assert not any("Zero" in line for line in report(cells, code + " from None"))


def test_a_chain_is_cut_and_a_circle_ends(cells):
    code = (
        "def deep(n):\n    try:\n        1 / 0 if not n else deep(n - 1)\n"
        "    except Exception:\n        raise ValueError(n)\ndeep(9)"
    )
    assert sum(line.startswith("Raised while handling") for line in report(cells, code)) == 3
    circle = "a, b = ValueError('a'), ValueError('b')\na.__cause__, b.__cause__ = b, a\nraise a"
    assert sum(line.startswith("Caused by") for line in report(cells, circle)) == 1


def test_the_members_of_a_group_are_shown(cells):
    lines = report(cells, "raise ExceptionGroup('two', [ValueError('x'), KeyError('k')])")
    assert lines[-2:] == ["  Holds ValueError: x", "  Holds KeyError: 'k'"]


def test_a_syntax_error_has_its_line_and_a_mark(cells):
    failed = cells.fail("x = (1,\ny = 2 3")
    assert failed["report"].splitlines()[-2].strip() in ("x = (1,", "y = 2 3")
    assert failed["report"].splitlines()[-1].strip() == "^"
    assert failed["schema"].splitlines()[1:] == failed["report"].splitlines()[1:]


def test_the_line_of_a_syntax_error_in_data_is_no_schema(cells):
    failed = cells.fail("eval(SECRET)")
    assert SECRET in failed["report"] and "4711" not in failed["schema"]


def test_errors_before_any_code_ran_are_reported():
    from IPython.core.error import UsageError

    assert build_report(UsageError("no magic"), {})["report"] == "IPython.core.error.UsageError: no magic"


FAILING = [
    "int(SECRET)",
    "{SECRET: 1}['x']",
    "x = {'a': SECRET}\nx['b']",
    "raise ValueError(SECRET) from KeyError(SECRET)",
    "error = ValueError('x')\nerror.add_note(SECRET)\nraise error",
    "raise ExceptionGroup(SECRET, [ValueError(SECRET)])",
    "d = {SECRET: 1}\nd['patient 4712']",
    "def f(x, y=SECRET):\n    pass\nf()",
    "from dataclasses import dataclass\n@dataclass\nclass Config:\n    name: str = SECRET\nConfg()",
    "from dataclasses import make_dataclass\nConfig = make_dataclass('Config', [('name', str, SECRET)])\nConfg()",
    "class A:\n    pass\na = A()\na.patients = SECRET\na.patient",
    "exec(f'raise ValueError({SECRET!r})')",
    "df = pd.DataFrame({'a': [SECRET]})\ndf['b'] + df.loc[SECRET]",
]


@pytest.mark.parametrize("code", FAILING)
def test_the_schema_and_the_names_hold_no_value(cells, code):
    failed = cells.fail(code)
    assert failed["schema"]
    shown = failed["schema"].replace("'patient 4712'", "")  # the code itself
    assert "4711" not in shown and "4711" not in "".join(failed["nearest"])


def test_the_schema_has_frames_expression_and_types(cells):
    failed = cells.fail("prices = {'tea': 2}\ntotal = 1 + prices['coffee']")
    assert failed["schema"].splitlines() == [
        "KeyError",
        "  line 2 of the cell: total = 1 + prices['coffee']",
        "    failed in: prices['coffee']",
        "    prices: dict",
    ]


NEAREST = {
    "a method": ("nx.Graph().add_edges", "networkx.Graph.add_edge(u_of_edge, v_of_edge, **attr): Add an edge"),
    "a property": ("nx.Graph().nodes_list", "networkx.Graph.nodes: property"),
    "an attribute of the instance": ("class A:\n    def __init__(s):\n        s.total = 1\nA().totl", "A.total: int"),
    "of a class": ("nx.Graph.add_egde", "networkx.Graph.add_edge("),
    "of a module": ("nx.shortest_pth", "networkx.shortest_path(G, source=None, target=None"),
    "a name": ("def compute(a, *, b=1):\n    'Add.'\ncompoot(1)", "compute(a, *, b=...): Add."),
    "a builtin": ("pritn(1)", "print("),
    "a module not imported": ("pandas.DataFrame()", "pandas: module, not imported"),
    "an import": ("from networkx import Grph", "networkx.Graph("),
    "a submodule": ("import networkx.algorithmz", "networkx.algorithms: module"),
    "a module": ("import pandaz", "pandas: module"),
    "a column": ("df = pd.DataFrame({'price': [1]})\ndf['prise']", "column 'price'"),
    "columns of a call": ("df = pd.DataFrame({'price': [1]})\ndf.groupby('prise')", "column 'price'"),
    "no callee": ("nx.Graph().add_edge(1)", ""),
    "a callee": ("G = nx.Graph()\nG.add_edge(1)", "networkx.Graph.add_edge(u_of_edge, v_of_edge, **attr)"),
    "a class that is called": ("class A:\n    def __init__(self, n):\n        pass\nA(1, 2)", "A(n)"),
}


@pytest.mark.parametrize("code, line", NEAREST.values(), ids=NEAREST)
def test_what_may_have_been_meant(cells, code, line):
    found = cells.fail(code)["nearest"]
    assert any(one.startswith(line) for one in found) if line else found == []
    assert len(found) <= 5


def test_members_are_listed_where_no_name_is_similar(cells):
    failed = cells.fail("nx.Graph().xyzzy")
    assert failed["nearest"] == []
    [line] = [line for line in failed["schema"].splitlines() if "networkx.Graph has: " in line]
    assert line in failed["report"] and "add_edge, " in line and " _" not in line


def test_common_verbs_make_no_names_similar(cells):
    code = "class A:\n    def get_width(self): ...\n    def get_totals(self): ...\nA().get_total"
    assert [line.partition("(")[0] for line in cells.fail(code)["nearest"]] == ["A.get_totals"]
    failed = cells.fail(code.replace("A().get_total", "A().get_x"))
    assert failed["nearest"] == [] and "A has: get_totals, get_width" in failed["report"]


def test_an_error_about_a_table_shows_its_columns(cells):
    failed = cells.fail("df = pd.DataFrame({'price': [1.5], 'n': [2]})\ndf.groupby('city')")
    assert "  Columns of df: price float64, n int64" in failed["report"].splitlines()
    assert "  Columns of df: price float64, n int64" in failed["schema"].splitlines()
    wide = cells.fail("df = pd.DataFrame({f'c{n}': [n] for n in range(99)})\ndf['x']")
    assert "c29 int64 and 69 more" in wide["report"] and "c30" not in wide["report"]


def test_keys_of_a_dictionary_are_shown_in_the_report_only(cells):
    failed = cells.fail("prices = {'coffee': 1}\nprices['cofee']")
    assert "  Keys like it: 'coffee'" in failed["report"].splitlines()
    assert "'coffee'" not in failed["schema"] and failed["nearest"] == []


def test_private_names_are_not_proposed_for_public_ones(cells):
    code = "class A:\n    _total = 1\n"
    assert cells.fail(f"{code}A().total")["nearest"] == []
    assert cells.fail(f"{code}A()._totel")["nearest"] == ["A._total: int"]


def test_everything_is_bounded(cells):
    failed = cells.fail("x = 'm' * 100_000\nraise ValueError(x)")
    assert "characters cut" in failed["report"]
    assert len(failed["report"]) < 4100


def test_it_never_raises(cells, monkeypatch):
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    assert "its text raises RuntimeError" in build_report(Broken(), {})["report"]
    monkeypatch.setattr(linecache, "getlines", None)
    assert cells.fail("1 / 0") == {"report": "", "schema": "", "nearest": []}


def test_older_interpreters_report_groups_like_other_errors(cells, monkeypatch):
    monkeypatch.delattr(builtins, "BaseExceptionGroup")
    assert report(cells, "1 / 0")[0] == "ZeroDivisionError: division by zero"
