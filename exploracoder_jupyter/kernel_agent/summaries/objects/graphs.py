"""networkx: graphs, and views of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look, listed

_CHUNK = 1000
_SECONDS = 0.03
_SAMPLE = 500
_SHOWN = 8
_LINKS = 4
_QUICK = 2000


def _graph(graph: Any, look: Look) -> Iterator[Fact]:
    nodes, (edges, exact) = len(graph), _edges(graph, look)
    kind = ("directed" if graph.is_directed() else "undirected") + (", multi" if graph.is_multigraph() else "")
    count = f"{edges:,} edges" if exact else f"about {float(f'{edges:.2g}'):,.0f} edges"
    yield Fact(f"{kind}, {nodes:,} nodes, {count}{_density(graph, nodes, edges)}")
    yield from _types(graph)
    yield from _attributes(graph)
    yield from _sample(graph, look)
    yield from _degrees(graph)
    if graph.graph:
        shown = ", ".join(f"{key}={look.short(value)}" for key, value in islice(graph.graph.items(), _SHOWN))
        yield Fact(f"graph attributes: {shown}", shows=True, schema=f"graph attributes: {_keys(graph.graph)}")


class _Count(NamedTuple):
    edges: int
    exact: bool
    """Else it is an estimate from the nodes that there was time for."""


def _edges(graph: Any, look: Look) -> _Count:
    """How many edges. Quicker than asking, which makes a view of each degree."""
    seen = ends = loops = 0
    until = min(look.until, time.monotonic() + _SECONDS)
    items = iter((graph.adj if _filtered(graph) else graph._adj).items())
    while chunk := list(islice(items, _CHUNK)):
        seen += len(chunk)
        many = (others.values() for _, others in chunk) if graph.is_multigraph() else ()
        ends += sum(sum(map(len, each)) for each in many) if many else sum(len(others) for _, others in chunk)
        if not graph.is_directed():
            met = [others[node] for node, others in chunk if node in others]
            loops += sum(map(len, met)) if graph.is_multigraph() else len(met)
        if time.monotonic() >= until:
            break
    exact = seen >= len(graph)
    edges = ends if graph.is_directed() else (ends + loops) // 2
    return _Count(edges if exact else round(edges / seen * len(graph)), exact)


def _filtered(graph: Any) -> bool:
    return type(graph._adj) is not dict


def _density(graph: Any, nodes: int, edges: int) -> str:
    if nodes < 2:
        return ""
    return f", density {edges * (1 if graph.is_directed() else 2) / (nodes * (nodes - 1)):.3g}"


def _types(graph: Any) -> Iterator[Fact]:
    kinds = Counter(type(node).__name__ for node in islice(graph, _SAMPLE))
    if kinds:
        yield Fact(f"nodes are {listed([kind for kind, _ in kinds.most_common()], 4)}{_of(graph)}")


def _of(graph: Any) -> str:
    return f" (the first {_SAMPLE} of them)" if len(graph) > _SAMPLE else ""


def _attributes(graph: Any) -> Iterator[Fact]:
    """Names of the attributes of nodes and edges, with their types and how many have them."""
    for what, found in (("node", (data for _, data in _nodes(graph))), ("edge", (edge[-1] for edge in _links(graph)))):
        seen: dict[str, Counter[str]] = {}
        total = 0
        for data in islice(found, _SAMPLE):
            total += 1
            for key, value in data.items():
                seen.setdefault(str(key), Counter())[type(value).__name__] += 1
        if seen:
            yield Fact(
                f"{what} attributes: {listed([_told(key, kinds, total) for key, kinds in seen.items()], _SHOWN)}"
            )


def _told(key: str, kinds: Counter[str], total: int) -> str:
    some = "" if kinds.total() == total else f" (in {kinds.total()} of {total})"
    return f"{key}: {' | '.join(sorted(kinds))}{some}"


def _nodes(graph: Any) -> Iterable[Any]:
    found: Iterable[Any] = graph.nodes(data=True)
    return found


def _links(graph: Any) -> Iterable[Any]:
    found: Iterable[Any] = graph.edges(data=True)
    return found


def _sample(graph: Any, look: Look) -> Iterator[Fact]:
    nodes, edges = [*islice(graph, _SHOWN)], [*islice(_links(graph), _LINKS)]
    if nodes:
        yield Fact(f"nodes: {_some(map(look.short, nodes), len(graph) > len(nodes))}", shows=True)
    if edges:
        told = (f"{look.short(u)} - {look.short(v)}" + (f" {look.short(data)}" if data else "") for u, v, data in edges)
        yield Fact(f"edges: {_some(told, len(edges) == _LINKS)}", shows=True)


def _some(told: Iterable[str], more: bool) -> str:
    return ", ".join(told) + (", ..." if more else "")


def _degrees(graph: Any) -> Iterator[Fact]:
    degrees = [degree for _, degree in islice(graph.degree, _SAMPLE)]
    if degrees:
        mean = sum(degrees) / len(degrees)
        yield Fact(f"degrees {min(degrees)} to {max(degrees)}, mean {mean:.3g}{_of(graph)}", shows=True)


def _keys(data: dict[Any, Any]) -> str:
    return listed([str(key) for key in islice(data, _SHOWN + 1)], _SHOWN)


def _view(view: Any, look: Look) -> Iterator[Fact]:
    """A view of a graph's nodes, edges, degrees or neighbours: its first items."""
    graph = getattr(view, "_graph", None)
    count = f"{len(view):,} items" if graph is None or len(graph) <= _QUICK * 100 else "items not counted"
    yield Fact(count + (f", of a graph of {len(graph):,} nodes" if graph is not None else ""))
    items = [*islice(view.items() if hasattr(view, "items") else view, _SHOWN)]
    if items:
        told = [f"{look.short(i[0])}: {look.short(i[1])}" if hasattr(view, "items") else look.short(i) for i in items]
        yield Fact(", ".join(told) + (", ..." if len(items) == _SHOWN else ""), shows=True)


def _count(graph: Any) -> str:
    """Nodes and edges; nodes alone, where counting takes more than microseconds."""
    nodes = len(graph)
    return f"{nodes:,} nodes" + (f", {graph.number_of_edges():,} edges" if nodes <= _QUICK else "")


_VIEWS = ("NodeView", "NodeDataView", "DiDegreeView", "OutEdgeView", "OutEdgeDataView", "AtlasView", "UnionAtlas")

FAMILY = Family(
    {"networkx.Graph": _graph} | {f"networkx.{name}": _view for name in _VIEWS},
    measures={"networkx.Graph": _count},
)
