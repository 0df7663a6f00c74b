from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from quernal._errors import QuernalError
from quernal._folds import fold
from quernal._gap import GAP, or_gap
from quernal._units import check_unit, common, converted


class Strip:
    """One named row of values of a sheaf, with a unit.

    A strip that comes from a sheaf is the sheaf's own data, not a copy of it.
    """

    def __init__(self, values: list[Any], unit: str | None = None) -> None:
        check_unit(unit)
        self._values = values
        self._unit = unit

    @property
    def values(self) -> tuple[Any, ...]:
        return tuple(self._values)

    @property
    def unit(self) -> str | None:
        return self._unit

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __repr__(self) -> str:
        return (
            f"<Strip of {len(self)}{' ' + self._unit if self._unit else ''}: {', '.join(map(repr, self._values[:8]))}>"
        )

    def __getitem__(self, number: int) -> Any:
        return self._values[self._index(number)]

    def put(self, number: int, value: Any) -> Strip:
        self._values[self._index(number)] = or_gap(value)
        return self

    def patch(self, change: Callable[[Any], Any]) -> Strip:
        """Replace every value that is not a gap by `change(value)`."""
        self._values[:] = [value if value is GAP else or_gap(change(value)) for value in self._values]
        return self

    def detached(self) -> Strip:
        return Strip(list(self._values), self._unit)

    def scaled(self, unit: str) -> Strip:
        """The same quantities in another unit, detached."""
        if self._unit is None:
            common(None, unit)
        return self._derived(lambda value: converted(value, str(self._unit), unit), unit)

    def filled(self, value: Any) -> Strip:
        return Strip([value if each is GAP else each for each in self._values], self._unit)

    def fold(self, how: str) -> Any:
        return fold(how, self._values)

    def rank(self) -> Strip:
        """Ranks; see the page on strips for ties and gaps."""
        ladder = sorted({value for value in self._values if value is not GAP}, reverse=True)
        places = {value: place for place, value in enumerate(ladder, 1)}
        return Strip([GAP if value is GAP else places[value] for value in self._values])

    def shift(self, by: int = 1) -> Strip:
        moved = [self._values[n + by] if 0 <= n + by < len(self) else GAP for n in range(len(self))]
        return Strip(moved, self._unit)

    def running(self) -> Strip:
        """Running totals. A gap stays a gap, and the total begins again after it."""
        totals: list[Any] = []
        total: Any = 0
        for value in self._values:
            total = 0 if value is GAP else total + value
            totals.append(GAP if value is GAP else total)
        return Strip(totals, self._unit)

    def __add__(self, other: Strip | float) -> Strip:
        return self._combined(other, lambda a, b: a + b, common)

    def __sub__(self, other: Strip | float) -> Strip:
        return self._combined(other, lambda a, b: a - b, common)

    def __mul__(self, other: Strip | float) -> Strip:
        return self._combined(other, lambda a, b: a * b, lambda a, b: a if b is None else None if a else b)

    def __truediv__(self, other: Strip | float) -> Strip:
        return self._combined(other, lambda a, b: a / b if b else GAP, lambda a, b: a if b is None else None)

    def _combined(
        self,
        other: Strip | float,
        compute: Callable[[Any, Any], Any],
        unit: Callable[[str | None, str | None], str | None],
    ) -> Strip:
        right = other if isinstance(other, Strip) else Strip([other] * len(self))
        if len(right) != len(self):
            raise QuernalError(f"The strips have {len(self)} and {len(right)} values.")
        pairs = zip(self._values, right._values, strict=True)
        values = [GAP if GAP in pair else compute(*pair) for pair in pairs]
        return Strip(values, unit(self._unit, right._unit))

    def _derived(self, compute: Callable[[Any], Any], unit: str | None) -> Strip:
        return Strip([value if value is GAP else compute(value) for value in self._values], unit)

    def _index(self, number: int) -> int:
        if not 1 <= number <= len(self):
            raise QuernalError(f"Row {number} does not exist: rows are numbered from 1 to {len(self)}.")
        return number - 1
