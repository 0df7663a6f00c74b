"""What terminals interpret in a text: escape sequences, carriage returns and other control characters."""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def without_controls(text: str) -> str:
    """Replace what begins an escape sequence, and other control characters, in text that may end up in a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def printable(text: str) -> str:
    """Replace all characters that are invisible or that a terminal would interpret, except line breaks and tabs."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def strip_ansi(text: str) -> str:
    """Remove terminal colours and other escape sequences."""
    return _ANSI.sub("", text)


def apply_carriage_returns(text: str) -> str:
    """Apply carriage returns as a terminal does: a rewritten line (progress bars) keeps only its last version."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
