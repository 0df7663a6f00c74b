"""What stages do with items. Each is a generator over the items before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from drovel._errors import DroveFault, LateItem
from drovel._paths import Path
from drovel._values import DROP, Batch, Fault, Spill, Window

Items = Iterator[Any]


@dataclass
class Context:
    """What a run collects beside its items."""

    strict: bool = False
    faults: list[Fault] = field(default_factory=list)
    strays: list[Any] = field(default_factory=list)
    readings: dict[str, list[float]] = field(default_factory=dict)

    def tried(self, stage: str, item: Any, compute: Callable[[Any], Any], tries: int = 1) -> Any:
        """What is computed of the item, or `DROP` after recording a fault."""
        for left in range(tries - 1, -1, -1):
            try:
                return compute(item)
            except Exception as error:
                if not left:
                    self.fault(stage, item, error)
        return DROP

    def fault(self, stage: str, item: Any, error: Exception) -> None:
        if self.strict:
            raise DroveFault(f"Stage {stage!r} failed with {error!r} on {item!r}.") from error
        self.faults.append(Fault(item, error, stage))


@dataclass(frozen=True)
class Stage:
    name: str
    apply: Callable[[Items, Context, str], Items]


def passed(items: Items, stages: tuple[Stage, ...], context: Context) -> Items:
    for stage in stages:
        items = stage.apply(items, context, stage.name)
    return items


def changed(items: Items, context: Context, name: str, compute: Callable[[Any], Any], tries: int) -> Items:
    for item in items:
        made = context.tried(name, item, compute, tries)
        if isinstance(made, Spill):
            yield from made.items
        elif made is not DROP:
            yield item if made is None else made


def picked(items: Items, context: Context, name: str, path: Path) -> Items:
    for item in items:
        found = context.tried(name, item, lambda each: list(path.values(each)))
        yield from () if found is DROP else found


def kept(items: Items, context: Context, name: str, test: Callable[[Any], Any]) -> Items:
    for item in items:
        answer = context.tried(name, item, test)
        if answer is not DROP and answer:
            yield item


def batched(items: Items, size: int, rest: Literal["drop", "keep"]) -> Items:
    waiting: list[Any] = []
    number = 0
    for item in items:
        waiting.append(item)
        if len(waiting) == size:
            number += 1
            yield Batch.of(waiting, number)
            waiting = []
    if waiting and rest == "keep":
        yield Batch.of(waiting, number + 1)


def windowed(items: Items, size: int, step: int, *, whole: bool) -> Items:
    everything = list(items)
    for number, start in enumerate(range(0, len(everything), step), 1):
        window = everything[start : start + size]
        if len(window) == size or not whole:
            yield Batch.of(window, number)


def tumbled(
    items: Items, context: Context, name: str, length: int, at: Callable[[Any], int], edge: Literal["end", "start"]
) -> Items:
    current: int | None = None
    waiting: list[Any] = []
    for item in items:
        time = context.tried(name, item, at)
        if time is DROP:
            continue
        index = -(-time // length) - 1 if edge == "end" else time // length
        if current is not None and index < current:
            context.fault(name, item, LateItem("The item is late. Sort by time before: .sort(path, buffer=None)."))
            continue
        while current is not None and current < index:
            yield Window(current * length, (current + 1) * length, tuple(waiting))
            waiting, current = [], current + 1
        current = index
        waiting.append(item)
    if current is not None:
        yield Window(current * length, (current + 1) * length, tuple(waiting))


def deduped(items: Items, context: Context, name: str, path: Path, memory: int | None) -> Items:
    seen: deque[Any] = deque(maxlen=memory)
    for item in items:
        value = context.tried(name, item, path.one)
        if value is DROP:
            continue
        if value not in seen:
            yield item
        seen.append(value)


def arranged(items: Items, context: Context, name: str, path: Path, *, falling: bool, buffer: int | None) -> Items:
    waiting: list[tuple[Any, Any]] = []
    choose = max if falling else min
    for item in items:
        value = context.tried(name, item, path.one)
        if value is not DROP:
            waiting.append((value, item))
        if buffer is not None and len(waiting) > buffer:
            first = choose(waiting, key=lambda pair: pair[0])
            waiting.remove(first)
            yield first[1]
    yield from (item for _, item in sorted(waiting, key=lambda pair: pair[0], reverse=falling))


def tapped(items: Items, context: Context, name: str, gauge: str, path: Path) -> Items:
    for item in items:
        found = context.tried(name, item, lambda each: list(path.values(each)))
        context.readings[gauge] += [] if found is DROP else found
        yield item
