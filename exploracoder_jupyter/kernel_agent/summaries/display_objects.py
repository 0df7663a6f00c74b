"""Objects that show themselves: IPython's display objects, and the text a person sees of HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from html import unescape
from html.parser import HTMLParser
from itertools import islice
from typing import Any

from exploracoder_jupyter.kernel_agent.reporting.notebook_names import class_dict, mro
from exploracoder_jupyter.kernel_agent.summaries.facts import Fact, SummaryOptions, TypeFamily, format_size, truncate

# The text that a person sees of an object which shows itself as HTML: tables of presentation, reports, widgets.
#
# The `repr` of such objects says little. One line a row or block; cells of a row are separated by `|`.

_LONGEST_MARKUP = 200_000
_LONGEST_LINE, _MAX_LINES = 200, 12
_HIDDEN = frozenset("style script head title template svg".split())  # noqa: SIM905
_CELLS = frozenset(["td", "th"])
_INLINE = frozenset("a abbr b bdi code em font i kbd mark q s small span strong sub sup tt u var".split())  # noqa: SIM905


def shown_as_html(value: Any) -> Iterator[Fact]:
    """Yield a fact for each of the first visible lines of the object's HTML, if its class makes any."""
    if not any("_repr_html_" in class_dict(cls) for cls in mro(type(value))):
        return
    with suppress(Exception):  # other facts still tell about the object
        markup = value._repr_html_()
        if isinstance(markup, str) and (lines := [*visible_lines(markup)]):
            yield Fact("shows:", True, "")
            yield from (Fact(f"  {line.text}", True) for line in lines)


def visible_lines(markup: str) -> Iterator[Fact]:
    """Yield a fact for each of the first visible lines of HTML."""
    reader = _VisibleText()
    reader.feed(markup[:_LONGEST_MARKUP])
    reader.close()
    yield from (Fact(truncate(line, _LONGEST_LINE), True) for line in islice(reader.lines(), _MAX_LINES))


class _VisibleText(HTMLParser):
    """Collects text outside of hidden elements, with a line end where a block begins or ends."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in _HIDDEN
        self._parts.append("" if tag in _INLINE else "\t" if tag in _CELLS else "\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(self._hidden - (tag in _HIDDEN), 0)
        self._parts.append("" if tag in _INLINE or tag in _CELLS else "\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._parts.append(" ".join(f".{data}.".split())[1:-1])

    def lines(self) -> Iterator[str]:
        for line in "".join(self._parts).split("\n"):
            if text := " | ".join(" ".join(cell.split()) for cell in line.strip("\t ").split("\t")):
                yield text


# IPython's display objects: what they would show, without the markup.

_TAG = re.compile(r"<[^<>]*>")
_MAX_MARKUP_LENGTH, _MAX_LENGTH = 20_000, 400


def _describe(display: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a text; of HTML and SVG, only what is between the tags."""
    data = getattr(display, "data", None)
    if isinstance(data, bytes):
        yield Fact(format_size(len(data)))
        return
    if not isinstance(data, str):
        yield Fact(options.short(getattr(display, "url", None) if data is None else data), shows=True)
        return
    yield Fact(f"{len(data):,} characters")
    if type(display).__name__ == "HTML":
        yield from visible_lines(data)
        return
    text = data[:_MAX_MARKUP_LENGTH]
    if type(display).__name__ == "SVG":
        text = unescape(_TAG.sub(" ", text))
    if text.strip():
        yield Fact(truncate(text, _MAX_LENGTH), shows=True)


FAMILY = TypeFamily({"IPython.DisplayObject": _describe})
