"""Text that came from models and libraries, made safe to put into Markdown and HTML.

Generated Markdown cells are rendered as trusted text by every front end, so nothing foreign may carry markup or math
of its own. `prose` is for running Markdown text, `span` for code within a line of Markdown, `html` for the inside of
an HTML block (where Markdown is off but math is still looked for). These return one line.
"""

from __future__ import annotations

import re

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "$": "&#36;", "\\": "&#92;"}
_MARKUP = "`*_[]{}|~#!"
_AS_HTML = str.maketrans(_HTML)
_AS_PROSE = str.maketrans({**_HTML, '"': '"', **{mark: "\\" + mark for mark in _MARKUP}})
_AS_SPAN = str.maketrans({**_HTML, **{mark: f"&#{ord(mark)};" for mark in _MARKUP}})
_CODE = re.compile(r"`([^`]+)`")
_BLOCK_START = re.compile(r"^(?:([-+=])|(\d+)([.)])(?=\s|$))")


def clip(text: str, limit: int) -> str:
    """The text on one line, at most `limit` characters, with an ellipsis where it was cut."""
    line = _one_line(text)
    return line if len(line) <= limit else line[: max(limit - 1, 0)].rstrip() + "…"


def prose(text: str) -> str:
    """Text that Markdown shows as it is, also at the start of a line or a list item; what is in backticks is code."""
    parts = _CODE.split(_one_line(text))
    shown = [span(part) if number % 2 else part.translate(_AS_PROSE) for number, part in enumerate(parts)]
    return _BLOCK_START.sub(_blunt, "".join(shown))


def span(text: str) -> str:
    """Code within a line of Markdown."""
    return f"<code>{_one_line(text).translate(_AS_SPAN)}</code>"


def html(text: str) -> str:
    """Text for the inside of an HTML block: no tags, no math, no blank line that would end the block."""
    return _one_line(text).translate(_AS_HTML)


def encodable(text: str) -> str:
    """The text with lone surrogates, which no file can hold, replaced."""
    return text.encode("utf-8", "replace").decode()


def _one_line(text: str) -> str:
    return " ".join(encodable(text).split())


def _blunt(match: re.Match[str]) -> str:
    mark, digits, closing = match.groups()
    return "\\" + mark if mark else f"{digits}\\{closing}"
