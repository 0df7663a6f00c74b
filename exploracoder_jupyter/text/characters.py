"""Removes characters that are invisible or cannot be encoded."""

from __future__ import annotations

import re
import unicodedata

_VARIATION_SELECTORS = frozenset([0xFE00 + at for at in range(16)] + [0xE0100 + at for at in range(240)])
"""Variation selectors: they can encode arbitrary bytes and are never visible."""
_SUSPECT = re.compile(r"[^\n\t\x20-\x7e]")


def strip_invisible(text: str) -> str:
    r"""Return the text without zero-width, direction and control characters, among them `\r`."""
    return _SUSPECT.sub(lambda found: found[0] if _is_visible(found[0]) else "", text)


def _is_visible(char: str) -> bool:
    if char.isascii():
        return char.isprintable()
    return unicodedata.category(char) not in ("Cf", "Cc", "Cs", "Co", "Cn") and ord(char) not in _VARIATION_SELECTORS


def encodable(text: str) -> str:
    """Replace lone surrogates, which JSON escapes and file names may contain and UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
