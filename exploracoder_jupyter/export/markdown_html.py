"""Markdown as HTML: that of the generated cells, and that which a cell has shown.

Formulas are not typeset, for that takes a script: they stay as they are written, each in an element of its own.
"""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markupsafe import Markup

from exploracoder_jupyter.export.html_tags import wide
from exploracoder_jupyter.trace.sanitizing.markup_sanitizer import safe_html

_FORMULA = re.compile(
    r"\$\$.{1,1000}?\$\$|\$(?!\s)[^$\n]+?(?<![\s\\])\$(?!\d)|\\\(.{1,1000}?\\\)|\\\[.{1,1000}?\\\]", re.DOTALL
)
"""Not longer, for the end of each beginning is looked for."""


def generated_html(markdown: str, *, raise_by: int = 0) -> Markup:
    """The HTML of Markdown that this package has made, where foreign words are escaped; headings a level or more up."""
    tokens = _parser(own=True).parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{max(int(token.tag[1:]) - raise_by, 1)}"
    return Markup(wide(_parser(own=True).renderer.render(tokens, _parser(own=True).options, {})))


def shown_html(markdown: str) -> str | None:
    """The HTML of Markdown that a cell has shown; `None` where it cannot be made safe."""
    html = safe_html(_parser(own=False).render(markdown))
    return wide(html) if html else None


@cache
def _parser(*, own: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": own, "maxNesting": 40}).enable("table")
    if not own:
        parser.inline.ruler.before("escape", "formula", _formula)
        parser.add_render_rule("formula", lambda self, tokens, at, options, env: f"<samp>{tokens[at].content}</samp>")
    return parser


def _formula(state: StateInline, silent: bool) -> bool:
    """Take a formula as it is written, before any of its characters is taken for markup."""
    found = _FORMULA.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("formula", "samp", 0).content = str(Markup.escape(found[0]))
    state.pos = found.end()
    return True
