"""Writes foreign text into HTML and Markdown so that it stays text: no tag, no formula, no end of a code block.

Jupyter front ends typeset TeX in all HTML that they show, after entities have been decoded, and some TeX commands make
the browser send a request. A formula never extends over an element's border, so its delimiters are put in elements.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

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
