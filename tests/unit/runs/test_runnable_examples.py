"""Documented examples become code that can be run by itself."""

import pytest

from exploracoder_jupyter.core.types import ApiDoc
from exploracoder_jupyter.runs.library_search import runnable_examples


class Known:
    """A library with these APIs."""

    def __init__(self, *paths):
        self._paths = paths

    def lookup(self, path):
        return ApiDoc(path, "function", "", "", "networkx", "3") if path in self._paths else None


def examples(*codes, path="networkx.flow.cut", aliases=(), known=()):
    api = ApiDoc(path, "function", "", "", "networkx", "3", examples=codes, aliases=aliases)
    return runnable_examples(api, Known(path, *known))


@pytest.mark.parametrize(
    ("code", "made"),
    [
        ("nx.flow.cut(1)", "import networkx as nx\n\nnx.flow.cut(1)"),
        ("cut([x for x in range(3)])", "from networkx.flow import cut\n\ncut([x for x in range(3)])"),
        (
            "import math\ncut(np.ones(2))",
            "from networkx.flow import cut\nimport numpy as np\nimport math\ncut(np.ones(2))",
        ),
        ("from networkx.flow import cut\ncut(1)", "from networkx.flow import cut\ncut(1)"),
        ("def f(a, b=2):\n    c = a\n    return c + b\nf(1)", "def f(a, b=2):\n    c = a\n    return c + b\nf(1)"),
    ],
)
def test_imports_that_documentation_leaves_out_are_added(code, made):
    assert examples(code) == (made,)


def test_names_of_one_module_are_imported_from_it():
    assert examples("join(cut(1))", known=["networkx.flow.join"]) == (
        "from networkx.flow import cut\nfrom networkx.flow import join\n\njoin(cut(1))",
    )


def test_complete_examples_that_call_the_api_come_first():
    unrelated, incomplete, direct, aliased = "import os\nos.getcwd()", "nx.cut(mystery)", "nx.cut(2)", "nx.slice(3)"
    made = examples(unrelated, incomplete, direct, aliased, direct, aliases=("networkx.slice",))
    assert [code.rpartition("\n")[2] for code in made] == ["nx.cut(2)", "nx.slice(3)", "os.getcwd()", "nx.cut(mystery)"]


def test_what_is_no_python_stays_as_it_is():
    assert examples("$ shell command", "nx.cut(1)") == ("import networkx as nx\n\nnx.cut(1)", "$ shell command")
