from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quernal._errors import NoSuchStrip
from quernal._folds import UNITLESS, fold
from quernal._gap import GAP

if TYPE_CHECKING:
    from quernal._draft import Draft
    from quernal._sheaf import Sheaf


class Bunches:
    """Rows of a sheaf, bunched by the values of some strips. Made by `Draft.bunch`."""

    def __init__(self, sheaf: Sheaf, names: tuple[str, ...]) -> None:
        self._sheaf = sheaf
        self._names = names
        self._members: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        for row in sheaf.rows():
            self._members.setdefault(tuple(row[name] for name in names), []).append(row)

    def keys(self) -> list[tuple[Any, ...]]:
        return list(self._members)

    def sizes(self) -> dict[tuple[Any, ...], int]:
        return {key: len(rows) for key, rows in self._members.items()}

    def take(self, *key: Any) -> Sheaf:
        """The rows of one bunch."""
        return self._made(self._members[key])

    def fold(self, **folds: str) -> Draft:
        """One row for each bunch: `fold(total="sum mass")`. See the page on folds."""
        rows = []
        for key, members in self._members.items():
            row = dict(zip(self._names, key, strict=True))
            for name, how in folds.items():
                row[name] = self._folded(how, members)
            rows.append(row)
        units = {name: self._unit(how) for name, how in folds.items()}
        return self._draft(rows, (*self._names, *folds), units)

    def leaders(self, name: str, count: int = 1) -> Draft:
        rows = []
        for members in self._members.values():
            known = [row for row in members if row[name] is not GAP]
            floor = sorted((row[name] for row in known), reverse=True)[:count]
            rows += [row for row in known if row[name] >= floor[-1]]
        return self._draft(rows, self._sheaf.names, {})

    def share(self, name: str, into: str) -> Draft:
        """Add each value's part of its bunch's sum, in percent."""
        rows = []
        for members in self._members.values():
            total = fold("sum?", [row[name] for row in members])
            for row in members:
                value = row[name]
                rows.append({**row, into: GAP if GAP in (value, total) or not total else 100 * value / total})
        return self._draft(rows, (*self._sheaf.names, into), {})

    def number(self, into: str = "number") -> Draft:
        rows = [{**row, into: n} for members in self._members.values() for n, row in enumerate(members, 1)]
        return self._draft(rows, (*self._sheaf.names, into), {})

    def _folded(self, how: str, members: list[dict[str, Any]]) -> Any:
        kind, _, name = how.partition(" ")
        if name and name not in self._sheaf.names:
            raise NoSuchStrip(name, self._sheaf.names)
        return fold(kind, [row[name] if name else None for row in members])

    def _unit(self, how: str) -> str | None:
        kind, _, name = how.partition(" ")
        return None if kind.rstrip("?") in UNITLESS else self._sheaf.units.get(name)

    def _draft(self, rows: list[dict[str, Any]], names: tuple[str, ...], units: dict[str, str | None]) -> Draft:
        return self._made(rows, names, units).draft()

    def _made(
        self,
        rows: list[dict[str, Any]],
        names: tuple[str, ...] | None = None,
        units: dict[str, str | None] | None = None,
    ) -> Sheaf:
        kept = names or self._sheaf.names
        known = {**self._sheaf.units, **(units or {})}
        table = {name: [row[name] for row in rows] for name in kept}
        return type(self._sheaf)(table, {name: known.get(name) for name in kept})
