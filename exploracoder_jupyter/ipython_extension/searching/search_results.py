"""Search results as values for a notebook, and their HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import overload

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from exploracoder_jupyter.core.messages import one_line, plural
from exploracoder_jupyter.core.types import Parameter
from exploracoder_jupyter.core.validation import TypeAdapter
from exploracoder_jupyter.text.characters import escape_html, printable

# Renders Python code and patches as HTML in the colours of the page: no style sheet, no script, everything escaped.

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


# Renders search results as HTML: a list of entries that can be expanded.
#
# No script and no style sheet: colours are those of JupyterLab's theme, with fallbacks that are readable on light
# and dark backgrounds. Entries are `<details>`, which keyboards and screen readers support. Every string is
# escaped, so that it is neither markup nor a formula, because it comes from libraries and documents.

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


# Search results as values for a notebook: a list of APIs that displays itself as HTML or as text.
#
# Parsed from the object that `jupyter explora search --json` prints. Fields that an older version does not print
# have their defaults.

_MAX_LINE = 160
_MAX_SHOWN = 50
"""How many results are displayed; the list itself contains all of them."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One API that was found."""

    path: str
    """Public import path."""
    signature: str = ""
    kind: str = ""
    description: str = ""
    """First sentence of its documentation."""
    documentation: str = ""
    """The whole docstring."""
    examples: tuple[str, ...] = ()
    """Code from the documentation with the imports that it needs, the most helpful example first."""
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    notes: tuple[str, ...] = ()
    see_also: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    deprecated: str | None = None
    """The documentation's note on its deprecation; `None` if it is not deprecated."""
    origin: str = ""
    """Where it was found; empty for an installed library's own code."""
    library: str = ""
    version: str = ""
    score: float = 0.0
    """Higher is better; comparable within one search only."""

    @property
    def example(self) -> str:
        """The first example, or an empty string."""
        return next(iter(self.examples), "")

    def __str__(self) -> str:
        return printable("\n".join(filter(None, (self._head(), self.documentation, self.example))))

    def __repr__(self) -> str:
        return printable(self._head())

    def _head(self) -> str:
        return f"{self.path}{self.signature}{' (deprecated)' if self.deprecated else ''}"

    def line(self) -> str:
        """Return path, signature and first sentence, on two short lines."""
        lines = filter(None, (self._head(), self.description))
        return "\n    ".join(printable(one_line(text, _MAX_LINE)) for text in lines)

    def _repr_html_(self) -> str:
        return hit_html(self)

    def _repr_llm_(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class SearchedLibrary:
    """A library that was searched."""

    name: str
    version: str = ""
    seconds: float = 0.0
    """How long it took to read it, or to open it if `cached`."""
    cached: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class Results(Sequence[Hit]):
    """The results of a search, best first: `results[0].path`."""

    query: str
    results: tuple[Hit, ...] = ()
    libraries: tuple[SearchedLibrary, ...] = ()
    apis: int = 0
    """How many APIs were searched."""
    seconds: float = 0.0
    notices: tuple[str, ...] = ()
    """Notices about the libraries, one sentence each."""

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.results[at]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.results)

    @property
    def headline(self) -> str:
        """`networkx 3.6.1: 20 of 1,242 APIs for “shortest path”, in 0.3 s`."""
        libraries = ", ".join(f"{one.name} {one.version}".strip() for one in self.libraries)
        count = f"{len(self)} of {plural(self.apis, 'API')}" if self else f"nothing in {plural(self.apis, 'API')}"
        return f"{libraries}: {count} for “{' '.join(self.query.split())}”, in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        rows = (f"{number}. {hit.line()}" for number, hit in enumerate(self.results[:_MAX_SHOWN], 1))
        return "\n".join(filter(None, [*map(printable, self._head()), *rows, self._more()]))

    def _head(self) -> list[str]:
        return [self.headline, *self.notices]

    def _more(self) -> str:
        more = len(self) - _MAX_SHOWN
        return f"{more:,} more {'is' if more == 1 else 'are'} in the list." if more > 0 else ""

    def _repr_html_(self) -> str:
        return results_html(self._head(), self.results[:_MAX_SHOWN], more=self._more())

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_llm_(self) -> str:
        examples = (f"# {hit.path}\n{hit.example}" for hit in self.results[:3] if hit.example)
        return "\n\n".join([repr(self), *map(printable, examples)])


_RESULTS: TypeAdapter[Results] = TypeAdapter(Results)


def parse_results(answer: str | bytes) -> Results:
    """Parse the JSON that the search command printed. Raises ValidationError."""
    return _RESULTS.validate_json(answer)
