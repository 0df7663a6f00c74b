"""What a search found, as HTML: a list whose entries unfold.

No script and no style sheet: colours are those of JupyterLab's theme, with fallbacks that can be read on light and on
dark. Entries are `<details>`, so keyboard and screen readers know them. Every string is escaped: it comes from
libraries and from documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from exploracoder_jupyter.core.truncate import one_line
from exploracoder_jupyter.frontend.searching.highlighted_code import highlight_python

if TYPE_CHECKING:
    from exploracoder_jupyter.core.types import Parameter
    from exploracoder_jupyter.frontend.searching.search_results import Hit

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
_LINE_LENGTH, _LEAST_SIGNATURE = 92, 30
"""Characters of path and signature together, and of a signature however long its path is, before the fold."""
_MOST_ABOUT = 300
_MOST_PROSE = 1200
_MOST_CODE = 4000
_MOST_SEE_ALSO = 8
_MOST_ALIASES = 3
_FEW = 6
"""Parameters that are not folded away."""
_SECTION = re.compile(
    r"^(?:[A-Z][\w ]*\n[-=~^]{3,}|(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$"
    r"|:(?:param|type|returns?|rtype|raises)\b|\s*(?:>>> |```|~~~))",
    re.MULTILINE,
)
"""Where a docstring ends to be prose; parameters and examples are shown by themselves."""
_DIRECTIVE = re.compile(r"^\.\. ([\w-]+)::", re.MULTILINE)
_VERSIONS = re.compile(
    r"^([ \t]*)\.\. (?:version\w+|deprecated)::[^\n]*(?:\n\1[ \t]+[^\n]*|\n(?=[ \t]*\n\1[ \t]))*", re.MULTILINE
)
"""Directives that are told as notes already."""
_MARKED = re.compile(r"(?::[\w:]+:)?(`+)~?([^`]+?)(?:\s*&lt;[^`&]*&gt;)?\1_{0,2}")


def results_html(head: Sequence[str], hits: Sequence[Hit], *, more: str = "") -> str:
    """The list below the lines of its head; its first entry is unfolded. `more` says what it leaves out."""
    items = "".join(f'<li style="{_ITEM}">{_entry(hit, unfolded=at == 0)}</li>' for at, hit in enumerate(hits))
    found = f'<ol style="{_LIST}">{items}</ol>' if items else ""
    above = "".join(f'<div style="{_QUIET}">{escape(line)}</div>' for line in head)
    below = f'<div style="{_QUIET}">{escape(more)}</div>' if more else ""
    return f'<div class="jp-Explora-search" style="{_TEXT}">{above}{found}{below}</div>'


def hit_html(hit: Hit) -> str:
    """One entry by itself, unfolded."""
    return f'<div class="jp-Explora-search" style="{_TEXT}">{_entry(hit, unfolded=True)}</div>'


def _entry(hit: Hit, *, unfolded: bool) -> str:
    first = one_line(hit.description, _MOST_ABOUT)
    badge = f'<span style="{_BADGE}">deprecated</span>' if hit.deprecated else ""
    said = f'<span style="display:block;text-indent:0">{_prose(first)}</span>' if first else ""
    head = f'<code style="{_CODE};font-weight:bold">{_path(hit.path)}</code>{_first(hit)}{badge}{said}'
    body = "".join(f'<div style="margin-top:6px">{part}</div>' for part in _body(hit))
    opened = " open" if unfolded else ""
    return (
        f'<details{opened}><summary style="{_SUMMARY}">{head}</summary>'
        f'<div style="padding:0 0 4px 1.3em">{body}</div></details>'
    )


def _body(hit: Hit) -> Iterator[str]:
    """The parts below the fold, in the order in which somebody who decides whether to use it reads them."""
    if hit.deprecated:
        yield f"<strong>Deprecated:</strong> {_prose(one_line(hit.deprecated, _MOST_ABOUT))}"
    if _short(hit) != hit.signature:
        yield f'<code style="{_CODE}">{escape(hit.path.rpartition(".")[2])}{escape(hit.signature)}</code>'
    yield from _paragraphs(hit)
    if hit.example:
        code = highlight_python(hit.example[:_MOST_CODE])
        yield f'<pre style="{_PRE}" tabindex="0" role="group" aria-label="Example">{code}</pre>'
    if told := [one for one in hit.parameters if one.about or one.type]:
        opened = " open" if len(told) <= _FEW else ""
        names = f'<ul style="{_LIST}">{"".join(map(_parameter, told))}</ul>'
        yield f'<details{opened}><summary style="cursor:pointer"><strong>Parameters</strong></summary>{names}</details>'
    yield from _foot(hit)


def _foot(hit: Hit) -> Iterator[str]:
    if hit.returns:
        yield f"<strong>Returns</strong> {_prose(one_line(hit.returns, _MOST_ABOUT))}"
    if hit.see_also:
        yield f"<strong>See also</strong> {_list(hit.see_also, _MOST_SEE_ALSO)}"
    if hit.aliases:
        yield f"<strong>Also called</strong> {_list(sorted(hit.aliases, key=len), _MOST_ALIASES)}"
    if hit.notes:
        yield f'<span style="{_QUIET}">{"<br>".join(_prose(one_line(note, _MOST_ABOUT)) for note in hit.notes)}</span>'
    if hit.origin:
        yield f'<span style="{_QUIET}">From {escape(hit.origin)}</span>'


def _parameter(parameter: Parameter) -> str:
    kind = f": {parameter.type}" if parameter.type else ""
    default = f" = {parameter.default}" if parameter.default and "default" not in kind else ""
    name = (
        f'<code style="{_CODE}"><b>{escape(parameter.name)}</b>{escape(one_line(kind + default, _MOST_ABOUT))}</code>'
    )
    about = f'<div style="padding-left:1.3em">{_prose(one_line(parameter.about, _MOST_ABOUT))}</div>'
    return f'<li style="margin:2px 0 0">{name}{about if parameter.about else ""}</li>'


def _paragraphs(hit: Hit) -> Iterator[str]:
    """The docstring's prose, without the sentence that is shown above and without its sections."""
    prose = _SECTION.split(hit.documentation, maxsplit=1)[0]
    if hit.notes or hit.deprecated:
        prose = _VERSIONS.sub("", prose)
    for number, paragraph in enumerate(_whole(_DIRECTIVE.sub(r"\1:", prose))):
        words = " ".join(paragraph.split())
        rest = words.removeprefix(hit.description).strip() if number == 0 else words
        listed = re.search(r"^(?:\s|[-*•] |\d+[.)] )", paragraph, re.MULTILINE)
        if rest:
            yield f'<div style="white-space:pre-wrap">{_prose(paragraph)}</div>' if listed else _prose(rest)


