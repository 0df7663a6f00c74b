"""Escapes text from models and libraries for Markdown and HTML.

Every front end renders generated Markdown cells as trusted, so foreign text must not contain markup or math. `prose` is
for Markdown text, `span` for inline code in Markdown, `html` for the inside of an HTML block, where Markdown is off,
and `attribute` for an attribute there. Math is typeset in the page, after entities have been decoded, except in code;
so what begins it stands in an element of its own (`text.markup_escaping`). All of them return a single line.
"""

from __future__ import annotations

import re

from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.text.markup_escaping import without_formulas

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "$": "&#36;", "\\": "&#92;"}
_MATH = {mark: without_formulas(mark).replace(mark, _HTML[mark]) for mark in "$\\"}
_MARKUP = "`*_[]{}|~#!"
_AS_HTML = str.maketrans({**_HTML, **_MATH})
_AS_ATTRIBUTE = str.maketrans(_HTML)
_AS_PROSE = str.maketrans({**_HTML, **_MATH, '"': '"', **{mark: "\\" + mark for mark in _MARKUP}})
_AS_SPAN = str.maketrans({**_HTML, **{mark: f"&#{ord(mark)};" for mark in _MARKUP}})
_CODE = re.compile(r"`([^`]+)`")
_BLOCK_START = re.compile(r"^(?:([-+=])|(\d+)([.)])(?=\s|$))")


def clip(text: str, limit: int) -> str:
    """Put the text on one line of at most `limit` characters, with an ellipsis if it was cut."""
    line = _one_line(text)
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"


def prose(text: str) -> str:
    """Escape text for Markdown, also at the start of a line or list item; text in backticks becomes code."""
    parts = _CODE.split(_one_line(text))
    shown = [span(part) if number % 2 else part.translate(_AS_PROSE) for number, part in enumerate(parts)]
    return _BLOCK_START.sub(lambda found: f"{found[2] or ''}\\{found[1] or found[3]}", "".join(shown))


def span(text: str) -> str:
    """Escape inline code for Markdown."""
    return f"<code>{_one_line(text).translate(_AS_SPAN)}</code>"


def html(text: str) -> str:
    """Escape text for an HTML block: no tags, no math, no blank line that would end the block."""
    return _one_line(text).translate(_AS_HTML)


def attribute(text: str) -> str:
    """Escape text for an attribute in quotes, where nothing is typeset."""
    return _one_line(text).translate(_AS_ATTRIBUTE)


def _one_line(text: str) -> str:
    return " ".join(encodable(text).split())
