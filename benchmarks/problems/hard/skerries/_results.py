"""What a survey finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skerries._errors import SkerriesError
from skerries._lengths import convert
from skerries._places import Lane

if TYPE_CHECKING:
    from skerries._chart import Chart


@dataclass(frozen=True)
class Route:
    """A way from port to port. A route that does not exist is empty, and false."""

    stops: tuple[str, ...]
    legs: tuple[Lane, ...]
    cost: float
    """In hops, unless the survey was by something else."""
    unit: str

    def __bool__(self) -> bool:
        return bool(self.stops)

    def __len__(self) -> int:
        return len(self.legs)

    @property
    def span(self) -> float:
        return sum(leg.span for leg in self.legs)

    def span_in(self, unit: str) -> float:
        return convert(self.span, self.unit, unit)

    def then(self, other: Route) -> Route:
        """This route and, from its end, another."""
        if not self or not other or self.stops[-1] != other.stops[0]:
            raise SkerriesError("The second route must begin where the first ends.")
        return Route(self.stops + other.stops[1:], self.legs + other.legs, self.cost + other.cost, self.unit)


class Reach:
    def __init__(self, costs: dict[str, float]) -> None:
        self._costs = costs

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._costs, key=lambda name: (self._costs[name], name)))

    def cost(self, name: str) -> float:
        return self._costs[name]

    def __contains__(self, name: object) -> bool:
        return name in self._costs

    def __len__(self) -> int:
        return len(self._costs)

    def __repr__(self) -> str:
        return f"<Reach of {len(self)}: {', '.join(f'{name} {self._costs[name]:g}' for name in self.names)}>"


class Cluster:
    def __init__(self, chart: Chart, names: set[str]) -> None:
        self._chart = chart
        self._names = names

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._names))

    @property
    def size(self) -> int:
        return len(self._names)

    def part(self) -> Chart:
        """The part of the chart with these ports."""
        return self._chart.part(self._names)

    def __repr__(self) -> str:
        return f"<Cluster {', '.join(self.names)}>"


class Tally:
    """A number for each port."""

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self._numbers = dict(numbers)

    def of(self, name: str) -> float:
        return self._numbers[name]

    def top(self, count: int = 1) -> list[str]:
        return sorted(self._numbers, key=lambda name: (-self._numbers[name], name))[:count]

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return iter(self._numbers.items())

    def __repr__(self) -> str:
        return f"<Tally {self._numbers}>"


@dataclass(frozen=True)
class Throughput:
    amount: float
    narrows: tuple[Lane, ...]
    """The lanes that limit the amount: of several such sets the one nearest to the start."""
