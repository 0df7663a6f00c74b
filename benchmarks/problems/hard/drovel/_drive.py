from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Literal, NoReturn

from drovel._errors import DrovelError, Unsealed
from drovel._flow import SealedDrive
from drovel._keyed import KeyedDrive
from drovel._paths import Path
from drovel._routed import RoutedDrive
from drovel._schema import fitted, read_schema
from drovel._stages import (
    Context,
    Items,
    Stage,
    arranged,
    batched,
    changed,
    deduped,
    kept,
    picked,
    tapped,
    tumbled,
    windowed,
)
from drovel._times import MILLISECONDS, span


class Drive:
    """Stages in their order. Every verb returns a longer drive and leaves this one as it is.

    >>> doubled = Drive().change(lambda n: 2 * n).seal()
    >>> doubled.run([1, 2]).settle().items
    [2, 4]
    """

    def __init__(self) -> None:
        self._stages: tuple[Stage, ...] = ()

    def change(self, compute: Callable[[Any], Any], tries: int = 1) -> Drive:
        return self._then("change", lambda items, context, name: changed(items, context, name, compute, tries))

    def enrich(self, **fields: Callable[[Any], Any]) -> Drive:
        """Add fields to items that are mappings."""

        def compute(item: Any) -> Any:
            return {**item, **{name: make(item) for name, make in fields.items()}}

        return self._then("enrich", lambda items, context, name: changed(items, context, name, compute, 1))

    def pick(self, path: str) -> Drive:
        """Pass on what the path leads to. See the page on paths."""
        found = Path(path)
        return self._then("pick", lambda items, context, name: picked(items, context, name, found))

    def keep(self, test: Callable[[Any], Any]) -> Drive:
        return self._then("keep", lambda items, context, name: kept(items, context, name, test))

    def need(self, schema: str, extra: Literal["strip", "keep"] = "strip") -> Drive:
        """Pass on the items that fit a schema, such as "id:int, name:text, tags:[text]?"."""
        fields = read_schema(schema)

        def compute(item: Any) -> Any:
            return fitted(item, fields, extra=extra == "keep")

        return self._then("need", lambda items, context, name: changed(items, context, name, compute, 1))

    def batch(self, size: int, rest: Literal["drop", "keep"] = "drop") -> Drive:
        """Put items together."""
        return self._then("batch", lambda items, context, name: batched(items, size, rest))

    def window(self, size: int, step: int = 1, whole: bool = False) -> Drive:
        return self._then("window", lambda items, context, name: windowed(items, size, step, whole=whole))

    def tumble(
        self,
        length: int | str,
        by: str,
        unit: Literal["ms", "s", "m", "h", "d"] = "ms",
        edge: Literal["end", "start"] = "end",
    ) -> Drive:
        """Put items of one stretch of time together.

        Args:
            by: path to the time of an item.
            unit: what the items' times are counted in.
            edge: which edge of a window belongs to it.
        """
        path, size = Path(by), MILLISECONDS[unit]

        def at(item: Any) -> int:
            time: float = path.one(item)
            return round(time * size)

        return self._then("tumble", lambda items, context, name: tumbled(items, context, name, span(length), at, edge))

    def every(self, number: int, start: int | None = None) -> Drive:
        first = (number if start is None else start) - 1
        return self._then("every", lambda items, context, name: islice(items, first, None, number))

    def limit(self, count: int) -> Drive:
        return self._then("limit", lambda items, context, name: islice(items, count))

    def dedupe(self, path: str = "@", memory: int | None = 1) -> Drive:
        """Leave out repeated items.

        Args:
            memory: how many items back a repetition is recognised; `None` is all.
        """
        found = Path(path)
        return self._then("dedupe", lambda items, context, name: deduped(items, context, name, found, memory))

    def sort(self, path: str = "@", falling: bool = False, buffer: int | None = 8) -> Drive:
        """Sort items that pass."""
        found = Path(path)
        return self._then(
            "sort",
            lambda items, context, name: arranged(items, context, name, found, falling=falling, buffer=buffer),
        )

    def tap(self, gauge: str, path: str = "@") -> Drive:
        """Record numbers of the passing items, for `Yield.gauge`."""
        found = Path(path)

        def apply(items: Items, context: Context, name: str) -> Items:
            context.readings.setdefault(gauge, [])
            return tapped(items, context, name, gauge, found)

        return self._then("tap", apply)

    def key(self, path: str) -> KeyedDrive:
        return KeyedDrive(self, Path(path))

    def route(self, **tests: Callable[[Any], Any]) -> RoutedDrive:
        return RoutedDrive(self, tests, {})

    def then(self, drive: Drive) -> Drive:
        longer = Drive()
        longer._stages = self._stages + drive._stages
        return longer

    def named(self, name: str) -> Drive:
        """Name the last stage, for `Fault.stage`."""
        if not self._stages:
            raise DrovelError("The drive has no stage to name.")
        longer = Drive()
        longer._stages = (*self._stages[:-1], Stage(name, self._stages[-1].apply))
        return longer

    @property
    def stages(self) -> tuple[str, ...]:
        return tuple(stage.name for stage in self._stages)

    def seal(self, strict: bool = False) -> SealedDrive:
        """A drive that can be run."""
        return SealedDrive(self, strict)

    def run(self, items: object) -> NoReturn:
        raise Unsealed("A drive is sealed before it is run: drive.seal().run(items).")

    def __repr__(self) -> str:
        return f"<Drive: {' > '.join(self.stages) or 'no stages'}>"

    def _then(self, name: str, apply: Callable[[Items, Context, str], Items]) -> Drive:
        longer = Drive()
        longer._stages = (*self._stages, Stage(name, apply))
        return longer
