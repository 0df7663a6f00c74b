"""`%explora search`: what may be typed, how what was found shows itself, and the process that finds it."""

import json
import re
from html.parser import HTMLParser

import pytest

from exploracoder_jupyter.core.errors import UsageError
from exploracoder_jupyter.core.types import Parameter
from exploracoder_jupyter.ipython_extension import tab_completion
from exploracoder_jupyter.ipython_extension.searching.search_process import SearchTarget, parse_search_line
from exploracoder_jupyter.ipython_extension.searching.search_results import Hit, Results, SearchedLibrary, parse_results
from tests.unit.texts import formulas

LAST = SearchTarget("networkx", {"sandbox": {"kernel": "other"}})
HOSTILE = '<script>alert("x")</script>\' onclick="y" \x1b[2J &amp; $\\style{cursor:url(//host/x),auto}{x}$ \\(x\\)'
WHOLE = Hit(
    path="lib.flow.compute",
    signature="(graph, weight=None)",
    description="Compute the ``flow`` of a :class:`~lib.Graph`.",
    documentation="Compute the ``flow`` of a :class:`~lib.Graph`.\n\nIt is slow.\n\nParameters\n----------\ngraph",
    examples=("import lib\n\nlib.flow.compute(lib.Graph())", "second()"),
    parameters=(Parameter("graph", "Graph", "", "what flows"), Parameter("weight")),
    returns="a number",
    notes=("Added in 1.2.",),
    see_also=("lib.other",),
    aliases=("lib.compute",),
    deprecated="use `lib.other`",
    origin="ref/flow.md",
)


class Tags(HTMLParser):
    """The tags of a text and their attributes; what is open at its end."""

    def __init__(self, html):
        super().__init__()
        self.names, self.attributes, self.open, self.text = [], [], [], ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs
        if tag not in ("wbr", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    ("line", "last", "libraries", "query"),
    [
        ("networkx shortest path", None, "networkx", "shortest path"),
        ("anything at all", None, "anything", "at all"),
        ('networkx "shortest path"', None, "networkx", "shortest path"),
        ("networkx what's a path ?", None, "networkx", "what's a path?"),
        ("networkx,numpy matrix of a graph", LAST, "networkx,numpy", "matrix of a graph"),
        ("pydantic validate a model", LAST, "pydantic", "validate a model"),
        ("Scikit_Learn cluster points", LAST, "Scikit_Learn", "cluster points"),
        ("networkx.drawing lay out a graph", LAST, "networkx.drawing", "lay out a graph"),
        ("nowhere: lay out a graph", LAST, "nowhere", "lay out a graph"),
        ("random: walk", LAST, "random", "walk"),
    ],
)
def test_the_first_word_is_the_library(line, last, libraries, query):
    asked = parse_search_line(line, last)
    assert (asked.target, asked.query, asked.k) == (SearchTarget(libraries), query, 10)


@pytest.mark.parametrize(
    ("line", "query"),
    [
        ("shortest path", "shortest path"),
        ("random walk", "random walk"),
        ("clustering", "clustering"),
        ("networkx clustering", "clustering"),
        ("networkx: clustering", "clustering"),
        ('"numpy array of a graph"', "numpy array of a graph"),
        ('"numpy" array of a graph', "numpy array of a graph"),
        ("-k 10 degree -k 10", "degree"),
    ],
)
def test_the_last_library_is_searched_again_by_default(line, query):
    asked = parse_search_line(line, LAST)
    assert (asked.target, asked.query) == (LAST, query)


def test_options_set_count_and_reading():
    asked = parse_search_line("-k 3 mylib --kernel other what it does", LAST)
    assert (asked.target, asked.query, asked.k) == (
        SearchTarget("mylib", {"sandbox": {"kernel": "other"}}),
        "what it does",
        3,
    )


@pytest.mark.parametrize(
    ("line", "last", "sentence"),
    [
        ("", None, "The query is empty."),
        (" ", LAST, "The query is empty."),
        ("networkx", None, "There is no query: what are you looking for in networkx?"),
        ("networkx", LAST, "There is no query: what are you looking for in networkx?"),
        ("numpy", LAST, "There is no query for numpy; to search for that word in networkx, put it in quotes"),
        ('numpy ""', LAST, "There is no query for numpy"),
        ('"shortest path"', None, "No library is named"),
        ("-k many networkx path", None, "-k takes a whole number, not 'many'."),
        ("-k 0 networkx path", None, "-k takes a number from 1 to 1000, not 0."),
        ("--candidates 3 networkx path", None, "There is no option --candidates"),
        ('networkx "path', None, "The %explora search line cannot be read."),
    ],
)
def test_a_wrong_line_is_explained(line, last, sentence):
    with pytest.raises(UsageError) as raised:
        parse_search_line(line, last)
    assert str(raised.value).startswith(sentence)


