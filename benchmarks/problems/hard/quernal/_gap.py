"""The missing value."""

from typing import Any, Final


class Gap:
    """The only instance is `GAP`: a value that is not known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "GAP"

    def __bool__(self) -> bool:
        return False


GAP: Final = Gap()


def or_gap(value: Any) -> Any:
    return GAP if value is None else value
