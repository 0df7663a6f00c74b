"""Graphs of networkx with their views, and of igraph."""

import copy

import igraph
import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.summaries.described import measure, schema, text


def test_a_graph_is_described_by_size_and_sample():
    graph = nx.Graph(name="club")
    graph.add_node("ann", age=7)
    graph.add_node("bob")
    graph.add_edge("ann", "bob", weight=2.5)
    assert text(graph).splitlines() == [
        "undirected, 2 nodes, 1 edges, density 1",
        "nodes are str",
        "node attributes: age: int (in 1 of 2)",
        "edge attributes: weight: float",
        "nodes: 'ann', 'bob'",
        "edges: 'ann' - 'bob' {'weight': 2.5}",
        "degrees 1 to 1, mean 1",
        "graph attributes: name='club'",
    ]
    assert schema(graph).splitlines() == [*text(graph).splitlines()[:4], "graph attributes: name"]


@pytest.mark.parametrize(
    ("graph", "first"),
    [
        (nx.Graph(), "undirected, 0 nodes, 0 edges"),
        (nx.DiGraph([(1, 2), (2, 1)]), "directed, 2 nodes, 2 edges, density 1"),
        (nx.MultiGraph([(1, 2), (1, 2), (2, 2)]), "undirected, multi, 2 nodes, 3 edges, density 3"),
        (nx.MultiDiGraph([(1, 1), (1, 1), (1, 2)]), "directed, multi, 2 nodes, 3 edges, density 1.5"),
        (nx.path_graph(9).subgraph([1, 2, 3]), "undirected, 3 nodes, 2 edges, density 0.667"),
        (nx.empty_graph(100_001), "undirected, 100,001 nodes, edges not counted"),
    ],
)
def test_kinds_of_graphs(graph, first):
    assert text(graph).splitlines()[0].startswith(first)


def test_large_graphs_are_sampled_and_marked():
    assert "degrees 1 to 2, mean 2 (the first 500 of them)" in text(nx.path_graph(2000))


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (lambda g: g.nodes, "1: {}, 2: {}"),
        (lambda g: g.edges, "(1, 2): {'w': 3}"),
        (lambda g: g.degree, "(1, 1), (2, 1)"),
        (lambda g: g.adj, "1: "),
        (lambda g: g[1], "2: {'w': 3}"),
        (lambda g: nx.DiGraph(g).in_degree, "(1, 1), (2, 1)"),
    ],
)
def test_views_are_described_by_their_first_items(view, expected):
    graph = nx.Graph([(1, 2, {"w": 3})])
    summary = text(view(graph))
    assert expected in summary and "items" in summary.splitlines()[0]
    assert expected not in schema(view(graph))


def test_the_measure_changes_with_the_graph():
    graph = nx.path_graph(3)
    assert measure(graph) == "3 nodes, 2 edges"
    graph.add_edge(0, 2)
    assert measure(graph) == "3 nodes, 3 edges"
    assert measure(nx.path_graph(5000)) == "5,000 nodes"


names = st.one_of(st.integers(10**6, 10**7), st.text("xyz", min_size=8, max_size=9), st.tuples(st.floats(11, 12)))


@given(st.lists(st.tuples(names, names)), st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
def test_any_graph_is_described_unchanged(edges, kind):
    graph = kind(edges)
    before = copy.deepcopy(graph.adj)
    assert f"{graph.number_of_edges():,} edges" in text(graph)
    assert not any(str(node) in schema(graph) for node in graph)
    assert graph.adj == before


def test_an_igraph_shows_attributes_of_both_kinds():
    graph = igraph.Graph(directed=True)
    graph.add_vertices(2, {"name": ["a", "b"]})
    graph.add_edges([(0, 1)], {"pipe": ["north"], "length": [2.5]})
    assert schema(graph).splitlines() == [
        "directed, 2 vertices, 1 edges",
        "vertex attributes: name: str",
        "edge attributes: pipe: str, length: float",
    ]
    assert "edges: {'pipe': 'north', 'length': 2.5}" in text(graph)
    assert text(igraph.Graph()) == "undirected, 0 vertices, 0 edges"
