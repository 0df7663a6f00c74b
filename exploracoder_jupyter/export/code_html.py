"""Python code as HTML whose colours are the page's."""

from __future__ import annotations

from html import escape
from typing import Final

from markupsafe import Markup
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

_CLASSES: Final = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Operator.Word, "k"),
    (Keyword, "k"),
    (Name.Builtin, "b"),
    (Name.Function, "d"),
    (Name.Class, "d"),
    (Name.Decorator, "d"),
)
"""Kinds of tokens with their class in the style sheet: the first that fits counts."""


def code_html(code: str, label: str) -> Markup:
    """The code as a block that a keyboard can scroll, named for those who hear it."""
    tokens = PythonLexer(stripnl=False, ensurenl=False).get_tokens(code.strip("\n"))
    spans = "".join(_span(kind, text) for kind, text in tokens)
    return Markup(
        f'<pre class="code" tabindex="0" role="group" aria-label="{escape(label)}"><code>{spans}</code></pre>'
    )


def _span(kind: tuple[str, ...], text: str) -> str:
    name = next((name for known, name in _CLASSES if kind in known), None)
    return escape(text) if name is None or not text.strip() else f'<span class="{name}">{escape(text)}</span>'
