"""IPython's own display objects: what they would show, without their markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from exploracoder_jupyter.kernel_agent.summaries.summary_facts import Fact, Family, Look, cut, size

_MARKED_UP = ("HTML", "SVG")
_TAG = re.compile(r"<[^<>]*>")
_LONGEST, _LETTERS = 20_000, 400


def _written(shown: Any, look: Look) -> Iterator[Fact]:
    """Text, of HTML and SVG what is between the tags."""
    data = shown.data
    if not isinstance(data, str):
        yield from _other(shown, look)
        return
    yield Fact(f"{len(data):,} characters")
    plain = data[:_LONGEST]
    if type(shown).__name__ in _MARKED_UP:
        plain = unescape(_TAG.sub(" ", plain))
    if plain.strip():
        yield Fact(cut(plain, _LETTERS), shows=True)


def _other(shown: Any, look: Look) -> Iterator[Fact]:
    data = getattr(shown, "data", None)
    if isinstance(data, (str, bytes)):
        yield Fact(size(len(data)))
    elif data is not None:
        yield Fact(look.short(data), shows=True, schema=type(data).__name__)
    else:
        yield Fact("to be fetched by the page")


FAMILY = Family({"IPython.TextDisplayObject": _written, "IPython.SVG": _written, "IPython.DisplayObject": _other})
