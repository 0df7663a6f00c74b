"""Lengths of time. All times of Drovel are whole milliseconds."""

import re

from drovel._errors import DrovelError

MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def span(length: int | str) -> int:
    """Milliseconds of a length such as "90s", "5m" or "2h"; a number is milliseconds already."""
    if isinstance(length, int):
        return length
    match = re.fullmatch(r"\s*(\d+)\s*(ms|s|m|h|d)\s*", length)
    if match is None:
        raise DrovelError(f"Cannot read the length {length!r}. Write a whole number and ms, s, m, h or d, as in '5m'.")
    return int(match[1]) * MILLISECONDS[match[2]]
