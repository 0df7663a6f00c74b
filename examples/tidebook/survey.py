"""The surveyor's part: brass marks, and what is hung from them."""

from __future__ import annotations

from dataclasses import replace

from tidebook.readings import Series


def hang(one: Series, drop: float) -> Series:
    """Hang from the brass what is adrift, so that it is counted from there.

    Parameters
    ----------
    one : Series
        What is adrift.
    drop : float
        Metres from the brass down to the foot of the pole.
    """
    return replace(one, heights=tuple(height - drop for height in one.heights), _brass=True)


def unhang(one: Series, drop: float) -> Series:
    """Take from the brass what hangs there, so that it is adrift again."""
    return replace(one, heights=tuple(height + drop for height in one.heights), _brass=False)


def hangs(one: Series) -> bool:
    """Whether it hangs from a brass."""
    return one._brass


def closure(drops: list[float]) -> float:
    """Misclosure of a levelling loop: the sum of its drops, which ought to be nothing."""
    return sum(drops)


def spread_closure(drops: list[float]) -> list[float]:
    """The drops of a levelling loop with its misclosure spread over them evenly."""
    rest = closure(drops) / len(drops)
    return [drop - rest for drop in drops]
