"""Sanitizes HTML, Markdown and LaTeX from candidates: nothing may run, load resources or cover the page.

HTML goes through nh3 (an HTML parser with an allow-list). In Markdown, raw HTML and images are escaped with entities.
Front ends typeset math in all three formats, so a text with TeX commands that create links or styles is rejected as a
whole. `None` means that the text cannot be made safe, or that nothing visible is left of it.
"""

from __future__ import annotations

import html
import re
from collections import Counter

import nh3

from exploracoder_jupyter.text.characters import encodable

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
_ACTING_TEX = re.compile(r"\\(?:href|url|cssId|require|bbox|mmlToken|unicode)\b|\\(?:style|class|data)\s*\{")
_ACTING_URL = re.compile(r"(?:javascript|vbscript|livescript):|data:(?!image/(?:png|jpeg|gif);)")


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
    """Reduce HTML to allowed tags, attributes and style properties."""
    if _is_too_deep(text) or _ACTING_TEX.search(html.unescape(text)):
        return None
    clean = _HTML.clean(encodable(text))
    visible = html.unescape(re.sub(r"<[^>]*>", "", clean))
    return None if _ACTING_TEX.search(visible) or not (visible.strip() or "<img" in clean) else clean


def safe_markdown(text: str) -> str | None:
    """Escape raw HTML and images in Markdown, so that they are shown as text."""
    plain = re.sub(r"[\s\x00-\x20\\]", "", html.unescape(html.unescape(text))).lower()
    if _ACTING_URL.search(plain) or _ACTING_TEX.search(html.unescape(text)):
        return None
    disarmed = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text).replace("![", "&#33;[")
    return disarmed if disarmed.strip() else None


def safe_latex(text: str) -> str | None:
    """Return the LaTeX unless it creates links or styles."""
    return None if _ACTING_TEX.search(html.unescape(text)) or not text.strip() else text


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