def test_json_output_is_found_among_other_text():
    row = {"path": "lib.f", "signature": "(x)", "examples": ["f(1)", "f(2)"], "later": 1}
    found = parse_results(
        json.dumps({"query": "q", "results": [row, {"path": "lib.g"}], "libraries": [{"name": "lib"}]})
    )
    assert [hit.path for hit in found] == ["lib.f", "lib.g"]
    assert (found[0].example, found[1].example, len(found[:1])) == ("f(1)", "", 1)


def test_results_are_text_for_people_and_for_models():
    found = Results(
        "a flow", (WHOLE, Hit("lib.g")), (SearchedLibrary("lib", "1.0"),), 1242, 0.26, ("It cannot run here.",)
    )
    assert repr(found).splitlines() == [
        "lib 1.0: 2 of 1,242 APIs for “a flow”, in 0.3 s",
        "It cannot run here.",
        "1. lib.flow.compute(graph, weight=None) (deprecated)",
        "    Compute the ``flow`` of a :class:`~lib.Graph`.",
        "2. lib.g",
    ]
    assert found._repr_llm_().endswith("\n\n# lib.flow.compute\nimport lib\n\nlib.flow.compute(lib.Graph())")
    assert set(found._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert "It is slow." in str(found[0])
    assert "It cannot run here." in Tags(found._repr_html_()).text
    hostile = Results(HOSTILE, (Hit(*(HOSTILE,) * 5, examples=(HOSTILE,)),), (SearchedLibrary(HOSTILE),))
    assert "\x1b" not in repr(hostile) + str(hostile[0]) + repr(hostile[0]) + hostile._repr_llm_()
    assert repr(Results("x", (), (SearchedLibrary("lib", "1.0"),), 5)) == "lib 1.0: nothing in 5 APIs for “x”, in 0.0 s"


def test_html_shows_all_that_is_known():
    shown = Tags(WHOLE._repr_html_())
    assert shown.open == []
    assert ("open", None) in shown.attributes
    text = re.sub(r"\s+", " ", shown.text)
    for part in (
        "lib.flow.compute(graph, weight=None)deprecated",
        "Compute the flow of a lib.Graph.",
        "Deprecated: use lib.other",
        "It is slow.",
        "lib.flow.compute(lib.Graph())",
        "graph: Graphwhat flows",
        "Returns a number",
        "See also lib.other",
        "Also called lib.compute",
        "Added in 1.2.",
        "From ref/flow.md",
    ):
        assert part in text
    assert text.count("It is slow.") == text.count("Compute the flow") == 1
    assert "----" not in text
    assert "second()" not in text


@pytest.mark.parametrize("ending", ["```python\nf(1)\n```", ">>> f(1)", "Args:\n    x: one", ":param x: one"])
def test_a_docstring_is_prose_up_to_its_sections(ending):
    shown = Tags(Hit("lib.f", documentation=f"Do it.\n\nReally `do <https://x.y>`_ it.\n\n{ending}")._repr_html_()).text
    assert shown == "lib.f Do it.Really do it."


def test_html_has_no_script_and_escapes_texts():
    hostile = Hit(
        *(HOSTILE,) * 5,
        examples=(HOSTILE, HOSTILE),
        parameters=(Parameter(*(HOSTILE,) * 4),),
        returns=HOSTILE,
        notes=(HOSTILE,),
        see_also=(HOSTILE,),
        aliases=(HOSTILE,),
        deprecated=HOSTILE,
        origin=HOSTILE,
    )
    results = Results(HOSTILE, (hostile,), (SearchedLibrary(HOSTILE, HOSTILE),), notices=(HOSTILE,))
    shown = Tags(results._repr_html_())
    assert shown.open == []
    assert not {"script", "style", "link", "img", "a"} & set(shown.names)
    assert {name for name, _ in shown.attributes} <= {"style", "class", "open", "tabindex", "role", "aria-label"}
    assert shown.text.count('<script>alert("x")</script>') >= 12
    assert not formulas(results._repr_html_())


def test_only_the_first_entry_is_unfolded():
    html = Results("q", tuple(Hit(f"lib.f{n}") for n in range(60)))._repr_html_()
    assert html.count("<details open>") == 1
    assert html.count("<details") == 50
    assert "10 more are in the list." in html


def test_a_long_signature_is_whole_below_the_fold():
    signature = f"({', '.join(f'parameter_{n}=None' for n in range(30))})"
    shown = Tags(Hit("lib.f", signature)._repr_html_()).text
    assert shown.startswith("lib.f(parameter_0=None, parameter_1=None, ")
    assert ", …)" in shown[:100]
    assert shown.endswith(f"f{signature}")


def test_a_library_that_was_installed_meanwhile_is_known(monkeypatch):
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: {"networkx": ["networkx"]})
    monkeypatch.setattr("importlib.metadata.distributions", list)
    tab_completion.installed_names.cache_clear()
    assert parse_search_line("polars read csv", LAST).target == LAST
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: {"polars": ["polars"]})
    assert parse_search_line("polars read csv", LAST).target == SearchTarget("polars")
    tab_completion.installed_names.cache_clear()
