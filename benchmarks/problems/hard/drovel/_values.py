from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final


class Drop:
    """The only instance is `DROP`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "DROP"


DROP: Final = Drop()


class Spill:
    """Several items in place of one."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = tuple(items)


class Batch(tuple[Any, ...]):
    """Items that were put together. `number` counts the batches of a run from 1."""

    number: int

    @classmethod
    def of(cls, items: Iterable[Any], number: int) -> Batch:
        batch = cls(items)
        batch.number = number
        return batch


@dataclass(frozen=True)
class Window:
    start: int
    """Milliseconds."""
    end: int
    items: tuple[Any, ...]


@dataclass(frozen=True)
class Keyed:
    key: Any
    value: Any


@dataclass(frozen=True)
class Fault:
    """An item that could not pass a stage."""

    item: Any
    error: Exception
    stage: str
