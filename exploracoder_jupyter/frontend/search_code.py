"""Python code as HTML in the colours of the page's own editor: no style sheet, no script, every character escaped."""

from __future__ import annotations

from html import escape

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

_COLOURS = (
    (Comment, "comment"),
    (String, "string"),
    (Number, "number"),
    (Operator.Word, "keyword"),
    (Keyword, "keyword"),
    (Name.Builtin, "builtin"),
    (Name.Function, "def"),
    (Name.Class, "def"),
)
"""Kinds of tokens, and the variable of JupyterLab's themes that has their colour: the first that fits counts."""


def highlighted(code: str) -> str:
    """The code as HTML for a `<pre>`."""
    tokens = PythonLexer(stripnl=False, ensurenl=False).get_tokens(code)
    return "".join(_span(kind, text) for kind, text in tokens)


def _span(kind: tuple[str, ...], text: str) -> str:
    colour = next((name for known, name in _COLOURS if kind in known), None)
    if colour is None or not text.strip():
        return escape(text)
    return f'<span style="color:var(--jp-mirror-editor-{colour}-color, inherit)">{escape(text)}</span>'
