from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from drovel._stages import Context, Items, passed
from drovel._values import DROP, Keyed

if TYPE_CHECKING:
    from drovel._drive import Drive
    from drovel._paths import Path


class KeyedDrive:
    """A drive whose items have keys. Made by `Drive.key`; its verbs lead back to a drive, of `Keyed` items."""

    def __init__(self, drive: Drive, path: Path) -> None:
        self._drive = drive
        self._path = path

    def fold(self, start: Any, combine: Callable[[Any, Any], Any], emit: Literal["each", "end"] = "each") -> Drive:
        """Combine the items of each key, from `start` on."""

        def apply(items: Items, context: Context, name: str) -> Items:
            totals: dict[Any, Any] = {}
            for key, item in self._pairs(items, context, name):
                before = totals[key] if key in totals else copy.deepcopy(start)
                after = context.tried(name, item, partial(combine, before))
                if after is not DROP:
                    totals[key] = after
                    if emit == "each":
                        yield Keyed(key, after)
            if emit == "end":
                yield from (Keyed(key, total) for key, total in totals.items())

        return self._drive._then("fold", apply)

    def count(self) -> Drive:
        return self.fold(0, lambda total, _: total + 1, emit="end")

    def gather(self) -> Drive:
        return self.fold((), lambda items, item: (*items, item), emit="end")

    def latest(self) -> Drive:
        """The last item of each key."""
        return self.fold(None, lambda _, item: item, emit="end")

    def each(self, drive: Drive) -> Drive:
        """Send the items of each key through a drive of their own, key after key."""

        def apply(items: Items, context: Context, name: str) -> Items:
            groups: dict[Any, list[Any]] = {}
            for key, item in self._pairs(items, context, name):
                groups.setdefault(key, []).append(item)
            for key, members in groups.items():
                for item in passed(iter(members), drive._stages, context):
                    yield Keyed(key, item)

        return self._drive._then("each", apply)

    def _pairs(self, items: Items, context: Context, name: str) -> Items:
        for item in items:
            key = context.tried(name, item, self._path.one)
            if key is not DROP:
                yield key, item
