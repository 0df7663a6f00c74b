"""Characters that are invisible or mean something to terminals, HTML and Markdown."""

from __future__ import annotations

import re
import unicodedata
from html import escape
from typing import Final

# Removes characters that are invisible or cannot be encoded.

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


# What terminals interpret in a text: escape sequences, carriage returns and other control characters.

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


# Writes foreign text into HTML and Markdown so that it stays text: no tag, no formula, no end of a code block.
#
# Jupyter front ends typeset TeX in all HTML that they show, after entities have been decoded, and some TeX commands
# make the browser send a request. A formula never extends over an element's border, so its delimiters are put in
# elements.

_DELIMITER: Final = re.compile(r"[$\\]")
_WRAPPED: Final = re.compile(r"<span>([$\\])</span>")
_BACKTICKS: Final = re.compile(r"`+")
_NO_LANGUAGE: Final = re.compile(r"[^\w+.-]")


def escape_html(text: str) -> str:
    """Escape text for HTML, but not for an attribute, where nothing is typeset: no tag and no formula."""
    return without_formulas(escape(text))


def without_formulas(text: str) -> str:
    """Keep `$` and backslashes in text between two tags from beginning or ending a formula."""
    return _DELIMITER.sub(r"<span>\g<0></span>", text)


def with_formulas(markup: str) -> str:
    """Undo `without_formulas`, so that it may be applied to what was once made so."""
    return _WRAPPED.sub(r"\1", markup)


def fenced(code: str, language: str = "") -> str:
    """Return a Markdown code block, whose fence is longer than any run of backticks in the code."""
    longest = max(map(len, _BACKTICKS.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{_NO_LANGUAGE.sub('', language)}\n{code}\n{fence}"
