"""Removes what a text does to its reader or terminal beyond being read: escape sequences, invisible characters."""

from __future__ import annotations

import re
import unicodedata

_VARIATION_SELECTORS = frozenset([0xFE00 + at for at in range(16)] + [0xE0100 + at for at in range(240)])
"""Variation selectors: they can encode arbitrary bytes and are never visible."""
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")


def strip_invisible(text: str) -> str:
    r"""Return the text without zero-width, direction and control characters, among them `\r`."""
    return _SUSPECT.sub(lambda found: found[0] if _is_visible(found[0]) else "", text)


def _is_visible(char: str) -> bool:
    if char.isascii():
        return char.isprintable()
    return unicodedata.category(char) not in ("Cf", "Cc", "Cs", "Co", "Cn") and ord(char) not in _VARIATION_SELECTORS


def printable(text: str) -> str:
    """Replace control characters, which a terminal would interpret, except line breaks and tabs."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)


def encodable(text: str) -> str:
    """Replace lone surrogates, which JSON escapes and file names may contain and UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def strip_ansi(text: str) -> str:
    """Remove terminal colours and other escape sequences."""
    return _ANSI.sub("", text)


def apply_carriage_returns(text: str) -> str:
    """Apply carriage returns as a terminal does: a rewritten line (progress bars) keeps only its last version."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
