"""Graphs of networkx, views of them, and graphs of igraph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, SummaryOptions, TypeFamily, format_list

_SAMPLE_SIZE = 500
_MAX_ITEMS = 8
_MAX_EDGES = 4
_MAX_COUNTED_NODES = 100_000
"""Above this many nodes, counting the edges takes too long."""
_MAX_MEASURED_NODES = 2000
"""The same after each cell, and in views."""


def _describe_graph(graph: Any, options: SummaryOptions) -> Iterator[Fact]:
    nodes = len(graph)
    kind = ("directed" if graph.is_directed() else "undirected") + (", multi" if graph.is_multigraph() else "")
    count = "edges not counted"
    is_view = hasattr(graph, "_graph")  # which filters each edge that is counted
    if nodes <= (_MAX_MEASURED_NODES if is_view else _MAX_COUNTED_NODES):
        edges = graph.number_of_edges()
        density = edges * (1 if graph.is_directed() else 2) / (nodes * (nodes - 1)) if nodes > 1 else None
        count = f"{edges:,} edges" + (f", density {density:.3g}" if density is not None else "")
    yield Fact(f"{kind}, {nodes:,} nodes, {count}")
    sampled = f" (the first {_SAMPLE_SIZE} of them)" if nodes > _SAMPLE_SIZE else ""
    kinds = Counter(type(node).__name__ for node in islice(graph, _SAMPLE_SIZE))
    if kinds:
        yield Fact(f"nodes are {format_list([name for name, _ in kinds.most_common()], 4)}{sampled}")
    yield from _attribute_fact("node", (data for _, data in graph.nodes(data=True)))
    yield from _attribute_fact("edge", (edge[-1] for edge in graph.edges(data=True)))
    edge_texts = [
        f"{options.short(u)} - {options.short(v)}" + (f" {options.short(data)}" if data else "")
        for u, v, data in islice(graph.edges(data=True), _MAX_EDGES)
    ]
    degrees = [degree for _, degree in islice(graph.degree, _SAMPLE_SIZE)]
    if nodes:
        yield Fact(f"nodes: {_join(map(options.short, islice(graph, _MAX_ITEMS)), nodes > _MAX_ITEMS)}", shows=True)
    if edge_texts:
        yield Fact(f"edges: {_join(edge_texts, len(edge_texts) == _MAX_EDGES)}", shows=True)
    if degrees:
        mean = sum(degrees) / len(degrees)
        yield Fact(f"degrees {min(degrees)} to {max(degrees)}, mean {mean:.3g}{sampled}", shows=True)
    if graph.graph:
        shown = _join(f"{key}={options.short(value)}" for key, value in islice(graph.graph.items(), _MAX_ITEMS))
        names = format_list([str(key) for key in graph.graph], _MAX_ITEMS)
        yield Fact(f"graph attributes: {shown}", shows=True, schema=f"graph attributes: {names}")


def _attribute_fact(what: str, attribute_dicts: Iterable[Any]) -> Iterator[Fact]:
    """List the attributes of nodes or edges, with their types and how many have them."""
    types_by_key: dict[str, Counter[str]] = {}
    total = 0
    for data in islice(attribute_dicts, _SAMPLE_SIZE):
        total += 1
        for key, value in data.items():
            types_by_key.setdefault(str(key), Counter())[type(value).__name__] += 1
    attributes = [
        f"{key}: {' | '.join(sorted(kinds))}" + ("" if kinds.total() == total else f" (in {kinds.total()} of {total})")
        for key, kinds in types_by_key.items()
    ]
    if attributes:
        yield Fact(f"{what} attributes: {format_list(attributes, _MAX_ITEMS)}")


def _join(items: Iterable[str], more: bool = False) -> str:
    return ", ".join(items) + (", ..." if more else "")


def _describe_view(view: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a view of a graph's nodes, edges, degrees or neighbors by its first items."""
    graph = getattr(view, "_graph", ())
    yield Fact(f"{len(view):,} items" if len(graph) <= _MAX_COUNTED_NODES else "items not counted")
    if hasattr(view, "items"):
        items = [f"{options.short(key)}: {options.short(value)}" for key, value in islice(view.items(), _MAX_ITEMS)]
    else:
        items = [options.short(item) for item in islice(view, _MAX_ITEMS)]
    if items:
        yield Fact(_join(items, len(items) == _MAX_ITEMS), shows=True)


def _measure(graph: Any) -> str:
    """Return the number of nodes and edges; only of nodes where counting edges would take more than microseconds."""
    nodes = len(graph)
    return f"{nodes:,} nodes" + (f", {graph.number_of_edges():,} edges" if nodes <= _MAX_MEASURED_NODES else "")


def _describe_igraph(graph: Any, options: SummaryOptions) -> Iterator[Fact]:
    kind = "directed" if graph.is_directed() else "undirected"
    yield Fact(f"{kind}, {graph.vcount():,} vertices, {graph.ecount():,} edges")
    for what, sequence in (("vertex", graph.vs), ("edge", graph.es)):
        yield from _attribute_fact(what, (item.attributes() for item in islice(sequence, _SAMPLE_SIZE)))
    for what, sequence in (("vertices", graph.vs), ("edges", graph.es)):
        items = [options.short(item.attributes()) for item in islice(sequence, _MAX_EDGES)]
        if items and sequence.attribute_names():
            yield Fact(f"{what}: {_join(items, len(sequence) > _MAX_EDGES)}", shows=True)


_VIEWS = ("NodeView", "NodeDataView", "DiDegreeView", "OutEdgeView", "OutEdgeDataView", "AtlasView", "UnionAtlas")

FAMILY = TypeFamily(
    {"networkx.Graph": _describe_graph, "igraph.Graph": _describe_igraph}
    | {f"networkx.{name}": _describe_view for name in _VIEWS},
    measures={"networkx.Graph": _measure},
)
