from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from quernal._bunches import Bunches
from quernal._errors import QuernalError, Unsettled
from quernal._gap import GAP, or_gap
from quernal._language import Reader
from quernal._units import converted

if TYPE_CHECKING:
    from quernal._sheaf import Sheaf

Rows = list[dict[str, Any]]


class Draft:
    """Steps that wait to be computed. Each step is added to this draft, which is also what is returned."""

    def __init__(self, sheaf: Sheaf) -> None:
        self._sheaf = sheaf
        self._steps: list[Callable[[Sheaf], Sheaf]] = []

    def settle(self) -> Sheaf:
        """Compute the steps, and return the sheaf."""
        sheaf = self._sheaf.copied()
        for step in self._steps:
            sheaf = step(sheaf)
        return sheaf

    def fork(self) -> Draft:
        copy = Draft(self._sheaf)
        copy._steps = list(self._steps)
        return copy

    def keep(self, condition: str, unsure: Literal["keep", "drop"] = "keep") -> Draft:
        """Keep the rows that meet a condition.

        The language of conditions has a page of its own.
        """
        return self._filter(condition, lambda answer: answer is True or (answer is GAP and unsure == "keep"))

    def shed(self, condition: str) -> Draft:
        """Remove the rows that meet a condition."""
        return self._filter(condition, lambda answer: answer is not True)

    def derive(self, name: str, formula: str) -> Draft:
        """Add a strip that is computed of others: `derive("cost", "[price] * [count] + 2eur")`."""

        def step(sheaf: Sheaf) -> Sheaf:
            term = Reader(formula, sheaf.units).formula()
            made = [term(row) for row in sheaf.rows()]
            rows = [{**row, name: quantity.value} for row, quantity in zip(sheaf.rows(), made, strict=True)]
            unit = made[0].unit if made else None
            return _rebuilt(sheaf, rows, tuple(dict.fromkeys([*sheaf.names, name])), {name: unit})

        return self._then(step)

    def pick(self, *names: str) -> Draft:
        return self._then(lambda sheaf: _rebuilt(sheaf, sheaf.rows(), _checked(sheaf, names)))

    def omit(self, *names: str) -> Draft:
        return self._then(
            lambda sheaf: _rebuilt(
                sheaf, sheaf.rows(), tuple(name for name in sheaf.names if name not in _checked(sheaf, names))
            )
        )

    def rename(self, **names: str) -> Draft:
        """Rename strips: `rename(new="old")`."""

        def step(sheaf: Sheaf) -> Sheaf:
            _checked(sheaf, tuple(names.values()))
            now = {old: new for new, old in names.items()}
            rows = [{now.get(name, name): value for name, value in row.items()} for row in sheaf.rows()]
            units = {now.get(name, name): unit for name, unit in sheaf.units.items()}
            return _rebuilt(sheaf, rows, tuple(now.get(name, name) for name in sheaf.names), units)

        return self._then(step)

    def order(self, *names: str) -> Draft:
        """Sort the rows by strips, the first being the most important."""

        def step(sheaf: Sheaf) -> Sheaf:
            rows = sheaf.rows()
            for name in reversed(names):
                rows = _ordered(rows, _checked(sheaf, (name.lstrip("^"),))[0], rising=name.startswith("^"))
            return _rebuilt(sheaf, rows)

        return self._then(step)

    def span(self, first: int, last: int) -> Draft:
        if first < 1:
            raise QuernalError(f"Row {first} does not exist: rows are numbered from 1.")
        return self._then(lambda sheaf: _rebuilt(sheaf, sheaf.rows()[first - 1 : last]))

    def unique(self, *names: str) -> Draft:
        """Keep one row for each combination of values."""

        def step(sheaf: Sheaf) -> Sheaf:
            chosen, rows = _checked(sheaf, names or sheaf.names), sheaf.rows()
            latest = {tuple(row[name] for name in chosen): n for n, row in enumerate(rows)}
            return _rebuilt(sheaf, [rows[n] for n in sorted(latest.values())])

        return self._then(step)

    def fill(self, name: str, value: Any) -> Draft:
        return self._change(name, lambda row: value if row[name] is GAP else row[name])

    def carry(self, name: str) -> Draft:
        """Replace each gap by the value before it."""
        last: list[Any] = []

        def value(row: dict[str, Any]) -> Any:
            if row[name] is not GAP:
                last[:] = [row[name]]
            return last[0] if last else GAP

        def reset(sheaf: Sheaf) -> Sheaf:
            last.clear()
            return sheaf

        return self._then(reset)._change(name, value)

    def convert(self, name: str, unit: str) -> Draft:
        """Convert a strip to another unit of the same kind."""

        def step(sheaf: Sheaf) -> Sheaf:
            old = sheaf.strip(name).unit
            if old is None:
                raise QuernalError(f"Strip {name!r} has no unit. Give it one first: .declare({name!r}, unit).")
            rows = [{**row, name: GAP if row[name] is GAP else converted(row[name], old, unit)} for row in sheaf.rows()]
            return _rebuilt(sheaf, rows, units={name: unit})

        return self._then(step)

    def declare(self, name: str, unit: str | None) -> Draft:
        return self._then(lambda sheaf: _rebuilt(sheaf, sheaf.rows(), units={_checked(sheaf, (name,))[0]: unit}))

    def meet(self, other: Sheaf, on: str, every: bool = False) -> Draft:
        """Add the strips of another sheaf where `on` is equal."""

        def step(sheaf: Sheaf) -> Sheaf:
            found: dict[Any, Rows] = {}
            for row in other.rows():
                found.setdefault(row[on], []).append(row)
            blank = dict.fromkeys(other.names, GAP)
            rows = [
                {**match, **row}
                for row in sheaf.rows()
                for match in (found.get(row[on], [blank]) if row[on] is not GAP else [blank])[0 if every else -1 :]
            ]
            names = tuple(dict.fromkeys([*sheaf.names, *other.names]))
            return _rebuilt(sheaf, rows, names, {**other.units, **sheaf.units})

        return self._then(step)

    def lacking(self, other: Sheaf, on: str) -> Draft:
        """Keep the rows whose value of `on` the other sheaf does not have."""
        return self._then(
            lambda sheaf: _rebuilt(sheaf, [row for row in sheaf.rows() if row[on] not in other.strip(on).values])
        )

    def widen(self, across: str, value: str) -> Draft:
        """Make a strip of each value of `across`."""

        def step(sheaf: Sheaf) -> Sheaf:
            heads = tuple(str(head) for head in dict.fromkeys(sheaf.strip(across)) if head is not GAP)
            others = tuple(name for name in sheaf.names if name not in (across, value))
            made: dict[tuple[Any, ...], dict[str, Any]] = {}
            for row in sheaf.rows():
                key = tuple(row[name] for name in others)
                wide = made.setdefault(key, {**{name: row[name] for name in others}, **dict.fromkeys(heads, GAP)})
                wide[str(row[across])] = row[value]
            return _rebuilt(sheaf, list(made.values()), (*others, *heads), dict.fromkeys(heads, sheaf.units[value]))

        return self._then(step)

    def lengthen(self, *names: str, into: tuple[str, str] = ("name", "value")) -> Draft:
        def step(sheaf: Sheaf) -> Sheaf:
            chosen = _checked(sheaf, names)
            others = tuple(name for name in sheaf.names if name not in chosen)
            rows = [
                {**{other: row[other] for other in others}, into[0]: name, into[1]: row[name]}
                for row in sheaf.rows()
                for name in chosen
                if row[name] is not GAP
            ]
            return _rebuilt(sheaf, rows, (*others, *into), {into[1]: sheaf.units[chosen[0]]})

        return self._then(step)

    def bunch(self, *names: str) -> Bunches:
        """Bunch the rows by the values of strips. This settles the draft."""
        sheaf = self.settle()
        return Bunches(sheaf, _checked(sheaf, names))

    def __repr__(self) -> str:
        return f"<Draft of {len(self._steps)} steps on a sheaf of {self._sheaf.height}; .settle() computes it>"

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("rows", "row", "strip", "names", "units", "height", "with_strip", "same"):
            raise Unsettled(f"A draft has no {name}: it is not computed yet. Call .settle() and use the sheaf.")
        raise AttributeError(f"A draft has no attribute {name!r}.")

    def _then(self, step: Callable[[Sheaf], Sheaf]) -> Draft:
        self._steps.append(step)
        return self

    def _filter(self, condition: str, accept: Callable[[Any], bool]) -> Draft:
        def step(sheaf: Sheaf) -> Sheaf:
            test = Reader(condition, sheaf.units).condition()
            return _rebuilt(sheaf, [row for row in sheaf.rows() if accept(test(row))])

        return self._then(step)

    def _change(self, name: str, value: Callable[[dict[str, Any]], Any]) -> Draft:
        def step(sheaf: Sheaf) -> Sheaf:
            _checked(sheaf, (name,))
            return _rebuilt(sheaf, [{**row, name: or_gap(value(row))} for row in sheaf.rows()])

        return self._then(step)


def _checked(sheaf: Sheaf, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        sheaf.strip(name)  # raises NoSuchStrip
    return names


def _ordered(rows: Rows, name: str, *, rising: bool) -> Rows:
    gaps = [row for row in rows if row[name] is GAP]
    known = [row for row in rows if row[name] is not GAP]
    return gaps + sorted(known, key=lambda row: row[name], reverse=not rising)


def _rebuilt(
    sheaf: Sheaf, rows: Rows, names: tuple[str, ...] | None = None, units: dict[str, str | None] | None = None
) -> Sheaf:
    names = sheaf.names if names is None else names
    known = {**sheaf.units, **(units or {})}
    table = {name: [row[name] for row in rows] for name in names}
    return type(sheaf)(table, {name: known.get(name) for name in names})
