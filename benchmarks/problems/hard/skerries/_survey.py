from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from skerries._errors import Loop, SkerriesError, StaleSurvey
from skerries._paths import augment, best_ways, circles, flooded, loop_in, tree
from skerries._places import Lane
from skerries._results import Cluster, Reach, Route, Tally, Throughput

if TYPE_CHECKING:
    from skerries._chart import Chart


class Survey:
    """What can be computed of a chart as it was at one moment. Made by `Chart.survey`."""

    def __init__(self, chart: Chart, by: str) -> None:
        self._chart = chart
        self._by = by
        self._changes = chart._drawing.changes
        self._after: dict[str, dict[str, Lane]] = {port.name: {} for port in chart.ports()}
        for lane in chart.lanes():
            known = self._after[lane.start].get(lane.end)
            if known is None or self._cost(lane) < self._cost(known):
                self._after[lane.start][lane.end] = lane

    @property
    def stale(self) -> bool:
        return self._changes != self._chart._drawing.changes

    def renew(self) -> Survey:
        return self._chart.survey(self._by)

    def route(self, start: str, end: str, *, via: Iterable[str] = (), avoid: Iterable[str] = ()) -> Route:
        """The best route, by way of some ports in this order if they are given."""
        self._check(start, end)
        stops = (start, *via, end)
        legs = [self._direct(a, b, frozenset(avoid)) for a, b in pairwise(stops)]
        if not all(legs):
            return Route((), (), float("inf"), self._chart.unit)
        route = legs[0]
        for leg in legs[1:]:
            route = route.then(leg)
        return route

    def routes(self, start: str, end: str, at_most: int = 3) -> Iterator[Route]:
        self._check(start, end)
        ways = sorted(self._simple((start,), end), key=lambda stops: (self._route(stops).cost, stops))
        return (self._route(stops) for stops in ways[:at_most])

    def reach(self, start: str, within: float | None = None) -> Reach:
        """What can be reached from a port, at which cost."""
        self._check(start)
        ways = best_ways(self._costs(), start)
        return Reach({name: cost for name, (cost, _) in ways.items() if within is None or cost < within})

    def far(self, start: str) -> str:
        return self.reach(start).names[-1]

    def clusters(self, loose: bool = False) -> list[Cluster]:
        """Ports that belong together, the smallest cluster first."""
        self._check()
        after: dict[str, set[str]] = {name: set(ends) for name, ends in self._after.items()}
        if loose:
            for name, ends in self._after.items():
                for end in ends:
                    after[end].add(name)
        return sorted((Cluster(self._chart, names) for names in circles(after)), key=lambda c: (c.size, c.names))

    def layers(self) -> list[list[str]]:
        """Ports in layers: lanes lead only to layers with a lower number.

        Raises:
            Loop: some way leads back to where it began.
        """
        self._check()
        loop = loop_in(self._after)
        if loop:
            raise Loop(loop)
        layers: list[list[str]] = []
        placed: set[str] = set()
        while len(placed) < len(self._after):
            layer = sorted(name for name, ends in self._after.items() if name not in placed and placed >= set(ends))
            layers.append(layer)
            placed.update(layer)
        return layers

    def traffic(self) -> Tally:
        """How many best routes between two ports each port is on."""
        self._check()
        counts = dict.fromkeys(self._after, 0)
        for start in self._after:
            for end, (_, stops) in best_ways(self._costs(), start).items():
                for stop in stops if end != start else ():
                    counts[stop] += 1
        return Tally(counts)

    def spine(self) -> Chart:
        self._check()
        lanes = [lane for ends in self._after.values() for lane in ends.values()]
        chosen = tree([(self._cost(lane), min(lane.start, lane.end), max(lane.start, lane.end)) for lane in lanes])
        made = type(self._chart)(self._chart.unit)
        for port in self._chart.ports():
            made.pin(port.name, **port.facts)
        for number in chosen:
            lane = lanes[number]
            made.lay(lane.start, lane.end, lane.span, both=True, **lane.facts)
        return made

    def throughput(self, start: str, end: str, fact: str = "capacity") -> Throughput:
        self._check(start, end)
        room: dict[str, dict[str, float]] = {name: {} for name in self._after}
        lanes = self._chart.lanes()
        for lane in lanes:
            room[lane.start][lane.end] = room[lane.start].get(lane.end, 0) + lane.facts.get(fact, 0)
        amount = 0.0
        while sent := augment(room, start, end):
            amount += sent
        near = flooded({name: [to for to, left in ends.items() if left > 0] for name, ends in room.items()}, start)
        narrows = [lane for lane in lanes if lane.start in near and lane.end not in near and lane.facts.get(fact, 0)]
        return Throughput(amount, tuple(narrows))

    def pivots(self) -> list[str]:
        """Ports without which a loose cluster falls apart."""
        self._check()
        around: dict[str, set[str]] = {name: set(ends) for name, ends in self._after.items()}
        for name, ends in self._after.items():
            for end in ends:
                around[end].add(name)
        return sorted(name for name in around if self._splits(around, name))

    def _splits(self, around: dict[str, set[str]], name: str) -> bool:
        rest = {other: ends - {name} for other, ends in around.items() if other != name}
        return any(not around[name] <= flooded(rest, neighbour) for neighbour in sorted(around[name])[:1])

    def _check(self, *names: str) -> None:
        if self.stale:
            raise StaleSurvey("The chart was changed after this survey. Take a new one: survey = survey.renew().")
        for name in names:
            self._chart.port(name)

    def _cost(self, lane: Lane) -> float:
        if self._by in ("hops", "span"):
            return 1 if self._by == "hops" else lane.span
        if self._by not in lane.facts:
            raise SkerriesError(f"{lane!r} has no fact {self._by!r} to survey by. Set it: lane.amend({self._by}=...).")
        return float(lane.facts[self._by])

    def _costs(self) -> dict[str, dict[str, float]]:
        return {name: {end: self._cost(lane) for end, lane in ends.items()} for name, ends in self._after.items()}

    def _direct(self, start: str, end: str, avoid: frozenset[str]) -> Route:
        costs = {
            name: {to: cost for to, cost in ends.items() if to not in avoid}
            for name, ends in self._costs().items()
            if name not in avoid
        }
        return self._route(best_ways(costs, start).get(end, (0.0, ()))[1])

    def _route(self, stops: tuple[str, ...]) -> Route:
        legs = tuple(self._after[a][b] for a, b in pairwise(stops))
        return Route(stops, legs, sum(map(self._cost, legs)), self._chart.unit)

    def _simple(self, stops: tuple[str, ...], end: str) -> Iterator[tuple[str, ...]]:
        if stops[-1] == end:
            yield stops
            return
        for following in self._after[stops[-1]]:
            if following not in stops:
                yield from self._simple((*stops, following), end)
