"""Folds: many values to one."""

from collections.abc import Callable
from typing import Any

from quernal._errors import QuernalError
from quernal._gap import GAP


def _middle(values: list[Any]) -> Any:
    return sorted(values)[(len(values) - 1) // 2]


FOLDS: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": sum,
    "mean": lambda values: sum(values) / len(values),
    "middle": _middle,
    "low": min,
    "high": max,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "range": lambda values: max(values) - min(values),
    "kinds": lambda values: len(set(values)),
}

UNITLESS = ("count", "kinds")


def fold(how: str, values: list[Any]) -> Any:
    name, skip = how.removesuffix("?"), how.endswith("?")
    if name not in FOLDS:
        raise QuernalError(f"There is no fold {name!r}. The folds are {', '.join(FOLDS)}.")
    kept = [value for value in values if value is not GAP] if skip else values
    if name != "count" and (GAP in kept or not kept):
        return GAP
    return FOLDS[name](kept)
