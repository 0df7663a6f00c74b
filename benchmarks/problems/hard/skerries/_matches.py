from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from skerries._language import Step, read_query
from skerries._paths import flooded

if TYPE_CHECKING:
    from skerries._chart import Chart

Trail = tuple[str, ...]


class Matches:
    """The trails that match a query."""

    def __init__(self, chart: Chart, trails: list[Trail], marks: list[int]) -> None:
        self._chart = chart
        self._trails = trails
        self._marks = marks

    @property
    def trails(self) -> list[Trail]:
        """The ports of each trail, one for each port of the query."""
        return list(self._trails)

    def marked(self) -> list[str]:
        """The ports at the marked places, each once, from A to Z."""
        return sorted({trail[mark] for trail in self._trails for mark in self._marks})

    def part(self) -> Chart:
        """The part of the chart with all ports of the trails."""
        return self._chart.part({name for trail in self._trails for name in trail})

    def __len__(self) -> int:
        return len(self._trails)

    def __iter__(self) -> Iterator[Trail]:
        return iter(self._trails)

    def __repr__(self) -> str:
        return f"<Matches: {len(self)} trails>"


def search(chart: Chart, query: str) -> Matches:
    steps = read_query(query)
    trails: list[Trail] = [(name,) for name in _fitting(chart, steps[0])]
    for step in steps[1:]:
        fitting, around = set(_fitting(chart, step)), _around(chart, step)
        trails = [(*trail, name) for trail in trails for name in sorted(_ends(around, trail[-1], step) & fitting)]
    return Matches(chart, trails, [n for n, step in enumerate(steps) if step.marked])


def _fitting(chart: Chart, step: Step) -> list[str]:
    return [p.name for p in chart.ports() if fnmatchcase(p.name, step.glob) and step.tests(p.facts)]


def _around(chart: Chart, step: Step) -> dict[str, set[str]]:
    around: dict[str, set[str]] = {port.name: set() for port in chart.ports()}
    for lane in chart.lanes():
        if step.along({"span": lane.span, **lane.facts}):
            if step.arrow in ("->", "--"):
                around[lane.start].add(lane.end)
            if step.arrow in ("<-", "--"):
                around[lane.end].add(lane.start)
    return around


def _ends(around: dict[str, set[str]], name: str, step: Step) -> set[str]:
    if not step.far:
        return around[name]
    return {end for following in around[name] for end in flooded(around, following)}
