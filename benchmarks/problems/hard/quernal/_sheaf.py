"""The table of Quernal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quernal._draft import Draft
from quernal._errors import NoSuchStrip, QuernalError
from quernal._gap import or_gap
from quernal._strip import Strip
from quernal._units import check_unit


class Sheaf:
    """Rows of values under named strips. What computes with it is its draft."""

    def __init__(self, table: dict[str, list[Any]], units: dict[str, str | None] | None = None) -> None:
        if len({len(values) for values in table.values()}) > 1:
            raise QuernalError("All strips of a sheaf have the same number of values.")
        self._strips = {name: Strip(values, (units or {}).get(name)) for name, values in table.items()}

    @classmethod
    def from_rows(cls, rows: Iterable[dict[str, Any]], units: dict[str, str] | None = None) -> Sheaf:
        """A sheaf of dictionaries. A key that a row lacks, and `None`, become gaps."""
        rows = list(rows)
        names = dict.fromkeys(name for row in rows for name in row)
        for unit in (units or {}).values():
            check_unit(unit)
        return cls({name: [or_gap(row.get(name)) for row in rows] for name in names}, dict(units or {}))

    @classmethod
    def from_strips(cls, **strips: Strip | list[Any]) -> Sheaf:
        units = {name: strip.unit for name, strip in strips.items() if isinstance(strip, Strip)}
        return cls({name: [or_gap(value) for value in strip] for name, strip in strips.items()}, units)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._strips)

    @property
    def units(self) -> dict[str, str | None]:
        return {name: strip.unit for name, strip in self._strips.items()}

    @property
    def height(self) -> int:
        return max((len(strip) for strip in self._strips.values()), default=0)

    def rows(self) -> list[dict[str, Any]]:
        return [self.row(number) for number in range(1, self.height + 1)]

    def row(self, number: int) -> dict[str, Any]:
        return {name: strip[number] for name, strip in self._strips.items()}

    def strip(self, name: str) -> Strip:
        if name not in self._strips:
            raise NoSuchStrip(name, self.names)
        return self._strips[name]

    def with_strip(self, name: str, strip: Strip) -> Sheaf:
        """A sheaf with one strip more, or one replaced. The other strips are shared."""
        made = Sheaf({})
        made._strips = {**self._strips, name: strip}
        return made

    def copied(self) -> Sheaf:
        return Sheaf({name: list(strip) for name, strip in self._strips.items()}, self.units)

    def draft(self) -> Draft:
        """A draft, to which steps are added, and which computes a new sheaf of this one."""
        return Draft(self)

    def same(self, other: Sheaf) -> bool:
        return self.names == other.names and self.units == other.units and self.rows() == other.rows()

    def __repr__(self) -> str:
        heads = (f"{name} [{strip.unit}]" if strip.unit else name for name, strip in self._strips.items())
        lines = (", ".join(map(repr, row.values())) for row in self.rows()[:10])
        return "\n".join([f"<Sheaf of {self.height}: {', '.join(heads)}>", *lines])


def stack(*sheaves: Sheaf) -> Sheaf:
    names = dict.fromkeys(name for sheaf in sheaves for name in sheaf.names)
    units = {name: unit for sheaf in reversed(sheaves) for name, unit in sheaf.units.items()}
    rows = [row for sheaf in sheaves for row in sheaf.rows()]
    return Sheaf({name: [or_gap(row.get(name)) for row in rows] for name in names}, units)
