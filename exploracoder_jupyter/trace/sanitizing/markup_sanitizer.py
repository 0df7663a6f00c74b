"""Sanitizes HTML, Markdown and LaTeX from candidates: nothing may run, load resources or cover the page.

HTML goes through nh3 (an HTML parser with an allow-list). Markdown is rendered as HTML here, because front ends draw
diagrams and maps from fences by their language and load what these name. All of them typeset math: commands outside an
allow-list can fetch (`\\style{cursor:url(...)}{x}`), link, or define others that do. HTML with such a command keeps its
formulas as text; LaTeX is rejected. `None` means that the text cannot be made safe, or that nothing visible is left.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from exploracoder_jupyter.text.characters import encodable
from exploracoder_jupyter.text.markup_escaping import with_formulas, without_formulas
from exploracoder_jupyter.trace.sanitizing.tex_commands import has_acting_formula, is_harmless_tex

_BLOCKS = "address article aside blockquote center details div dl dt dd figcaption figure footer h1 h2 h3 h4 h5 h6"
_BLOCKS += " header hr li main nav ol p pre section summary ul table caption colgroup col thead tbody tfoot tr th td"
_FORMATTING = frozenset(
    ("a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u")
)
_INLINE = "abbr bdi bdo br cite del dfn img ins kbd mark q rp rt ruby samp span sub sup time var wbr"
_VOID = frozenset(("br", "col", "hr", "img", "wbr"))
_STYLES = """background-color border border-bottom border-bottom-color border-bottom-style border-bottom-width
border-collapse border-color border-left border-right border-spacing border-style border-top border-width color
empty-cells font-family font-size font-style font-variant font-weight height letter-spacing line-height margin-left
max-height max-width min-height min-width padding padding-bottom padding-left padding-right padding-top text-align
text-decoration text-indent text-transform vertical-align white-space width word-break word-wrap"""

_INLINE_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]+", re.IGNORECASE)
_STYLE_THAT_FETCHES = re.compile(r"url|image|expression|\\|@|element\(", re.IGNORECASE)
_TAG_OR_TEXT = re.compile(r'(<(?:[^">]|"[^"]*")*>)')
_OUTSIDE_IMAGE = re.compile(r'<img(?![^>"]*(?:"[^"]*"[^>"]*)*\ssrc=)(?:[^">]|"[^"]*")*>')
_NO_IMAGE = "<em>[image left out: it is not in the notebook]</em>"
_FORMULA: Final = re.compile(
    r"\$\$.{1,1000}?\$\$|\$(?!\s)[^$\n]+?(?<![\s\\])\$(?!\d)|\\\(.{1,1000}?\\\)|\\\[.{1,1000}?\\\]"
    r"|\\begin\{([a-z]{1,20}\*?)\}.{1,1000}?\\end\{\1\}",
    re.DOTALL,
)
"""Matches a formula. Its length is limited because each opening delimiter triggers a search for its end."""
_MAX_MARKDOWN: Final = 100_000
"""Characters of Markdown that are rendered, because the time grows with the text."""


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "src":
        return value if _INLINE_IMAGE.fullmatch(value) else None
    if name == "href":
        return value if value.startswith(("#", "http://", "https://", "mailto:")) else None
    if name == "style":
        return None if _STYLE_THAT_FETCHES.search(value) else value
    return value


_HTML = nh3.Cleaner(
    tags={*_BLOCKS.split(), *_FORMATTING, *_INLINE.split()},
    clean_content_tags={
        "script",
        "style",
        "iframe",
        "object",
        "template",
        "noscript",
        "svg",
        "math",
        "textarea",
        "select",
    },
    attributes={
        "*": {"style", "title", "align", "valign", "dir", "lang"},
        "a": {"href"},
        "img": {"src", "alt", "width", "height"},
        "table": {"border", "cellpadding", "cellspacing"},
        "td": {"colspan", "rowspan", "headers"},
        "th": {"colspan", "rowspan", "scope"},
        "col": {"span"},
        "colgroup": {"span"},
        "ol": {"start", "type"},
        "details": {"open"},
        "font": {"color", "size"},
        "time": {"datetime"},
    },
    attribute_filter=_attribute,
    url_schemes={"http", "https", "mailto", "data"},
    allowed_classes={"table": {"dataframe"}},
    filter_style_properties=set(_STYLES.split()),
    link_rel="noopener noreferrer",
)


def safe_html(text: str) -> str | None:
    """Reduce HTML to allowed tags, attributes, style properties and TeX commands."""
    if _is_too_deep(text):
        return None
    clean = _OUTSIDE_IMAGE.sub(_NO_IMAGE, _HTML.clean(encodable(text)))
    parts = _TAG_OR_TEXT.split(clean)[::2]
    # front ends join what some tags separate, and not what others do
    visible = html.unescape("".join(parts)), html.unescape(" ".join(parts))
    if any(map(has_acting_formula, visible)):
        parts = _TAG_OR_TEXT.split(with_formulas(clean))
        parts[::2] = map(without_formulas, parts[::2])
        clean = "".join(parts)
    return clean if visible[0].strip() or "<img" in clean else None


def safe_markdown(text: str) -> str | None:
    """Render Markdown as HTML; raw HTML in it is shown as text."""
    return safe_html(_parser().render(encodable(text))) if len(text) <= _MAX_MARKDOWN else None


def safe_latex(text: str) -> str | None:
    """Return the LaTeX if all of its commands are known to be harmless."""
    return text if text.strip() and is_harmless_tex(html.unescape(text)) else None


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 40}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "formula", _formula)
    parser.add_render_rule("formula", _render_formula)
    return parser


def _formula(state: StateInline, silent: bool) -> bool:
    """Parse a formula verbatim, before any of its characters is interpreted as markup."""
    found = _FORMULA.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("formula", "samp", 0).content = html.escape(found[0])
    state.pos = found.end()
    return True


def _render_formula(self: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: EnvType) -> str:
    return f"<samp>{tokens[at].content}</samp>"


_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)")


def _is_too_deep(text: str) -> bool:
    """Whether the nesting would make parsing quadratic: 200,000 unclosed `<div>` took minutes, 500 take no time."""
    unclosed: Counter[str] = Counter()
    depth = formatting = 0
    for closing, name in _TAG.findall(re.sub(r"<!--.*?(?:-->|\Z)", "", text, flags=re.DOTALL).lower()):
        step = -1 if closing else 1
        if name in _VOID or (closing and not unclosed[name]):
            continue
        unclosed[name] += step
        depth += step
        formatting += step if name in _FORMATTING else 0
        if depth > 500 or formatting > 50:
            return True
    return False
