"""IPython's display objects: what they would show, without the markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.objects.html_text import visible_lines
from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, TypeFamily, format_size, truncate
from exploracoder_jupyter.kernel_agent.summaries.summary_options import SummaryOptions

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
