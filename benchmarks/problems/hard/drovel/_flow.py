from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from drovel._errors import DrovelError, Unsealed
from drovel._stages import Context, passed
from drovel._values import Fault

if TYPE_CHECKING:
    from drovel._drive import Drive


class Gauge:
    """The numbers that a tap recorded."""

    def __init__(self, readings: Sequence[float]) -> None:
        self._readings = tuple(readings)

    @property
    def count(self) -> int:
        return len(self._readings)

    @property
    def total(self) -> float:
        return sum(self._readings)

    @property
    def low(self) -> float | None:
        return min(self._readings, default=None)

    @property
    def high(self) -> float | None:
        return max(self._readings, default=None)

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self._readings else None

    def __repr__(self) -> str:
        return f"<Gauge of {self.count}: {self.low} to {self.high}>"


@dataclass(frozen=True)
class Yield:
    """What came out of a run."""

    items: list[Any]
    faults: list[Fault]
    strays: list[Any]
    _readings: dict[str, list[float]]

    def gauge(self, name: str) -> Gauge:
        if name not in self._readings:
            raise DrovelError(f"There is no gauge {name!r}. The gauges are {', '.join(self._readings) or 'none'}.")
        return Gauge(self._readings[name])

    def check(self) -> Yield:
        """This yield, if it has no faults; else the first of them is raised."""
        for fault in self.faults:
            raise fault.error
        return self


class Flow:
    """A run that has not begun. Each `settle` or `take` runs from the beginning."""

    def __init__(self, drive: Drive, items: Iterable[Any], strict: bool) -> None:
        self._drive = drive
        self._items = items
        self._strict = strict

    def settle(self) -> Yield:
        return self._settled(None)

    def take(self, count: int) -> Yield:
        """Run until there are `count` items."""
        return self._settled(count)

    def __iter__(self) -> NoReturn:
        raise DrovelError("A flow has no items yet. Run it with .settle() and read .items of what it returns.")

    def __repr__(self) -> str:
        return f"<Flow through {self._drive!r}, not settled>"

    def _settled(self, count: int | None) -> Yield:
        context = Context(self._strict)
        items = list(islice(passed(iter(self._items), self._drive._stages, context), count))
        return Yield(items, context.faults, context.strays, context.readings)


class SealedDrive:
    """A drive that can be run, as often as you like. Made by `Drive.seal`."""

    def __init__(self, drive: Drive, strict: bool) -> None:
        self._drive = drive
        self._strict = strict

    @property
    def stages(self) -> tuple[str, ...]:
        return self._drive.stages

    def run(self, items: Iterable[Any]) -> Flow:
        return Flow(self._drive, items, self._strict)

    def reopen(self) -> Drive:
        return self._drive

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(type(self._drive), name) and not name.startswith("_"):
            raise Unsealed(
                f"A sealed drive has no {name}: it cannot be extended. Use .reopen().{name}, and seal again."
            )
        raise AttributeError(f"A sealed drive has no attribute {name!r}.")

    def __repr__(self) -> str:
        return f"<SealedDrive: {' > '.join(self.stages)}>"
