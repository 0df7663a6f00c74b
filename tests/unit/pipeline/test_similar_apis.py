"""An error suggests documented APIs that may have been meant."""

import pytest

from exploracoder_jupyter.core.types import ErrorInfo, Observation
from exploracoder_jupyter.pipeline.retrieval.lookups import add_suggestions
from tests.unit.world import a_run, api

GRAPHS = (
    api("nx.Graph", "A graph.", "(data=None)", kind="class"),
    api("nx.Graph.nodes", "The nodes. All of them.", "", kind="property"),
    api("nx.Graph.number_of_nodes", "Number of nodes.", "()", kind="method"),
    api("nx.Graph.add_edge", "Add an edge.", "(u, v, **attr)", kind="method"),
    api("nx.nodes", "Nodes of a graph.", "(G)"),
    api("nx.shortest_path", "A shortest path.", "(G, source, target)"),
    api("nx.drawing.layout", "Layouts.", "", kind="module"),
)


def meant(name, message, *, nearest=()):
    error = ErrorInfo(name, message, nearest=nearest)
    return add_suggestions(a_run(None, apis=GRAPHS), Observation("error", error=error)).error.nearest


def test_apis_of_the_same_class_come_first():
    assert meant("AttributeError", "'Graph' object has no attribute 'nodes_list'") == (
        "nx.Graph.nodes (property): The nodes.",
        "nx.Graph.number_of_nodes(): Number of nodes.",
        "nx.nodes(G): Nodes of a graph.",
    )


@pytest.mark.parametrize(
    ("name", "message", "first"),
    [
        ("AttributeError", "'Graph' object has no attribute 'shortest_path'", "nx.shortest_path(G, source, target)"),
        ("AttributeError", "module 'nx' has no attribute 'shortestPath'", "nx.shortest_path("),
        ("AttributeError", "type object 'Graph' has no attribute 'addEdge'", "nx.Graph.add_edge("),
        ("NameError", "name 'Grph' is not defined", "nx.Graph("),
        ("ImportError", "cannot import name 'shortest_pth' from 'nx' (/x)", "nx.shortest_path("),
        ("ModuleNotFoundError", "No module named 'nx.layouts'", "nx.drawing.layout (module)"),
        ("TypeError", "shortest_path() got an unexpected keyword argument 'start'", "nx.shortest_path("),
        ("TypeError", "Graph.add_edge() missing 1 required positional argument: 'v'", "nx.Graph.add_edge("),
        ("TypeError", "Graph.__init__() takes 2 positional arguments but 3 were given", "nx.Graph("),
    ],
)
def test_the_forms_of_the_interpreter_are_read(name, message, first):
    assert meant(name, message)[0].startswith(first)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("KeyError", "'nodes'"),
        ("AttributeError", "nodes are gone"),
        ("AttributeError", "'Graph' object has no attribute 'xyzzy'"),
        ("TypeError", "unsupported operand type(s) for +: 'int' and 'str'"),
        ("TypeError", "elsewhere() missing 1 required positional argument: 'v'"),
    ],
)
def test_where_nothing_is_similar_nothing_is_suggested(name, message):
    assert meant(name, message) == ()


def test_suggestions_of_the_sibling_come_first():
    found = ("nx.Graph.nodes: property", "nx.Graph.add_node(n)")
    assert meant("AttributeError", "'Graph' object has no attribute 'nodes_list'", nearest=found) == (
        *found,
        "nx.Graph.number_of_nodes(): Number of nodes.",
        "nx.nodes(G): Nodes of a graph.",
    )


def test_a_signature_from_the_sibling_is_enough():
    message = "shortest_path() got an unexpected keyword argument 'start'"
    assert meant("TypeError", message, nearest=("nx.shortest_path(G)",)) == ("nx.shortest_path(G)",)


@pytest.mark.parametrize("name", ["df", "f", "edge", "nodes_list", "add_edge", "layouts_of"])
def test_an_undefined_variable_is_not_an_attribute(name):
    apis = (*GRAPHS, api("nx.f", "Noise."), api("nx.Graph.edge", "An edge.", "", kind="property"))
    error = ErrorInfo("NameError", f"name '{name}' is not defined")
    found = add_suggestions(a_run(None, apis=apis), Observation("error", error=error)).error.nearest
    assert found == (("nx.f(x): Noise.",) if name == "f" else ())


@pytest.mark.parametrize(("name", "meant_path"), [("graph", "nx.Graph("), ("shortest_pth", "nx.shortest_path(")])
def test_an_unimported_function_is_still_suggested(name, meant_path):
    [line] = meant("NameError", f"name '{name}' is not defined")
    assert line.startswith(meant_path)
