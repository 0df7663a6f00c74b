"""Units of measurement: conversion, and which of them may be combined."""

from quernal._errors import UnitClash

_UNITS: dict[str, tuple[str, float]] = {
    "g": ("mass", 1),
    "kg": ("mass", 1000),
    "t": ("mass", 1_000_000),
    "cm": ("length", 1),
    "m": ("length", 100),
    "km": ("length", 100_000),
    "s": ("time", 1),
    "min": ("time", 60),
    "h": ("time", 3600),
    "ct": ("money", 1),
    "eur": ("money", 100),
}


def known(unit: str) -> bool:
    return unit in _UNITS


def check_unit(unit: str | None) -> None:
    if unit is not None and not known(unit):
        raise UnitClash(f"{unit!r} is not a unit. The units are {', '.join(_UNITS)}.")


def converted(value: float, unit: str, target: str) -> float:
    """The value in another unit of the same kind."""
    (kind, size), (target_kind, target_size) = _UNITS[unit], _UNITS[target]
    if kind != target_kind:
        raise UnitClash(f"{unit!r} measures {kind}, {target!r} measures {target_kind}.")
    return value * size / target_size


def common(left: str | None, right: str | None) -> str | None:
    """The unit of a sum, or a clash."""
    if left == right:
        return left
    raise UnitClash(
        f"Cannot combine {left or 'a number without unit'} and {right or 'a number without unit'}. "
        "Make the units equal first: .convert(name, unit) on a draft, .scaled(unit) on a strip; "
        ".declare(name, unit) gives a strip without unit one."
    )
