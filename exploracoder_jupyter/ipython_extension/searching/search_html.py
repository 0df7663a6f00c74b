"""Renders search results as HTML: a list of entries that can be expanded.

No script and no style sheet: colours are those of JupyterLab's theme, with fallbacks that are readable on light and
dark backgrounds. Entries are `<details>`, which keyboards and screen readers support. Every string is escaped, so that
it is neither markup nor a formula, because it comes from libraries and documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from exploracoder_jupyter.core.message_formatting import one_line
from exploracoder_jupyter.ipython_extension.searching.highlighted_code import highlight_python
from exploracoder_jupyter.text.markup_escaping import escape_html

if TYPE_CHECKING:
    from exploracoder_jupyter.core.types import Parameter
    from exploracoder_jupyter.ipython_extension.searching.search_results import Hit

_LINE = "var(--jp-border-color2, rgba(128,128,128,.4))"
_TEXT = (
    "font-family:var(--jp-ui-font-family, sans-serif);font-size:var(--jp-ui-font-size1, 13px);line-height:1.45;"
    "color:var(--jp-ui-font-color1, inherit);max-width:60em;overflow-wrap:anywhere"
)
_QUIET = "color:var(--jp-ui-font-color2, inherit)"
_CODE = (
    "font-family:var(--jp-code-font-family, monospace);font-size:var(--jp-code-font-size, 13px);"
    "background:none;padding:0;color:inherit;overflow-wrap:anywhere;white-space:pre-wrap"
)
_PRE = (
    "font-family:var(--jp-code-font-family, monospace);font-size:var(--jp-code-font-size, 13px);line-height:1.4;"
    "color:var(--jp-content-font-color1, inherit);background:var(--jp-cell-editor-background, transparent);"
    f"border:1px solid {_LINE};border-radius:3px;margin:0;padding:6px 8px;overflow-x:auto;white-space:pre"
)
_LIST = "list-style:none;margin:4px 0 0;padding:0"
_ITEM = f"margin:0;padding:4px 0;border-top:1px solid {_LINE}"
_SUMMARY = "cursor:pointer;padding-left:1.3em;text-indent:-1.3em"
_BADGE = "border:1px solid var(--jp-warn-color1, #f57c00);border-radius:3px;padding:0 4px;margin-left:6px"
_LINE_LENGTH, _MIN_SIGNATURE = 92, 30
"""Characters of path and signature together in a summary, and of the signature however long its path is."""
_MAX_ABOUT = 300
_MAX_PROSE = 1200
_MAX_CODE = 4000
_MAX_SEE_ALSO = 8
_MAX_ALIASES = 3
_MAX_OPEN_PARAMETERS = 6
"""How many parameters are shown expanded."""
_SECTION = re.compile(
    r"^(?:[A-Z][\w ]*\n[-=~^]{3,}|(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$"
    r"|:(?:param|type|returns?|rtype|raises)\b|\s*(?:>>> |```|~~~))",
    re.MULTILINE,
)
"""Where the prose of a docstring ends; parameters and examples are shown separately."""
_DIRECTIVE = re.compile(r"^\.\. ([\w-]+)::", re.MULTILINE)
_VERSIONS = re.compile(
    r"^([ \t]*)\.\. (?:version\w+|deprecated)::[^\n]*(?:\n\1[ \t]+[^\n]*|\n(?=[ \t]*\n\1[ \t]))*", re.MULTILINE
)
"""Directives that are already shown as notes."""
_MARKED = re.compile(r"(?::[\w:]+:)?(`+)~?([^`]+?)(?:\s*&lt;[^`&]*&gt;)?\1_{0,2}")


def results_html(head: Sequence[str], hits: Sequence[Hit], *, more: str = "") -> str:
    """Render the lines of the head and the list with its first entry expanded; `more` states what it leaves out."""
    items = "".join(f'<li style="{_ITEM}">{_entry(hit, unfolded=at == 0)}</li>' for at, hit in enumerate(hits))
    found = f'<ol style="{_LIST}">{items}</ol>' if items else ""
    above = "".join(f'<div style="{_QUIET}">{escape_html(line)}</div>' for line in head)
    below = f'<div style="{_QUIET}">{escape_html(more)}</div>' if more else ""
    return f'<div class="jp-Explora-search" style="{_TEXT}">{above}{found}{below}</div>'


def hit_html(hit: Hit) -> str:
    """Render a single entry, expanded."""
    return f'<div class="jp-Explora-search" style="{_TEXT}">{_entry(hit, unfolded=True)}</div>'


def _entry(hit: Hit, *, unfolded: bool) -> str:
    first = one_line(hit.description, _MAX_ABOUT)
    badge = f'<span style="{_BADGE}">deprecated</span>' if hit.deprecated else ""
    about = f'<span style="display:block;text-indent:0">{_prose(first)}</span>' if first else ""
    path = escape_html(hit.path).replace(".", ".<wbr>")  # lines may break after its dots
    detail = f' <span style="{_QUIET}">{escape_html(hit.kind)}</span>'
    if hit.signature:
        detail = f'<code style="{_CODE};{_QUIET}">{escape_html(_short_signature(hit))}</code>'
    head = f'<code style="{_CODE};font-weight:bold">{path}</code>{detail}{badge}{about}'
    body = "".join(f'<div style="margin-top:6px">{part}</div>' for part in _body(hit))
    opened = " open" if unfolded else ""
    return (
        f'<details{opened}><summary style="{_SUMMARY}">{head}</summary>'
        f'<div style="padding:0 0 4px 1.3em">{body}</div></details>'
    )


def _body(hit: Hit) -> Iterator[str]:
    """Yield the parts of the expanded entry, in the order in which they help to decide whether to use the API."""
    if hit.deprecated:
        yield f"<strong>Deprecated:</strong> {_prose(one_line(hit.deprecated, _MAX_ABOUT))}"
    if _short_signature(hit) != hit.signature:
        yield f'<code style="{_CODE}">{escape_html(hit.path.rpartition(".")[2])}{escape_html(hit.signature)}</code>'
    yield from _paragraphs(hit)
    if hit.example:
        code = highlight_python(hit.example[:_MAX_CODE])
        yield f'<pre style="{_PRE}" tabindex="0" role="group" aria-label="Example">{code}</pre>'
    if described := [parameter for parameter in hit.parameters if parameter.about or parameter.type]:
        opened = " open" if len(described) <= _MAX_OPEN_PARAMETERS else ""
        names = f'<ul style="{_LIST}">{"".join(map(_parameter, described))}</ul>'
        yield f'<details{opened}><summary style="cursor:pointer"><strong>Parameters</strong></summary>{names}</details>'
    if hit.returns:
        yield f"<strong>Returns</strong> {_prose(one_line(hit.returns, _MAX_ABOUT))}"
    if hit.see_also:
        yield f"<strong>See also</strong> {_list(hit.see_also, _MAX_SEE_ALSO)}"
    if hit.aliases:
        yield f"<strong>Also called</strong> {_list(sorted(hit.aliases, key=len), _MAX_ALIASES)}"
    if hit.notes:
        yield f'<span style="{_QUIET}">{"<br>".join(_prose(one_line(note, _MAX_ABOUT)) for note in hit.notes)}</span>'
    if hit.origin:
        yield f'<span style="{_QUIET}">From {escape_html(hit.origin)}</span>'


def _parameter(parameter: Parameter) -> str:
    kind = f": {parameter.type}" if parameter.type else ""
    default = f" = {parameter.default}" if parameter.default and "default" not in kind else ""
    detail = escape_html(one_line(kind + default, _MAX_ABOUT))
    name = f'<code style="{_CODE}"><b>{escape_html(parameter.name)}</b>{detail}</code>'
    about = f'<div style="padding-left:1.3em">{_prose(one_line(parameter.about, _MAX_ABOUT))}</div>'
    return f'<li style="margin:2px 0 0">{name}{about if parameter.about else ""}</li>'


def _paragraphs(hit: Hit) -> Iterator[str]:
    """Yield the docstring's prose, without the sentence in the summary and without the sections."""
    prose = _SECTION.split(hit.documentation, maxsplit=1)[0]
    if hit.notes or hit.deprecated:
        prose = _VERSIONS.sub("", prose)
    size = 0
    for number, paragraph in enumerate(re.split(r"\n\s*\n", _DIRECTIVE.sub(r"\1:", prose).strip())):
        size += len(paragraph)
        if number and size > _MAX_PROSE:
            yield "…"
            return
        paragraph = paragraph[:_MAX_PROSE]
        words = " ".join(paragraph.split())
        rest = words.removeprefix(hit.description).strip() if number == 0 else words
        listed = re.search(r"^(?:\s|[-*•] |\d+[.)] )", paragraph, re.MULTILINE)
        if rest:
            yield f'<div style="white-space:pre-wrap">{_prose(paragraph)}</div>' if listed else _prose(rest)


def _short_signature(hit: Hit) -> str:
    limit = max(_MIN_SIGNATURE, _LINE_LENGTH - len(hit.path))
    if len(hit.signature) <= limit:
        return hit.signature
    return f"{hit.signature[: limit - 4].rpartition(', ')[0] or hit.signature[: limit - 4]}, …)"


def _prose(text: str) -> str:
    """Escape the text and render backquoted parts as code."""
    return _MARKED.sub(rf'<code style="{_CODE}">\2</code>', escape_html(text))


def _list(names: Sequence[str], limit: int) -> str:
    shown = ", ".join(f'<code style="{_CODE}">{escape_html(name)}</code>' for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown
