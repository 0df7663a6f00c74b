"""Algorithms on plain dictionaries: no charts here."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

Costs = Mapping[str, Mapping[str, float]]  # from, to, cost
After = Mapping[str, Iterable[str]]


def best_ways(costs: Costs, start: str) -> dict[str, tuple[float, tuple[str, ...]]]:
    """Dijkstra's algorithm: cost and stops of the best way to each port; of equal ones the first by name."""
    found: dict[str, tuple[float, tuple[str, ...]]] = {}
    heap: list[tuple[float, tuple[str, ...]]] = [(0, (start,))]
    while heap:
        cost, stops = heapq.heappop(heap)
        if stops[-1] in found:
            continue
        found[stops[-1]] = (cost, stops)
        for following, step in costs.get(stops[-1], {}).items():
            if following not in found:
                heapq.heappush(heap, (cost + step, (*stops, following)))
    return found


def circles(after: After) -> list[set[str]]:
    """Strongly connected components, in the order of their first ports."""
    before: dict[str, list[str]] = {name: [] for name in after}
    for name, others in after.items():
        for other in others:
            before[other].append(name)
    done: set[str] = set()
    components = []
    for name in after:
        if name not in done:
            component = flooded(after, name) & flooded(before, name)
            done |= component
            components.append(component)
    return components


def flooded(after: After, start: str) -> set[str]:
    seen, todo = {start}, [start]
    while todo:
        for following in after[todo.pop()]:
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return seen


def loop_in(after: After) -> tuple[str, ...]:
    """One loop, its first stop repeated at the end, or nothing."""
    for circle in circles(after):
        for name in sorted(circle):
            inside = {a: [b for b in after[a] if b in circle] for a in circle}
            for following in inside[name]:
                way = _way(inside, following, name)
                if way:
                    return (name, *way)
    return ()


def _way(after: After, start: str, end: str) -> tuple[str, ...]:
    queue: deque[tuple[str, ...]] = deque([(start,)])
    seen = {start}
    while queue:
        stops = queue.popleft()
        if stops[-1] == end:
            return stops
        for following in after[stops[-1]]:
            if following not in seen:
                seen.add(following)
                queue.append((*stops, following))
    return ()


def tree(edges: Sequence[tuple[float, str, str]]) -> list[int]:
    """Kruskal's algorithm: numbers of the edges of a minimal spanning forest."""
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group.setdefault(name, name) != name:
            name = group[name]
        return name

    chosen = []
    for number in sorted(range(len(edges)), key=lambda n: edges[n]):
        _, a, b = edges[number]
        if root(a) != root(b):
            group[root(a)] = root(b)
            chosen.append(number)
    return chosen


def augment(room: dict[str, dict[str, float]], start: str, end: str) -> float:
    """Send what one more way of least hops can take; change the room that is left, and return the amount."""
    open_ways = {name: [to for to, left in ends.items() if left > 0] for name, ends in room.items()}
    stops = _way(open_ways, start, end) if start != end else ()
    steps = list(pairwise(stops))
    amount = min((room[a][b] for a, b in steps), default=0)
    for a, b in steps:
        room[a][b] -= amount
        room[b][a] = room[b].get(a, 0) + amount
    return amount
