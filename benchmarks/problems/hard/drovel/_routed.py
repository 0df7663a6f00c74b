from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Literal

from drovel._errors import DrovelError
from drovel._stages import Context, Items, passed
from drovel._values import DROP, Keyed

if TYPE_CHECKING:
    from drovel._drive import Drive

Test = Callable[[Any], Any]


class RoutedDrive:
    """A drive that parts into lanes. An item takes the first lane whose test it passes, and else it is a stray."""

    def __init__(self, drive: Drive, tests: Mapping[str, Test], drives: Mapping[str, Drive]) -> None:
        self._drive = drive
        self._tests = tests
        self._drives = drives

    def through(self, lane: str, drive: Drive) -> RoutedDrive:
        """Send a lane through a drive."""
        if lane not in self._tests:
            raise DrovelError(f"There is no lane {lane!r}. The lanes are {', '.join(self._tests)}.")
        return RoutedDrive(self._drive, self._tests, {**self._drives, lane: drive})

    def merge(self, order: Literal["turns", "lanes"] = "turns") -> Drive:
        def apply(items: Items, context: Context, name: str) -> Items:
            lanes = self._sent(items, context, name).values()
            if order == "lanes":
                return chain.from_iterable(lanes)
            turns = zip_longest(*lanes, fillvalue=DROP)
            return (item for turn in turns for item in turn if item is not DROP)

        return self._drive._then("merge", apply)

    def tagged(self) -> Drive:
        """The items as `Keyed`, with their lanes as keys, lane after lane."""

        def apply(items: Items, context: Context, name: str) -> Items:
            for lane, sent in self._sent(items, context, name).items():
                yield from (Keyed(lane, item) for item in sent)

        return self._drive._then("tagged", apply)

    def _sent(self, items: Items, context: Context, name: str) -> dict[str, list[Any]]:
        lanes: dict[str, list[Any]] = {lane: [] for lane in self._tests}
        for item in items:
            lane = context.tried(name, item, self._lane)
            if lane is None:
                context.strays.append(item)
            elif lane is not DROP:
                lanes[lane].append(item)
        return {
            lane: list(passed(iter(sent), self._drives[lane]._stages, context)) if lane in self._drives else sent
            for lane, sent in lanes.items()
        }

    def _lane(self, item: Any) -> str | None:
        return next((lane for lane, test in self._tests.items() if test(item)), None)
