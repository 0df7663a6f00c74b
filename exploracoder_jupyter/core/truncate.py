"""Text on one line, where there is room for a line."""

from __future__ import annotations


def one_line(text: str, most: int) -> str:
    """The text on one line, at most so many characters, with an ellipsis where it was cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