def _whole(prose: str) -> list[str]:
    """Its paragraphs, as many as fit."""
    found: list[str] = []
    size = 0
    for paragraph in re.split(r"\n\s*\n", prose.strip()):
        size += len(paragraph)
        if found and size > _MOST_PROSE:
            return [*found, "…"]
        found.append(paragraph[:_MOST_PROSE])
    return found


def _path(path: str) -> str:
    """A path that may be broken after a dot."""
    return escape(path).replace(".", ".<wbr>")


def _first(hit: Hit) -> str:
    if hit.signature:
        return f'<code style="{_CODE};{_QUIET}">{escape(_short(hit))}</code>'
    return f' <span style="{_QUIET}">{escape(hit.kind)}</span>'


def _short(hit: Hit) -> str:
    """The signature where it is short, else its first parameters."""
    most = max(_LEAST_SIGNATURE, _LINE_LENGTH - len(hit.path))
    if len(hit.signature) <= most:
        return hit.signature
    return f"{hit.signature[: most - 4].rpartition(', ')[0] or hit.signature[: most - 4]}, …)"


def _prose(text: str) -> str:
    """Text with what stands in backquotes as code."""
    return _MARKED.sub(rf'<code style="{_CODE}">\2</code>', escape(text))


def _list(names: Sequence[str], most: int) -> str:
    shown = ", ".join(f'<code style="{_CODE}">{escape(name)}</code>' for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
