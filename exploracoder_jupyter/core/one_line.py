"""Collapses text to one line of limited length."""

from __future__ import annotations


def one_line(text: str, most: int) -> str:
    """Collapse the text to one line of at most `most` characters, with an ellipsis if it was truncated."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
