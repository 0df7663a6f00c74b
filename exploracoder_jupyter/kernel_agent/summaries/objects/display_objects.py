"""IPython's own display objects: what they would show, without the markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, format_size, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

_MARKUP_CLASSES = ("HTML", "SVG")
_TAG = re.compile(r"<[^<>]*>")
_MAX_MARKUP_LENGTH, _MAX_LENGTH = 20_000, 400


def _describe_text(display: Any, options: SummaryOptions) -> Iterator[Fact]:
    """Describe a text; of HTML and SVG, only what is between the tags."""
    data = display.data
    if not isinstance(data, str):
        yield from _describe_other(display, options)
        return
    yield Fact(f"{len(data):,} characters")
    text = data[:_MAX_MARKUP_LENGTH]
    if type(display).__name__ in _MARKUP_CLASSES:
        text = unescape(_TAG.sub(" ", text))
    if text.strip():
        yield Fact(truncate(text, _MAX_LENGTH), shows=True)


def _describe_other(display: Any, options: SummaryOptions) -> Iterator[Fact]:
    data = getattr(display, "data", None)
    if isinstance(data, (str, bytes)):
        yield Fact(format_size(len(data)))
    elif data is not None:
        yield Fact(options.short(data), shows=True, schema=type(data).__name__)
    else:
        yield Fact("to be fetched by the page")


FAMILY = TypeFamily(
    {
        "IPython.TextDisplayObject": _describe_text,
        "IPython.SVG": _describe_text,
        "IPython.DisplayObject": _describe_other,
    }
)
