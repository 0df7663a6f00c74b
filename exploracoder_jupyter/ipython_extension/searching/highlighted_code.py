"""Renders Python code and patches as HTML in the colours of the page: no style sheet, no script, everything escaped."""

from __future__ import annotations

from html import escape

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

_COLOUR = "color:var(--jp-mirror-editor-{}-color, inherit)"
_STYLES = (
    (Comment, "font-style:italic;opacity:.75"),  # the color in the themes has too little contrast
    (String, _COLOUR.format("string")),
    (Number, _COLOUR.format("number")),
    (Operator.Word, _COLOUR.format("keyword")),
    (Keyword, _COLOUR.format("keyword")),
    (Name.Builtin, _COLOUR.format("builtin")),
    (Name.Function, _COLOUR.format("def")),
    (Name.Class, _COLOUR.format("def")),
)
"""Token types and their styles: the first that matches is used."""

_DIFF = (
    ("+++", "font-weight:bold"),
    ("---", "font-weight:bold"),
    ("+", "background:rgba(76,175,80,.25)"),
    ("-", "background:rgba(244,67,54,.25)"),
    ("@@", "opacity:.75"),
)
"""Beginnings of the lines of a patch, and their styles. The colours are transparent: the text has that of the theme."""
_FOR_PROGRAMS = ("diff --git ", "index ")


def highlight_python(code: str) -> str:
    """Render the code as HTML for a `<pre>`."""
    tokens = PythonLexer(stripnl=False, ensurenl=False).get_tokens(code)
    return "".join(_span(kind, text) for kind, text in tokens)


def highlight_diff(patch: str) -> str:
    """Render a patch as HTML for a `<pre>`: added and removed lines in colour, and marked by their signs as well.

    The lines for programs (`diff --git`, `index`) are left out.
    """
    lines = (line for line in patch.rstrip("\n").split("\n") if not line.startswith(_FOR_PROGRAMS))
    return "\n".join(_diff_line(line) for line in lines)


def _diff_line(line: str) -> str:
    style = next((style for start, style in _DIFF if line.startswith(start)), None)
    return f'<span style="{style}">{escape(line)}</span>' if style else escape(line)


def _span(kind: tuple[str, ...], text: str) -> str:
    style = next((style for token_type, style in _STYLES if kind in token_type), None)
    if style is None or not text.strip():
        return escape(text)
    return f'<span style="{style}">{escape(text)}</span>'
