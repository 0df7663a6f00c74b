from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from skerries._errors import UnknownPort
from skerries._lengths import convert


@dataclass(eq=False)
class Drawing:
    """What a chart and its parts have in common."""

    unit: str
    ports: dict[str, Port] = field(default_factory=dict)
    lanes: list[Lane] = field(default_factory=list)
    changes: int = 0

    def changed(self) -> None:
        self.changes += 1

    def port(self, name: str) -> Port:
        if name not in self.ports:
            raise UnknownPort(
                f"Port {name!r} is not on the chart. Pin it first with chart.pin({name!r}), "
                "or lay the lane with pin=True."
            )
        return self.ports[name]


class Port:
    """A port of a chart."""

    def __init__(self, drawing: Drawing, name: str, facts: dict[str, Any]) -> None:
        self._drawing = drawing
        self._name = name
        self._facts = facts

    @property
    def name(self) -> str:
        return self._name

    @property
    def facts(self) -> Mapping[str, Any]:
        return MappingProxyType(self._facts)

    def lanes_out(self) -> list[Lane]:
        return [lane for lane in self._drawing.lanes if lane.start == self._name]

    def lanes_in(self) -> list[Lane]:
        return [lane for lane in self._drawing.lanes if lane.end == self._name]

    def after(self) -> list[str]:
        """Names of the ports to which a lane leads from here, from A to Z."""
        return sorted({lane.end for lane in self.lanes_out()})

    def before(self) -> list[str]:
        return sorted({lane.start for lane in self.lanes_in()})

    def __repr__(self) -> str:
        return f"<Port {self._name} {self._facts}>"


class Lane:
    """A lane from one port to another, in this direction only."""

    def __init__(self, drawing: Drawing, start: str, end: str, span: float, facts: dict[str, Any]) -> None:
        self._drawing = drawing
        self._ends = (start, end)
        self._span = span
        self._facts = facts

    @property
    def start(self) -> str:
        return self._ends[0]

    @property
    def end(self) -> str:
        return self._ends[1]

    @property
    def span(self) -> float:
        """Length, in the unit of the chart."""
        return self._span

    @property
    def facts(self) -> Mapping[str, Any]:
        return MappingProxyType(self._facts)

    def span_in(self, unit: str) -> float:
        return convert(self._span, self._drawing.unit, unit)

    def amend(self, **facts: Any) -> Lane:
        self._facts.update(facts)
        self._drawing.changed()
        return self

    def remove(self) -> None:
        self._drawing.lanes.remove(self)
        self._drawing.changed()

    def __repr__(self) -> str:
        return f"<Lane {self.start} -> {self.end}, {self._span:g} {self._drawing.unit} {self._facts or ''}>"
