"""networkx graphs and views of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, format_list
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_CHUNK_SIZE = 1000
_COUNT_SECONDS = 0.03
_SAMPLE_SIZE = 500
_MAX_ITEMS = 8
_MAX_EDGES = 4
_MAX_COUNTED_NODES = 2000


def _describe_graph(graph: Any, options: SummaryOptions) -> Iterator[Fact]:
    nodes, (edges, exact) = len(graph), _count_edges(graph, options)
    kind = ("directed" if graph.is_directed() else "undirected") + (", multi" if graph.is_multigraph() else "")
    count = f"{edges:,} edges" if exact else f"about {float(f'{edges:.2g}'):,.0f} edges"
    yield Fact(f"{kind}, {nodes:,} nodes, {count}{_format_density(graph, nodes, edges)}")
    yield from _node_types(graph)
    yield from _attribute_facts(graph)
    yield from _sample_facts(graph, options)
    yield from _degree_fact(graph)
    if graph.graph:
        shown = ", ".join(f"{key}={options.short(value)}" for key, value in islice(graph.graph.items(), _MAX_ITEMS))
        yield Fact(f"graph attributes: {shown}", shows=True, schema=f"graph attributes: {_format_keys(graph.graph)}")


class _EdgeCount(NamedTuple):
    edges: int
    exact: bool
    """False if it is an estimate from the nodes that there was time to count."""


def _count_edges(graph: Any, options: SummaryOptions) -> _EdgeCount:
    """Count the edges directly, which is faster than `number_of_edges`: that makes a view of each degree."""
    seen = endpoints = loops = 0
    deadline = min(options.deadline, time.monotonic() + _COUNT_SECONDS)
    items = iter((graph.adj if _is_filtered_view(graph) else graph._adj).items())
    while chunk := list(islice(items, _CHUNK_SIZE)):
        seen += len(chunk)
        parallel_edges = (neighbors.values() for _, neighbors in chunk) if graph.is_multigraph() else ()
        endpoints += (
            sum(sum(map(len, each)) for each in parallel_edges)
            if parallel_edges
            else sum(len(neighbors) for _, neighbors in chunk)
        )
        if not graph.is_directed():
            self_loops = [neighbors[node] for node, neighbors in chunk if node in neighbors]
            loops += sum(map(len, self_loops)) if graph.is_multigraph() else len(self_loops)
        if time.monotonic() >= deadline:
            break
    exact = seen >= len(graph)
    edges = endpoints if graph.is_directed() else (endpoints + loops) // 2
    return _EdgeCount(edges if exact else round(edges / seen * len(graph)), exact)


def _is_filtered_view(graph: Any) -> bool:
    return type(graph._adj) is not dict


def _format_density(graph: Any, nodes: int, edges: int) -> str:
    if nodes < 2:
        return ""
    return f", density {edges * (1 if graph.is_directed() else 2) / (nodes * (nodes - 1)):.3g}"


def _node_types(graph: Any) -> Iterator[Fact]:
    kinds = Counter(type(node).__name__ for node in islice(graph, _SAMPLE_SIZE))
    if kinds:
        yield Fact(f"nodes are {format_list([kind for kind, _ in kinds.most_common()], 4)}{_sample_note(graph)}")


def _sample_note(graph: Any) -> str:
    return f" (the first {_SAMPLE_SIZE} of them)" if len(graph) > _SAMPLE_SIZE else ""


def _attribute_facts(graph: Any) -> Iterator[Fact]:
    """List the attributes of nodes and edges, with their types and how many nodes or edges have them."""
    for what, attribute_dicts in (
        ("node", (data for _, data in _node_data(graph))),
        ("edge", (edge[-1] for edge in _edge_data(graph))),
    ):
        types_by_key: dict[str, Counter[str]] = {}
        total = 0
        for data in islice(attribute_dicts, _SAMPLE_SIZE):
            total += 1
            for key, value in data.items():
                types_by_key.setdefault(str(key), Counter())[type(value).__name__] += 1
        if types_by_key:
            attributes = [_format_attribute(key, kinds, total) for key, kinds in types_by_key.items()]
            yield Fact(f"{what} attributes: {format_list(attributes, _MAX_ITEMS)}")


def _format_attribute(key: str, kinds: Counter[str], total: int) -> str:
    presence = "" if kinds.total() == total else f" (in {kinds.total()} of {total})"
    return f"{key}: {' | '.join(sorted(kinds))}{presence}"


def _node_data(graph: Any) -> Iterable[Any]:
    found: Iterable[Any] = graph.nodes(data=True)
    return found


def _edge_data(graph: Any) -> Iterable[Any]:
    found: Iterable[Any] = graph.edges(data=True)
    return found


def _sample_facts(graph: Any, options: SummaryOptions) -> Iterator[Fact]:
    nodes, edges = [*islice(graph, _MAX_ITEMS)], [*islice(_edge_data(graph), _MAX_EDGES)]
    if nodes:
        yield Fact(f"nodes: {_join_items(map(options.short, nodes), len(graph) > len(nodes))}", shows=True)
    if edges:
        descriptions = (
            f"{options.short(u)} - {options.short(v)}" + (f" {options.short(data)}" if data else "")
            for u, v, data in edges
        )
        yield Fact(f"edges: {_join_items(descriptions, len(edges) == _MAX_EDGES)}", shows=True)


def _join_items(items: Iterable[str], more: bool) -> str:
    return ", ".join(items) + (", ..." if more else "")


def _degree_fact(graph: Any) -> Iterator[Fact]:
    degrees = [degree for _, degree in islice(graph.degree, _SAMPLE_SIZE)]
    if degrees:
        mean = sum(degrees) / len(degrees)
        yield Fact(f"degrees {min(degrees)} to {max(degrees)}, mean {mean:.3g}{_sample_note(graph)}", shows=True)


def _format_keys(data: dict[Any, Any]) -> str:
    return format_list([str(key) for key in islice(data, _MAX_ITEMS + 1)], _MAX_ITEMS)


def _describe_view(view: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a view of a graph's nodes, edges, degrees or neighbors by its first items."""
    graph = getattr(view, "_graph", None)
    count = f"{len(view):,} items" if graph is None or len(graph) <= _MAX_COUNTED_NODES * 100 else "items not counted"
    yield Fact(count + (f", of a graph of {len(graph):,} nodes" if graph is not None else ""))
    items = [*islice(view.items() if hasattr(view, "items") else view, _MAX_ITEMS)]
    if items:
        descriptions = [
            f"{options.short(i[0])}: {options.short(i[1])}" if hasattr(view, "items") else options.short(i)
            for i in items
        ]
        yield Fact(", ".join(descriptions) + (", ..." if len(items) == _MAX_ITEMS else ""), shows=True)


def _measure(graph: Any) -> str:
    """Return the number of nodes and edges; only of nodes where counting edges would take more than microseconds."""
    nodes = len(graph)
    return f"{nodes:,} nodes" + (f", {graph.number_of_edges():,} edges" if nodes <= _MAX_COUNTED_NODES else "")


_VIEWS = ("NodeView", "NodeDataView", "DiDegreeView", "OutEdgeView", "OutEdgeDataView", "AtlasView", "UnionAtlas")

FAMILY = TypeFamily(
    {"networkx.Graph": _describe_graph} | {f"networkx.{name}": _describe_view for name in _VIEWS},
    measures={"networkx.Graph": _measure},
)
