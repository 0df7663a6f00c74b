from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skerries._errors import SkerriesError
from skerries._language import read_tests
from skerries._lengths import convert, length
from skerries._matches import Matches, search
from skerries._paths import circles
from skerries._places import Drawing, Lane, Port
from skerries._survey import Survey


class Chart:
    """Ports and the lanes between them. Spans are in the unit of the chart: nm, km or m."""

    def __init__(self, unit: str = "nm") -> None:
        convert(1, unit, unit)
        self._drawing = Drawing(unit)
        self._only: set[str] | None = None

    @property
    def unit(self) -> str:
        return self._drawing.unit

    def pin(self, name: str, **facts: Any) -> Port:
        """Put a port on the chart, in place of one of that name if there is one."""
        port = Port(self._drawing, name, facts)
        self._drawing.ports[name] = port
        if self._only is not None:
            self._only.add(name)
        self._drawing.changed()
        return port

    def amend(self, name: str, **facts: Any) -> Port:
        port = self.port(name)
        port._facts.update(facts)
        self._drawing.changed()
        return port

    def lay(
        self, start: str, end: str, span: float | str = 1, *, both: bool = False, pin: bool = False, **facts: Any
    ) -> Lane:
        """Lay a lane from one port to another.

        Args:
            span: a number in the unit of the chart, or text with a unit such as "12 km".
        """
        for name in (start, end):
            if pin and name not in self:
                self.pin(name)
            self.port(name)
        if both:
            self.lay(end, start, span, **facts)
        lane = Lane(self._drawing, start, end, length(span, self.unit), dict(facts))
        self._drawing.lanes.append(lane)
        self._drawing.changed()
        return lane

    def __contains__(self, name: object) -> bool:
        return name in self._drawing.ports and (self._only is None or name in self._only)

    def __len__(self) -> int:
        return len(self.ports())

    def port(self, name: str) -> Port:
        port = self._drawing.port(name)
        if name not in self:
            raise SkerriesError(f"Port {name!r} is on the chart, but not in this part of it.")
        return port

    def ports(self, where: str = "") -> list[Port]:
        """Ports whose facts pass the tests, which are written as in queries."""
        passes = read_tests(where)
        return [port for port in self._drawing.ports.values() if port.name in self and passes(port.facts)]

    def lanes(self, where: str = "") -> list[Lane]:
        passes = read_tests(where)
        return [
            lane
            for lane in self._drawing.lanes
            if lane.start in self and lane.end in self and passes({"span": lane.span, **lane.facts})
        ]

    def lanes_between(self, start: str, end: str) -> list[Lane]:
        return [lane for lane in self.lanes() if (lane.start, lane.end) == (start, end)]

    def lift(self, name: str) -> None:
        """Take a port away and leave the ways through it."""
        port = self.port(name)
        ways = [(into, out) for into in port.lanes_in() for out in port.lanes_out() if into.start != out.end]
        self.scrap(name)
        for into, out in ways:
            self._drawing.lanes.append(Lane(self._drawing, into.start, out.end, into.span + out.span, {}))

    def scrap(self, name: str) -> None:
        port = self.port(name)
        self._drawing.lanes = [lane for lane in self._drawing.lanes if name not in (lane.start, lane.end)]
        del self._drawing.ports[port.name]
        self._drawing.changed()

    def cut(self, start: str, end: str) -> int:
        """Remove the lanes from one port to another, and return how many there were."""
        lanes = self.lanes_between(start, end)
        for lane in lanes:
            lane.remove()
        return len(lanes)

    def part(self, names: Iterable[str]) -> Chart:
        part = Chart(self.unit)
        part._drawing = self._drawing
        part._only = {self.port(name).name for name in names}
        return part

    def detached(self) -> Chart:
        """A chart of its own with what is on this one."""
        copy = Chart(self.unit)
        copy.absorb(self)
        return copy

    def absorb(self, other: Chart) -> Chart:
        for port in other.ports():
            mine = dict(self.port(port.name).facts) if port.name in self else {}
            self.pin(port.name, **{**port.facts, **mine})
        for lane in other.lanes():
            self.lay(lane.start, lane.end, convert(lane.span, other.unit, self.unit), **lane.facts)
        return self

    def turned(self) -> Chart:
        """A new chart with every lane in the other direction."""
        copy = Chart(self.unit)
        for port in self.ports():
            copy.pin(port.name, **port.facts)
        for lane in self.lanes():
            copy.lay(lane.end, lane.start, lane.span, **lane.facts)
        return copy

    def condensed(self) -> Chart:
        """A new chart with one port for each circle of ports that lead to one another.

        It is named by its ports, from A to Z with `+` between them, and has them as its fact `members`.
        """
        after = {port.name: [lane.end for lane in self.lanes() if lane.start == port.name] for port in self.ports()}
        made = Chart(self.unit)
        home: dict[str, str] = {}
        for circle in circles(after):
            members = tuple(sorted(circle))
            made.pin("+".join(members), members=members)
            home.update(dict.fromkeys(members, "+".join(members)))
        for lane in self.lanes():
            if home[lane.start] != home[lane.end]:
                made.lay(home[lane.start], home[lane.end], lane.span, **lane.facts)
        return made

    def find(self, query: str) -> Matches:
        """Find trails of ports. See the page on queries."""
        return search(self, query)

    def survey(self, by: str = "hops") -> Survey:
        """Survey the chart as it is now. Costs are hops, the span, or a fact of the lanes."""
        return Survey(self, by)

    def __repr__(self) -> str:
        return f"<Chart of {len(self)} ports and {len(self.lanes())} lanes, in {self.unit}>"
