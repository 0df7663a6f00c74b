"""Renders Python code as HTML, highlighted with classes of the page's style sheet."""

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
"""Token types with their class in the style sheet; the first match applies."""


def code_html(code: str, label: str) -> Markup:
    """Render code as a block that can be scrolled with the keyboard, with a label for screen readers."""
    tokens = PythonLexer(stripnl=False, ensurenl=False).get_tokens(code.strip("\n"))
    spans = "".join(_span(kind, text) for kind, text in tokens)
    return Markup(
        f'<pre class="code" tabindex="0" role="group" aria-label="{escape(label)}"><code>{spans}</code></pre>'
    )


def _span(kind: tuple[str, ...], text: str) -> str:
    name = next((name for known, name in _CLASSES if kind in known), None)
    return escape(text) if name is None or not text.strip() else f'<span class="{name}">{escape(text)}</span>'
